"""Hugging Face data sets: ``hf:NAME`` or ``hf:NAME:CONFIG`` from the hub, ``hf:FOLDER`` for one saved to disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from PIL import Image

from ..errors import InputError
from .image_sets import FileImages, ImageSet

SPLITS = {"train": ("train",), "validation": ("validation", "val", "valid"), "test": ("test",)}


def read_hub(name: str, data_dir: Path | None, channels: int) -> dict[str, ImageSet]:
    """The splits that the set has, as `read_folder` gives them."""
    splits = _load(name, data_dir)
    found = {split: next((splits[n] for n in names if n in splits), None) for split, names in SPLITS.items()}
    sets = {split: _image_set(name, part, channels) for split, part in found.items() if part is not None}
    if not sets:
        raise InputError(f"hf:{name} has the splits {', '.join(splits)}; wanted one called train or test")
    return sets


def _load(name: str, data_dir: Path | None) -> dict[str, Any]:
    try:
        import datasets
    except ImportError as error:
        raise InputError(f"hf:{name} needs the library: pip install 'weatherproof[datasets]'") from error
    path, _, config = name.partition(":")
    try:
        if Path(path).is_dir():
            return dict(datasets.load_from_disk(path))
        return dict(datasets.load_dataset(path, config or None, cache_dir=str(data_dir) if data_dir else None))
    except Exception as error:  # the library raises its own kinds, connection errors among them
        raise InputError(f"cannot load hf:{name}: {error}") from error


def _image_set(name: str, part: Any, channels: int) -> ImageSet:
    kinds = {column: type(feature).__name__ for column, feature in part.features.items()}
    image = next((column for column, kind in kinds.items() if kind == "Image"), None)
    label = next((column for column, kind in kinds.items() if kind == "ClassLabel"), None)
    if image is None or label is None:
        raise InputError(f"hf:{name} has the columns {kinds}; wanted one of images and one of class labels")
    classes = tuple(part.features[label].names)
    labels = torch.as_tensor(part[label][:], dtype=torch.int64)
    return ImageSet(FileImages(range(len(part)), channels, _Opener(part, image)), labels, classes)


class _Opener:
    """Opens row i; a class and not a closure, so that worker processes can be handed it."""

    def __init__(self, part: Any, column: str) -> None:
        self.part, self.column = part, column
        self.fingerprint = str(getattr(part, "_fingerprint", ""))  # the library's own, of all that is in it

    def __call__(self, row: Any) -> Image.Image:
        try:
            image: Image.Image = self.part[row][self.column]
            return image
        except OSError as error:
            raise InputError(f"row {row} of the data set is not a readable image ({error})") from error
