"""From a word on the command line to a data set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, did_you_mean
from ..images import to_unit
from .cifar import CIFAR10, CIFAR100, read_cifar
from .copies import with_copies
from .folder import common_size, read_folder
from .hub import read_hub
from .image_sets import ArrayImages, Data, FileImages, ImageSet, Split
from .joining import joined
from .loader import CentreFrame, Loader
from .npz import read_npz
from .photos10 import load_photos10
from .splits import for_training, holdout_count, roles, stratified

NAMED = ("photos10", "cifar10", "cifar100", "imagenet")
PUBLISHED: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "cifar10": (CIFAR10.mean, CIFAR10.std),
    "cifar100": (CIFAR100.mean, CIFAR100.std),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
TWO = ("train", "test")  # the splits of published sets
STATISTICS_SAMPLE = 2_000  # images that the mean and std of a set without published ones are taken from


def open_data(
    source: str | Path,
    data_dir: Path | str | None = None,
    *,
    size: int | None = None,
    opened_size: int | None = None,
    channels: int = 3,
    subset: int | None = None,
    holdout: float = 0,
    seed: int = 0,
    workers: int = 0,
    copies: Sequence[str] = (),
) -> Data:
    """Open a data set by name.

    `source`: photos10, cifar10, cifar100, a folder of images, a .npz file, or ``hf:NAME``.
    `data_dir`: where the named sets lie.
    `size`: the side that images are wanted at; `opened_size`: the side that images in files are brought to where no
    `size` is said. Default: their own where it is small, or 224.
    `channels`: 3, or 1 to read images as grey.
    `subset`: keep only so many training images, stratified.
    `holdout`: a fraction (below 1) or number of training images set aside for validation, where the set has no
    validation split of its own. `seed` draws the subset and the hold-out.
    `workers`: processes that open image files.
    `copies`: where processed copies of all training images lie, each a .npy of images or a folder of classes.
    """
    source = str(source)
    train, validation, test = for_training(_read(source, data_dir, size, channels), source)
    _check_classes(source, train)
    train = with_copies(train, [_below(Path(copy).expanduser(), data_dir) for copy in copies])
    side = _side(source, train, size, opened_size)
    if holdout and validation is None:
        chosen, rest = stratified(train.labels, holdout_count(holdout, len(train)), seed)
        train, validation = train.take(rest), train.take(chosen)
    if subset is not None:
        if not len(train.classes) <= subset <= len(train):
            raise InputError(
                f"{source}: a subset must have from {len(train.classes)} images, one of each class, to {len(train):,}; "
                f"got {subset:,}"
            )
        train = train.take(stratified(train.labels, subset, seed)[0])
    mean, std = _statistics(source, train, side, workers)
    # What was taken from where so far made the splits; from here on, an example's number is its place in its split.
    train, test = replace(train, origin=None), replace(test, origin=None)
    validation = replace(validation, origin=None) if validation else None
    return Data(source, train, validation, test, side, mean, std)


def open_split(
    source: str | Path,
    split: str | None = None,
    data_dir: Path | str | None = None,
    *,
    size: int | None = None,
    channels: int = 3,
) -> Split:
    """Open a part of a data set by name, for work that is no training: nothing is asked of the other parts.

    `split` is train, validation, test or all; default: test, or all where the set has no test split of its own. The
    rest is as for `open_data`, whose splits these are.
    """
    source = str(source)
    found = _read(source, data_dir, size, channels)
    name = split or ("test" if found.keys() & {"validation", "test"} else "all")
    side = _side(source, next(iter(found.values())), size, None)
    if name == "all":
        return Split(source, name, joined(list(found.values())), side, {})
    parts = roles(found, source)
    if name not in parts:
        known = (*parts, "all")
        raise InputError(f"{source} has no split '{name}'{did_you_mean(name, known)}")
    left_out = {other: len(images) for other, images in parts.items() if other != name}
    return Split(source, name, replace(parts[name], origin=None), side, left_out)


def _read(source: str, data_dir: Path | str | None, size: int | None, channels: int) -> Mapping[str, ImageSet]:
    """The splits that a set has, train first, or `all` where it has none; checked as far as it matters to anyone."""
    if channels not in (1, 3):
        raise InputError(f"images have 1 or 3 channels; got {channels}")
    if size is not None and size < 1:
        raise InputError(f"images are at least 1 pixel wide; got a wish for {size}")
    found = _splits(source, Path(data_dir).expanduser() if data_dir else None, channels)
    sets = {split: _as_grey(images, channels) for split, images in found.items()}
    _check_alike(source, list(sets.values()))
    return sets


def _splits(source: str, data_dir: Path | None, channels: int) -> Mapping[str, ImageSet]:
    if source in ("cifar10", "cifar100"):
        return dict(zip(TWO, read_cifar(CIFAR10 if source == "cifar10" else CIFAR100, data_dir), strict=True))
    if source == "photos10":
        return dict(zip(TWO, _photos10(), strict=True))
    if source.startswith("hf:"):
        return read_hub(source.removeprefix("hf:"), data_dir, channels)
    path = _find(source, data_dir)
    return read_npz(path) if path.suffix == ".npz" else read_folder(path, channels)


def _find(source: str, data_dir: Path | None) -> Path:
    """A folder or .npz file: at its path, or below the folder that holds the data sets."""
    path = _below(Path(source).expanduser(), data_dir)
    if path.is_dir() or (path.suffix == ".npz" and path.is_file()):
        return path
    if source == "imagenet":
        raise InputError(
            "imagenet is not here; put the official train/ and val/, one folder per class, into a folder imagenet/ and "
            "name the folder that holds it with --data-dir or $WEATHERPROOF_DATA"
        )
    hint = "" if "/" in source or source.endswith(".npz") else did_you_mean(source, NAMED)
    raise InputError(f"there is no data set, folder or .npz file '{source}'{hint}")


def _below(path: Path, data_dir: Path | str | None) -> Path:
    """Where a path lies: as it stands, below `data_dir`, or below $WEATHERPROOF_DATA; as it stands where it is not."""
    homes = [Path(home).expanduser() for home in (data_dir, os.environ.get("WEATHERPROOF_DATA")) if home]
    return next((home / path for home in (Path(), *homes) if (home / path).exists()), path)


def _photos10() -> tuple[ImageSet, ImageSet]:
    train_images, train_labels, test_images, test_labels, classes = load_photos10()
    train, test = (
        ImageSet(ArrayImages.from_nhwc(images), torch.from_numpy(labels), classes)
        for images, labels in ((train_images, train_labels), (test_images, test_labels))
    )
    return train, test


def _as_grey(images: ImageSet, channels: int) -> ImageSet:
    """The set with one channel, if that is wanted: ITU-R 601 luma, rounded, as Pillow converts."""
    if channels == 3 or not isinstance(images.images, ArrayImages):
        return images
    weights = torch.tensor([19595, 38470, 7471]).view(1, 3, 1, 1)
    grey = ((images.images.pixels.to(torch.int32) * weights).sum(dim=1, keepdim=True) + 0x8000) >> 16
    return replace(images, images=ArrayImages(grey.to(torch.uint8)))


def _check_alike(source: str, sets: list[ImageSet]) -> None:
    classes, channels = sets[0].classes, sets[0].images.channels
    for part in sets:
        if len(part) == 0:
            raise InputError(f"{source} has a split without images")
        if part.classes != classes:
            raise InputError(f"{source}: the splits differ in their classes: {classes[:5]} and {part.classes[:5]}")
        if part.images.channels != channels:
            raise InputError(f"{source}: the splits differ in their channels: {channels} and {part.images.channels}")
        if _shape(part) != _shape(sets[0]):
            raise InputError(
                f"{source}: the splits differ in their images: {_shape(sets[0])} and {_shape(part)} pixels"
            )


def _check_classes(source: str, train: ImageSet) -> None:
    """What a classifier can be trained on."""
    counts = torch.bincount(train.labels, minlength=len(train.classes))
    if int((counts > 0).sum()) < 2:
        raise InputError(f"{source} has training images of one class only; a classifier needs at least 2")
    if int(counts.min()) == 0:
        raise InputError(f"{source}: class '{train.classes[int(counts.argmin())]}' has no training images")


def _shape(images: ImageSet) -> tuple[int, ...]:
    """Height and width where they are fixed; images in files may have any."""
    return tuple(images.images.pixels.shape[2:]) if isinstance(images.images, ArrayImages) else ()


def _side(source: str, images: ImageSet, size: int | None, opened_size: int | None) -> int:
    if isinstance(images.images, FileImages):
        return size or opened_size or common_size(images.images)
    height, width = images.images.pixels.shape[2:]
    if height != width:
        raise InputError(f"{source}: images in memory must be square; got {height}x{width}")
    if size not in (None, height):
        raise InputError(f"{source}: images in memory keep their size of {height}; got a wish for {size}")
    return int(height)


def _statistics(source: str, train: ImageSet, side: int, workers: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation per channel: the published ones, or those of a sample of the training images."""
    if source in PUBLISHED and train.images.channels == 3:
        return PUBLISHED[source]
    chosen = np.linspace(0, len(train) - 1, min(len(train), STATISTICS_SAMPLE)).astype(int).tolist()
    loader = Loader(train.take(chosen), batch_size=256, size=side, frame=CentreFrame(side), workers=workers)
    moments: list[Tensor] = []
    for batch in loader.epoch():
        pixels = to_unit(batch.images).double()
        moments.append(torch.stack([pixels.sum(dim=(0, 2, 3)), (pixels**2).sum(dim=(0, 2, 3))]))
    total, square = torch.stack(moments).sum(dim=0) / (len(chosen) * side * side)
    std = (square - total**2).clamp_min(1e-8).sqrt()  # a constant channel must not divide by zero
    return tuple(round(v, 4) for v in total.tolist()), tuple(max(round(v, 4), 1e-4) for v in std.tolist())
