"""What a primitive is."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Primitive(ABC):
    """A random map of images; every image has parameters of its own, all of them from a CPU generator."""

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """float32 (B, C, H, W) in [0, 1], B > 0, to the same."""
        drawn = self.draw(tuple(images.shape), generator)
        return self.apply(images, *(parameter.to(images.device, non_blocking=True) for parameter in drawn))

    @abstractmethod
    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> tuple[Tensor, ...]:
        """The parameters for a batch of that shape, image by image along their first dimension, on the CPU."""

    @abstractmethod
    def apply(self, images: Tensor, *parameters: Tensor) -> Tensor:
        """The images that these parameters make of the given ones."""


def arcsine(count: int, generator: torch.Generator) -> Tensor:
    """`count` draws of Beta(1/2, 1/2), float64: where a point on a circle that turns evenly is seen from the side."""
    angles = torch.rand(count, generator=generator, dtype=torch.float64) * torch.pi / 2
    return torch.sin(angles).square()


def uniform_integers(low: int, high: int, count: int, generator: torch.Generator) -> Tensor:
    """`count` integers from `low` to `high`, both included."""
    return torch.randint(low, high + 1, (count,), generator=generator)
