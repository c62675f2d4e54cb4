"""The layer that turns images in [0, 1] into what a classifier's first convolution expects."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...errors import InputError


class Normalise(nn.Module):
    """``(x - mean) / std`` per channel.

    The statistics are not part of the state dict, so that weights from elsewhere load key by key; a checkpoint keeps
    them beside the architecture (model.json).
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(list(mean), dtype=torch.float32).view(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(list(std), dtype=torch.float32).view(1, -1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        channels = self.mean.shape[1]
        if images.shape[-3] != channels:  # one channel would be stretched to three without a word
            raise InputError(f"this classifier takes images with {channels} channel(s); got {images.shape[-3]}")
        return (images - self.mean) / self.std


def normaliser(channels: int, mean: Sequence[float] | None, std: Sequence[float] | None) -> Normalise:
    """The layer for given statistics; without any, mean = std = 0.5 in every channel."""
    if channels not in (1, 3):
        raise InputError(f"images have 1 or 3 channels; got {channels}")
    mean, std = mean or [0.5] * channels, std or [0.5] * channels
    if len(mean) != channels or len(std) != channels or not min(std) > 0:
        raise InputError(f"mean and std need {channels} number(s), one per channel, std above 0; got {mean}, {std}")
    return Normalise(mean, std)
