"""The operations of AugMix (Hendrycks et al. 2020), by name, and how strong they are at a drawn level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from . import enhance, geometry, points

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Operation:
    """`act` takes uint8 (n, C, H, W) and float64 (n,), what it is told for each image, to uint8 (n, C, H, W).

    `strength` makes this from levels, 0 to 10, and the height and width of the images; where an operation goes either
    way (`signed`), a coin decides on its sign.
    """

    act: Callable[[Tensor, Tensor], Tensor]
    strength: Callable[[Numbers, int, int], Numbers] = lambda level, height, width: level
    signed: bool = False


def whole(level: Numbers, most: float) -> Numbers:
    """The reference's int_parameter, rounding included."""
    return np.trunc(level * most / 10)


def share(level: Numbers, most: float) -> Numbers:
    """Its float_parameter."""
    return level * most / 10


NINE = {
    "autocontrast": Operation(points.autocontrast),
    "equalize": Operation(points.equalize),
    "posterize": Operation(points.posterize, lambda level, height, width: 4 - whole(level, 4)),
    "rotate": Operation(geometry.rotate, lambda level, height, width: whole(level, 30), signed=True),
    "solarize": Operation(points.solarize, lambda level, height, width: 256 - whole(level, 256)),
    "shear_x": Operation(geometry.shear_x, lambda level, height, width: share(level, 0.3), signed=True),
    "shear_y": Operation(geometry.shear_y, lambda level, height, width: share(level, 0.3), signed=True),
    "translate_x": Operation(geometry.translate_x, lambda level, height, width: whole(level, width / 3), signed=True),
    "translate_y": Operation(geometry.translate_y, lambda level, height, width: whole(level, height / 3), signed=True),
}
"""What AugMix draws from by default."""

FOUR = {
    name: Operation(getattr(enhance, name), lambda level, height, width: share(level, 1.8) + 0.1)
    for name in ("color", "contrast", "brightness", "sharpness")
}
"""Left out by default: they come close to corruptions of the benchmarks."""

OPERATIONS = {**NINE, **FOUR}
