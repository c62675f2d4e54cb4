"""What every augmentation of ours takes and gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from ..images import ImagesLike, as_pixels, to_unit


class ImageAugmentation(ABC):
    """``(images, generator=None) -> images``: float NCHW in [0, 1], or uint8 NHWC, grey or RGB; what was given comes
    back in kind, on its device. Draws are taken from a CPU generator, torch's global one by default."""

    def __call__(self, images: ImagesLike, generator: torch.Generator | None = None) -> Tensor:
        return in_kind(images, lambda pixels: self.augment(pixels, generator or torch.default_generator))

    @abstractmethod
    def augment(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Float (B, C, H, W) in [0, 1], B > 0, to the same; the given images stay as they are."""


def in_kind(images: ImagesLike, augment: Callable[[Tensor], Tensor]) -> Tensor:
    """What `augment` makes of float NCHW images, for float NCHW or uint8 NHWC ones, and given back as these."""
    pixels = as_pixels(images)
    if len(pixels) == 0:
        return pixels if pixels.is_floating_point() else pixels.permute(0, 2, 3, 1)
    augmented = augment(to_unit(pixels))
    if pixels.is_floating_point():
        return augmented.to(pixels.dtype)
    return augmented.mul(255).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)
