"""Image folders: one folder per class, with or without train/, val/ and test/ above them."""

from __future__ import annotations

from pathlib import Path

import torch

from ..errors import InputError
from .image_sets import FileImages, ImageSet, open_file
from .splits import divide

EXTENSIONS = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
SPLIT_NAMES = {"train": ("train", "training"), "validation": ("val", "valid", "validation"), "test": ("test",)}
LARGEST_NATIVE = 256  # images of one common size up to this are used as they are; others become 224
STANDARD = 224


def read_folder(root: Path, channels: int) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    """Train, validation (if the folder has one besides a test split) and test.

    Without a test split, the validation split is the test split; without either, a fifth of the images, stratified by
    class is.
    """
    if not root.is_dir():
        raise InputError(f"there is no folder {root}")
    found = {split: _split_folder(root, names) for split, names in SPLIT_NAMES.items()}
    if found["train"] is None:
        others = [folder.name for folder in found.values() if folder]
        if others and {entry.name for entry in root.iterdir() if entry.is_dir()} <= set(others):
            raise InputError(f"{root} has {' and '.join(others)} but no folder train")
        whole = read_split(root, channels)
        train, test = divide(whole, str(root))
        return train, None, test
    train = read_split(found["train"], channels)
    rest = {name: read_split(folder, channels) for name, folder in found.items() if folder and name != "train"}
    for name, other in rest.items():
        _check_same_classes(train, other, f"{root}: {name}")
    if not rest:
        train, test = divide(train, str(root))
        return train, None, test
    test = rest.get("test") or rest["validation"]
    return train, rest.get("validation") if "test" in rest else None, test


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


def _check_same_classes(train: ImageSet, other: ImageSet, name: str) -> None:
    missing, extra = set(train.classes) - set(other.classes), set(other.classes) - set(train.classes)
    if missing or extra:
        parts = [f"lacks {', '.join(sorted(missing)[:5])}"] if missing else []
        parts += [f"has {', '.join(sorted(extra)[:5])} besides"] if extra else []
        raise InputError(f"{name} and train differ in their classes: {name.rpartition(' ')[2]} {' and '.join(parts)}")
