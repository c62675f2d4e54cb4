"""Random linear filters, as PRIME uses them."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from ...errors import InputError
from .primitive import Primitive


class RandomFilter(Primitive):
    """Every image is filtered by a kernel of its own, the same for all its channels, with zeros around the image:

        sigma * N(0, 1) in each tap, and 1 more in the tap of the identity; the result is clipped to [0, 1]

    Followed: sigma uniform on [0, sigma], as the authors train, and their identity, which is not in the middle of the
    kernel but half a kernel, rounded up, from its top and left: the image moves by one pixel. Departed from: they draw
    sigma once for a whole batch, here every image has its own.
    """

    def __init__(self, size: int = 3, sigma: float = 4.0) -> None:
        if size < 3 or size % 2 == 0 or not 0 <= sigma < float("inf"):
            raise InputError(f"random filters want an odd size of 3 or more and a sigma of 0 or more; "
                             f"got {size} and {sigma}")  # fmt: skip
        self.size, self.sigma = size, sigma

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> tuple[Tensor, ...]:
        """Kernels (B, size, size)."""
        sigma = self.sigma * torch.rand(shape[0], 1, 1, generator=generator)
        kernels = sigma * torch.randn(shape[0], self.size, self.size, generator=generator)
        identity = math.ceil(self.size / 2)
        kernels[:, identity, identity] += 1
        return (kernels,)

    def apply(self, images: Tensor, *parameters: Tensor) -> Tensor:
        """The filtered images."""
        (kernels,) = parameters
        count, channels, height, width = images.shape
        # One convolution for all, in which every channel of every image is a group.
        weights = kernels.repeat_interleave(channels, dim=0)[:, None]
        planes = images.reshape(1, count * channels, height, width)
        filtered = functional.conv2d(planes, weights, padding=self.size // 2, groups=count * channels)
        return filtered.clamp_(0, 1).view(images.shape)
