"""Rotating, shearing and moving the bytes of images as Pillow's affine transform with bilinear interpolation does it.

`images` are uint8 (n, C, H, W); what an operation is told comes as float64 (n,), one number per image. The centre of a
pixel, (x + 1/2, y + 1/2), is mapped into the given image; what comes from outside of it is 0, and within half a pixel
of its border lies the border's value. Interpolated values are truncated.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def rotate(images: Tensor, degrees: Tensor) -> Tensor:
    """Turned counter-clockwise around the middle."""
    height, width = images.shape[2:]
    angle = torch.deg2rad(degrees)
    cos, sin = (part.float().view(-1, 1, 1) for part in (angle.cos(), angle.sin()))
    across = _places(width, images) + (0.5 - width / 2)
    down = (_places(height, images) + (0.5 - height / 2))[:, None]
    # The sampler has the image in [-1, 1]^2; what is outside is taken from the border first and blackened afterwards.
    x = (cos * across - sin * down).mul_(2 / width)
    y = (sin * across + cos * down).mul_(2 / height)
    inside = torch.maximum(x.abs(), y.abs()) <= 1
    grid = torch.stack([x, y], dim=1).permute(0, 2, 3, 1)
    turned = functional.grid_sample(images.float(), grid, padding_mode="border", align_corners=False)
    # The sampler's places are off by up to 2^-23 of a side along either axis, and neighbours differ by up to 255.
    return _truncated(turned, hair=255 * max(height, width) * 2.0**-22).mul_(inside.view(torch.uint8)[:, None])


def shear_x(images: Tensor, level: Tensor) -> Tensor:
    """Row y is read `level` (y + 1/2) pixels further to the right."""
    height, width = images.shape[2:]
    moves = level[:, None] * (_places(height, images).double() + 0.5)
    whole = moves.floor()
    # With the first and the last column once more. A moved row holds the pixel on the left of each place and, one
    # further, the one on its right.
    wide = torch.cat([images[..., :1], images, images[..., -1:]], dim=3)
    moved = _shifted(wide.flatten(0, 2), _per_row(whole.long() + 1, images)).view(wide.shape).float()
    part = (moves - whole).float()[:, None, :, None]
    between = torch.lerp(moved[..., :width], moved[..., 1 : width + 1], part)
    # 0 <= x + 1/2 + move < width, in float64 as Pillow has it: a rounding error would put a pixel outside.
    x = _places(width, images).double().add_(0.5) + moves[..., None]
    inside = x.clamp(0, math.nextafter(width, 0)) == x
    return _truncated(between, hair=1e-3).mul_(inside.view(torch.uint8)[:, None])


def shear_y(images: Tensor, level: Tensor) -> Tensor:
    """Column x is read `level` (x + 1/2) pixels further down."""
    return shear_x(images.transpose(2, 3).contiguous(), level).transpose(2, 3).contiguous()


def translate_x(images: Tensor, pixels: Tensor) -> Tensor:
    """Read `pixels` to the right, a whole number."""
    shifts = pixels.long()[:, None].expand(-1, images.shape[2])
    return _shifted(images.flatten(0, 2), _per_row(shifts, images)).view(images.shape)


def translate_y(images: Tensor, pixels: Tensor) -> Tensor:
    """Read `pixels` further down, a whole number."""
    # A channel is a row of memory as well.
    shifts = (pixels.long() * images.shape[3]).repeat_interleave(images.shape[1])
    return _shifted(images.flatten(2).flatten(0, 1), shifts).view(images.shape)


def _shifted(rows: Tensor, shifts: Tensor) -> Tensor:
    """out[r, i] = rows[r, i + shifts[r]], or 0 where there is no such place; uint8 (R, L), int64 (R,)."""
    count, length = rows.shape
    # As many zeros as a row is long lie before, between and behind the rows: a moved row is a run of memory.
    flat = rows.new_zeros(length + 2 * count * length)
    flat[length:].view(count, 2 * length)[:, :length] = rows
    runs = flat.as_strided((flat.numel() - length + 1, length), (1, 1))
    firsts = torch.arange(length, flat.numel(), 2 * length, device=rows.device)
    return runs.index_select(0, firsts + shifts.clamp(-length, length))


def _truncated(values: Tensor, hair: float) -> Tensor:
    """Float32 in 0..255 as bytes; what is whole but for rounding errors below `hair` stays whole."""
    return values.add_(hair).to(torch.int16).to(torch.uint8)  # by way of int16 it is five times as fast


def _per_row(shifts: Tensor, images: Tensor) -> Tensor:
    """(n, H) for the rows of one channel, repeated for all channels: (n C H,)."""
    return shifts[:, None].expand(-1, images.shape[1], -1).flatten()


def _places(length: int, images: Tensor) -> Tensor:
    return torch.arange(length, dtype=torch.float32, device=images.device)
