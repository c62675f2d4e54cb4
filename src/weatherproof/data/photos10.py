"""photos10: a small image-classification set that ships with the package.

5,000 crops, 32x32 RGB, of ten photographs and textures that are CC0 or in the public domain; train and test crops come
from disjoint regions of each photograph. Sources and licences: assets/photos10/SOURCES.md. Each split is one lossless
sheet of crops, class after class.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_ASSETS = Path(__file__).parent / "assets" / "photos10"
_SIDE = 32
_CLASSES = 10

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]


def load_photos10() -> tuple[Images, Labels, Images, Labels, tuple[str, ...]]:
    """Return (train_images, train_labels, test_images, test_labels, class_names).

    Images are uint8, (N, 32, 32, 3). Classes take turns, so a prefix or a stride of the arrays is balanced too.
    """
    names = tuple(json.loads((_ASSETS / "photos10.json").read_text(encoding="utf-8"))["classes"])
    train_images, train_labels = _read_sheet("train")
    test_images, test_labels = _read_sheet("test")
    return train_images, train_labels, test_images, test_labels, names


def _read_sheet(split: str) -> tuple[Images, Labels]:
    """Cut a sheet into its crops and deal the classes out in turn."""
    with Image.open(_ASSETS / f"{split}.webp") as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    rows, columns = pixels.shape[0] // _SIDE, pixels.shape[1] // _SIDE
    crops = pixels.reshape(rows, _SIDE, columns, _SIDE, 3).swapaxes(1, 2).reshape(-1, _SIDE, _SIDE, 3)
    by_class = crops.reshape(_CLASSES, -1, _SIDE, _SIDE, 3)
    index = np.arange(len(crops))
    # Each round of ten starts one class later, so that every tenth crop is not always of the same class.
    labels = (index + index // _CLASSES) % _CLASSES
    return by_class[labels, index // _CLASSES], labels.astype(np.int64)
