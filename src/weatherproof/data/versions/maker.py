"""What makes versions of images, and what writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from torch import Tensor

Version = tuple[str | int, ...]
"""Where a version lies, as a path: (edsr,), say, or (fog, 3). Versions that begin alike share a .npy file."""


class Maker(Protocol):
    """Makes versions of images; it travels to worker processes."""

    @property
    def versions(self) -> Sequence[Version]:
        """All that are made of each image."""

    def make(self, pixels: Tensor, version: Version, numbers: Sequence[int]) -> np.ndarray:
        """A version of uint8 images (B, H, W, C), in the same form; `numbers` say which images of the set they are."""


class Writer(Protocol):
    """Makes a set in units, which may be worked on in any order and process."""

    def missing(self) -> list[Any]:
        """The units that are left to do."""

    def size(self, unit: Any) -> int:
        """How many images a unit is."""

    def work(self, unit: Any) -> None:
        """Make a unit."""

    def note(self, unit: Any) -> None:
        """Keep in mind, across calls, that a unit is made."""

    def finish(self) -> None:
        """What remains when all units are made."""
