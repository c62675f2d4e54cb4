"""The 19 common corruptions, written out a second time: one image, one plain procedure, in the original's libraries.

Nothing here is fast and nothing is shared with the package: this is what its batched code is held against.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import blur, digital, noise, weather
from .blur import magick_motion_blur
from .tables import ELASTIC_SIDE, FOG_SIDE, FROST_RESIZE, TABLES

__all__ = ["ON_BYTES", "corrupt", "corrupt_all", "has_magick", "magick_motion_blur"]

ON_BYTES = {"motion_blur", "frost", "pixelate", "jpeg_compression"}  # these work on 0..255, the others on 0..1


def corrupt(
    image: np.ndarray, name: str, severity: int, scale: str, rng: np.random.Generator, **given: Any
) -> np.ndarray:
    """uint8 (H, W, 3) to uint8 (H, W, 3). `given` fixes what is otherwise drawn: angle, offsets."""
    row = TABLES[scale][name][severity - 1]
    if name == "elastic_transform":
        given["side"] = ELASTIC_SIDE[scale]
    if name == "frost":
        given["resize"] = FROST_RESIZE[scale]
    if name == "fog":
        # An image that is larger than the map takes the next power of two.
        given["side"] = max(FOG_SIDE[scale], 2 ** (max(image.shape[:2]) - 1).bit_length())
    function = _function(name)
    if name in ON_BYTES:
        return np.uint8(function(image, row, rng, **given))
    return np.uint8(function(image / 255.0, row, rng, **given) * 255)  # truncated, not rounded


def corrupt_all(images: np.ndarray, name: str, severity: int, scale: str, seed: int = 0, **given: Any) -> np.ndarray:
    """Each of uint8 (N, H, W, 3), one after another."""
    rng = np.random.default_rng([seed, severity, *name.encode()])
    return np.stack([corrupt(image, name, severity, scale, rng, **given) for image in images])


def has_magick() -> bool:
    """Whether ImageMagick, which motion blur and snow are held against, can be reached through Wand."""
    return blur.Magick is not None


def _function(name: str) -> Any:
    return next(getattr(room, name) for room in (noise, blur, weather, digital) if hasattr(room, name))
