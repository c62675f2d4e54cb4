"""The small U-Net of the paper, which fills in missing pixels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...errors import InputError
from .frame import CorruptionNetwork


class UNet(CorruptionNetwork):
    """One 3x3 convolution per level, down two levels and up again, with skips; no normalisation."""

    def __init__(self, widths: Sequence[int] = (16, 32, 64)) -> None:
        super().__init__()
        if len(widths) != 3:
            raise InputError(f"a U-Net has three widths, from the finest level to the coarsest; got {list(widths)}")
        fine, middle, coarse = widths
        self.down_1, self.down_2, self.bottom = _level(3, fine), _level(fine, middle), _level(middle, coarse)
        self.up_2, self.up_1 = _level(coarse + middle, middle), _level(middle + fine, fine)
        self.output = nn.Conv2d(fine, 3, 3, padding=1)

    def restore(self, images: Tensor) -> Tensor:
        fine = self.down_1(images)
        middle = self.down_2(functional.max_pool2d(fine, 2))
        x = self.bottom(functional.max_pool2d(middle, 2))
        x = self.up_2(torch.cat([_enlarged(x), middle], dim=-3))
        x = self.up_1(torch.cat([_enlarged(x), fine], dim=-3))
        return self.output(x)  # type: ignore[no-any-return]


def _level(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU())


def _enlarged(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2, mode="nearest")
