"""Real photographs for tests: those of scikit-image's wheel, and the crops that come along with the package."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

from weatherproof.data.photos10 import load_photos10

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "rocket")


@lru_cache(maxsize=8)
def photographs(count: int, side: int) -> np.ndarray:
    """Cuts of photographs, half to all of their height, brought to `side` pixels: uint8 (count, side, side, 3)."""
    return _cuts([Image.fromarray(getattr(data, name)()) for name in PHOTOGRAPHS], count, side)


def cuts_of_files(folder: Path, count: int, side: int) -> np.ndarray:
    """The same of all photographs in a folder."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".jpeg", ".jpg", ".png"))
    return _cuts([Image.open(file).convert("RGB") for file in files], count, side)


def _cuts(opened: Sequence[Image.Image], count: int, side: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    cuts = []
    for i in range(count):
        picture = opened[i % len(opened)]
        cut = int(min(picture.size) * rng.uniform(0.5, 1))
        left, top = (int(rng.uniform(0, length - cut)) for length in picture.size)
        box = (left, top, left + cut, top + cut)
        cuts.append(np.asarray(picture.resize((side, side), Image.Resampling.BICUBIC, box=box)))
    return np.stack(cuts)


@lru_cache(maxsize=8)
def crops(count: int, side: int = 32) -> np.ndarray:
    """Test images of photos10, every class in turn: uint8 (count, 32, 32, 3)."""
    images = load_photos10()[2]
    chosen: np.ndarray = images[np.linspace(0, len(images) - 1, count).astype(int)]
    assert chosen.shape[1] == side
    return chosen
