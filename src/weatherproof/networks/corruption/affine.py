"""A spatial transformer of one layer: the paper's example of a network for global transformations."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .frame import CorruptionNetwork


class Affine(CorruptionNetwork):
    """Resamples the image through one affine map, at first the identity: its six parameters are all there is.

    ``theta`` (2, 3) maps output places in [-1, 1]^2 to input places; what lies outside repeats the border.
    """

    multiple, least = 1, 1

    def __init__(self) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))

    def restore(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        x, y = (_centres(size, images) for size in (width, height))
        places = torch.stack(
            [x.expand(height, width), y[:, None].expand(height, width)], dim=-1
        )  # (H, W, 2), x before y
        theta = self.theta.to(images.dtype)
        grid = places @ theta[:, :2].t() + theta[:, 2]
        grid = grid.expand(len(images), height, width, 2)
        return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _centres(size: int, like: Tensor) -> Tensor:
    """Where the centres of `size` pixels lie in [-1, 1]."""
    return (2 * torch.arange(size, dtype=like.dtype, device=like.device) + 1) / size - 1
