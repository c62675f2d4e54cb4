"""EDSR (Lim et al. 2017): super-resolution, used here as x2 up and then averaged down again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...errors import InputError
from .chain import convolve_twice
from .frame import CorruptionNetwork

RANGE = 255  # published EDSR weights expect pixels from 0 to 255
DIV2K_MEAN = (0.4488, 0.4371, 0.4040)


class _ResidualBlock(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.body = nn.Sequential(_convolution(features, features), nn.ReLU(), _convolution(features, features))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)  # type: ignore[no-any-return]


class EDSR(CorruptionNetwork):
    """EDSR-baseline without its two constant mean shifts, which are arithmetic here; keys as in EDSR-PyTorch.

    `scale` is 2, 3 or 4. As a corruption network the enlarged image is averaged over scale x scale pixels, which gives
    back the input's size (SSIM about .99 to the input, as the paper's Figure 2 shows).
    """

    multiple, least = 1, 1
    mean: Tensor

    def __init__(
        self, features: int = 64, blocks: int = 16, scale: int = 2, mean: Sequence[float] = DIV2K_MEAN
    ) -> None:
        super().__init__()
        if scale not in (2, 3, 4):
            raise InputError(f"EDSR enlarges by 2, 3 or 4; got {scale}")
        self.scale = scale
        self.head = nn.Sequential(_convolution(3, features))
        self.body = nn.Sequential(*(_ResidualBlock(features) for _ in range(blocks)), _convolution(features, features))
        self.tail = nn.Sequential(_upsampler(features, scale), _convolution(features, 3))
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1), persistent=False)

    def upscale(self, images: Tensor) -> Tensor:
        """(B, 1 or 3, H, W) in [0, 1] to (B, 1 or 3, scale H, scale W), near [0, 1]."""
        x = self.features(self.fitted(images))
        enlarged = self.tail(x + self.body(x)) / RANGE + self.mean
        return self.cut_back(enlarged, images, self.scale)

    def restore(self, images: Tensor) -> Tensor:
        """`upscale` and the mean over scale x scale pixels."""
        x = self.features(images)
        return self.rebuild(x + self.body(x))

    def features(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) in [0, 1] to what the body gets, (B, features, H, W)."""
        return self.head((images - self.mean) * RANGE)  # type: ignore[no-any-return]

    def rebuild(self, x: Tensor) -> Tensor:
        """The sum of features and body to (B, 3, H, W): the tail and the mean over scale x scale pixels in one go. The
        last shuffle, the last convolution and the mean are linear, so that together they are one convolution; and
        nothing stands between it and the one before. Images of the full size, and copies from one layout of memory to
        another, never arise."""
        enlarge, last = cast(tuple[nn.Sequential, nn.Conv2d], tuple(self.tail))
        wide, shuffle = cast(tuple[nn.Conv2d, nn.PixelShuffle], (enlarge[-2], enlarge[-1]))
        x = enlarge[:-2](x)
        with torch.autocast(x.device.type, enabled=False):
            averaging = _averaging(last.weight, shuffle.upscale_factor)
        small = convolve_twice(x, wide.weight, cast(Tensor, wide.bias), averaging, cast(Tensor, last.bias))
        small = small / RANGE + self.mean
        rest = self.scale // shuffle.upscale_factor
        return small if rest == 1 else functional.avg_pool2d(small, rest)


def _averaging(weight: Tensor, factor: int) -> Tensor:
    """The 3x3 convolution that does what a pixel shuffle, one with `weight` and a mean over factor x factor pixels do
    together.

    The mean of the large pixels in cell 0 reaches rows r = a + p, for 0 <= a < factor and taps -1 <= p <= 1. Row r is
    row s of cell k, r = factor k + s, and so for columns.
    """
    reach = weight.new_zeros(3, factor, 3)  # k, s, p
    for p in (-1, 0, 1):
        for a in range(factor):
            k, s = divmod(a + p, factor)
            reach[k + 1, s, p + 1] += 1 / factor
    return torch.einsum("ksp,ltq,ocpq->oklcst", reach, reach, weight).flatten(3).permute(0, 3, 1, 2)


def _upsampler(features: int, scale: int) -> nn.Sequential:
    factors = (3,) if scale == 3 else (2,) * (scale // 2)
    stages = [(_convolution(features, factor**2 * features), nn.PixelShuffle(factor)) for factor in factors]
    return nn.Sequential(*(layer for stage in stages for layer in stage))


def _convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)
