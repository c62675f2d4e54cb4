"""Images that say which one they are, for tests of where they end up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

MakeFolder = Callable[..., Path]
MakeNpz = Callable[..., Path]


def numbered_image(number: int, size: tuple[int, int] = (12, 12), channels: int = 3) -> np.ndarray:
    """Noise with its own number, below 256, in the first pixel: uint8 (height, width, channels)."""
    pixels = np.random.default_rng(number).integers(0, 256, (size[1], size[0], channels), dtype=np.uint8)
    pixels[0, 0] = number
    return pixels
