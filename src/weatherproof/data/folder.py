"""Image folders: one folder per class, with or without train/, val/ and test/ above them."""

from __future__ import annotations

from pathlib import Path

import torch

from ..errors import InputError
from .image_sets import FileImages, ImageSet, open_file

EXTENSIONS = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
SPLIT_NAMES = {"train": ("train", "training"), "validation": ("val", "valid", "validation"), "test": ("test",)}
LARGEST_NATIVE = 256  # images of one common size up to this are used as they are; others become 224
STANDARD = 224


def read_folder(root: Path, channels: int) -> dict[str, ImageSet]:
    """The splits that the folder has, train first; or `all`, where it has none."""
    if not root.is_dir():
        raise InputError(f"there is no folder {root}")
    places = {split: _split_folder(root, names) for split, names in SPLIT_NAMES.items()}
    folders = {split: folder for split, folder in places.items() if folder}
    entries = {entry for entry in root.iterdir() if entry.is_dir()}
    if "train" not in folders and not (folders and entries <= set(folders.values())):
        return {"all": read_split(root, channels)}  # a class may be called like a split
    sets = {split: read_split(folder, channels) for split, folder in folders.items()}
    first, *others = sets
    for other in others:
        _check_same_classes(sets[first], sets[other], f"{root}: {other} and {first}", other)
    return sets


def common_size(images: FileImages) -> int:
    """The side to bring images to: their own, when a sample of them shares one small square size, else 224."""
    step = max(1, len(images) // 64)
    sizes = {images.open(i).size for i in range(0, len(images), step)}
    if len(sizes) == 1:
        width, height = next(iter(sizes))
        if width == height <= LARGEST_NATIVE:
            return width
    return STANDARD


def _split_folder(root: Path, names: tuple[str, ...]) -> Path | None:
    return next((root / name for name in names if (root / name).is_dir()), None)


def read_split(folder: Path, channels: int) -> ImageSet:
    classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if len(classes) < 2:
        raise InputError(f"{folder} has {len(classes)} class folders; a classifier needs at least 2, one per class")
    paths: list[Path] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        files = sorted(path for path in (folder / name).rglob("*") if is_image(path))
        if not files:
            raise InputError(f"class folder {folder / name} holds no images ({', '.join(sorted(EXTENSIONS))})")
        paths += files
        labels += [label] * len(files)
    return ImageSet(FileImages(paths, channels, open_file), torch.tensor(labels), tuple(classes))


def is_image(path: Path) -> bool:
    """Whether a file is called like an image."""
    return path.suffix.lower() in EXTENSIONS and not path.name.startswith(".")  # ._x.jpg is a Mac's note on x.jpg


def _check_same_classes(first: ImageSet, other: ImageSet, names: str, name: str) -> None:
    missing, extra = set(first.classes) - set(other.classes), set(other.classes) - set(first.classes)
    if missing or extra:
        parts = [f"lacks {', '.join(sorted(missing)[:5])}"] if missing else []
        parts += [f"has {', '.join(sorted(extra)[:5])} besides"] if extra else []
        raise InputError(f"{names} differ in their classes: {name} {' and '.join(parts)}")
