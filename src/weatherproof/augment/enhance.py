"""Operations that Pillow calls enhancements: a byte between a dull image and the given one, or beyond; bit for bit.

`images` are uint8 (n, C, H, W); `factor` is float64 (n,): 0 is the dull image, 1 the given one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .points import mapped, values


def color(images: Tensor, factor: Tensor) -> Tensor:
    """Away from grey; grey images stay."""
    return _blended(_grey(images), images, factor)


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Away from the image's mean brightness."""
    grey = _grey(images).flatten(1)
    mean = (grey.sum(1).double() / grey.shape[1] + 0.5).floor().view(-1, 1, 1)
    return mapped(images, _blended(mean, values(images).expand(len(images), 1, 256), factor))


def brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Away from black."""
    black = torch.zeros(len(images), 1, 1, dtype=torch.uint8, device=images.device)
    return mapped(images, _blended(black, values(images).expand(len(images), 1, 256), factor))


def sharpness(images: Tensor, factor: Tensor) -> Tensor:
    """Away from a smoothed image."""
    smooth = images.clone()
    if min(images.shape[2:]) > 2:  # the border stays, and so do images that have nothing else
        whole = images.to(torch.int16)  # sums stay below 2^13
        rows = whole[:, :, :-2] + whole[:, :, 1:-1] + whole[:, :, 2:]
        around = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
        # (sum of the neighbours + 5 times the pixel) / 13, rounded; a sum of 13 k + 6.5 cannot be.
        inner = ((around + 4 * whole[:, :, 1:-1, 1:-1]) * 2 + 13) // 26
        smooth[:, :, 1:-1, 1:-1] = inner.to(torch.uint8)
    return _blended(smooth, images, factor)


def _grey(images: Tensor) -> Tensor:
    """(n, 1, H, W): ITU-R 601 luma in Pillow's fixed-point arithmetic."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images.to(torch.int32).unbind(dim=1)
    luma = (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16
    return luma.to(torch.uint8)[:, None]


def _blended(dull: Tensor, images: Tensor, factor: Tensor) -> Tensor:
    """dull + factor (image - dull) in float32, truncated."""
    start = dull.float()
    difference = images.float() - start
    blended = start + difference * factor.float().view(-1, *[1] * (images.ndim - 1))
    return blended.clamp_(0, 255).to(torch.int16).to(torch.uint8)
