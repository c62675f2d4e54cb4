"""Operations on the bytes of images that look at one pixel at a time, each as Pillow does it, bit for bit.

`images` are uint8 (n, C, H, W); what an operation is told comes as float64 (n,), one number per image.
"""

from __future__ import annotations

import torch
from torch import Tensor


def autocontrast(images: Tensor, _: Tensor) -> Tensor:
    """Each channel stretched from its lowest and highest value to 0..255; one of a single value stays."""
    rows = images.flatten(2)
    low, high = (bound.double() for bound in (rows.amin(2, keepdim=True), rows.amax(2, keepdim=True)))
    # int(v scale - low scale) with scale = 255 / (high - low), rounding errors as Pillow has them: in float64, one step
    # after the other. (255 / tensor would be 255 times the tensor's inverse, which rounds once more.)
    flat = high == low
    scale = torch.full_like(low, 255).div_(high - low).masked_fill_(flat, 1)
    offset = (-low * scale).masked_fill_(flat, 0)
    stretched = (values(images).double() * scale).add_(offset)
    return mapped(images, stretched.clamp_(0, 255).to(torch.uint8))


def equalize(images: Tensor, _: Tensor) -> Tensor:
    """Each channel with values spread evenly, by its histogram."""
    entries = _entries(images)
    counts = torch.bincount(entries.flatten(), minlength=entries.shape[:2].numel() * 256).view(*images.shape[:2], 256)
    highest = images.flatten(2).amax(2, keepdim=True).long()
    # table(v) = (step // 2 + #{values below v}) // step with step = (N - #{highest value}) // 255; no step, no change.
    # In float64, where such quotients do not round up to a whole number, and which divides faster than integers.
    step = torch.floor((entries.shape[2] - counts.gather(2, highest)).double().div_(255))
    divisor = step.clamp(min=1)
    tables = (counts.cumsum(2) - counts).double().add_(divisor.div(2).floor_()).div_(divisor).clamp_(max=255)
    return _looked_up(images, torch.where(step == 0, values(images), tables.to(torch.uint8)), entries)


def posterize(images: Tensor, bits: Tensor) -> Tensor:
    """The highest `bits` bits of every value, 1 to 8."""
    return images & (256 - 2 ** (8 - bits)).to(torch.uint8).view(-1, 1, 1, 1)


def solarize(images: Tensor, threshold: Tensor) -> Tensor:
    """Values from `threshold` on are turned over: 255 - v."""
    # The sign of v - threshold, in all bits, says which to leave; 255 - v is v with all bits turned.
    below = (images.to(torch.int16) - threshold.to(torch.int16).view(-1, 1, 1, 1)).bitwise_right_shift_(15)
    return images ^ below.bitwise_not_().to(torch.uint8)


def values(images: Tensor) -> Tensor:
    """uint8 0..255 on the images' device."""
    return torch.arange(256, dtype=torch.uint8, device=images.device)


def mapped(images: Tensor, tables: Tensor) -> Tensor:
    """Every byte looked up in the table of its image and channel; tables are uint8 (n, C or 1, 256)."""
    return _looked_up(images, tables.expand(-1, images.shape[1], -1), _entries(images))


def _looked_up(images: Tensor, tables: Tensor, entries: Tensor) -> Tensor:
    return tables.reshape(-1).index_select(0, entries.flatten()).view(images.shape)


def _entries(images: Tensor) -> Tensor:
    """Where each value stands, int32 (n, C, H W), when the tables of all channels lie one behind the other."""
    count, channels = images.shape[:2]
    firsts = torch.arange(0, count * channels * 256, 256, dtype=torch.int32, device=images.device)
    return images.flatten(2).int().add_(firsts.view(count, channels, 1))
