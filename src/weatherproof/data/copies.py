"""Processed copies of a training set, DeepAugment's say, that are drawn from as often as from the set itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ..errors import InputError
from .folder import read_split
from .image_sets import ArrayImages, FileImages, ImageSet

WANTED = "a processed copy holds the training images of the set itself, in their order"


def with_copies(train: ImageSet, paths: Sequence[Path]) -> ImageSet:
    """`train` with what lies at `paths`: a .npy of images for a set in memory, a folder of classes for one in files."""
    for path in paths:
        if isinstance(train.images, ArrayImages):
            copy: ArrayImages | FileImages = _read_array(path, train, train.images)
        else:
            copy = _read_files(path, train)
        train = replace(train, copies=(*train.copies, copy))
    return train


def _read_array(path: Path, train: ImageSet, images: ArrayImages) -> ArrayImages:
    array = _load(path)
    count, channels, height, width = images.pixels.shape
    if array.dtype != np.uint8 or array.shape != (count, height, width, channels):
        raise InputError(
            f"{path} holds {array.dtype} of shape {array.shape}; {WANTED}, uint8 {(count, height, width, channels)}"
        )
    labels = path.parent / "labels.npy"
    if labels.is_file() and not np.array_equal(_load(labels), train.labels.numpy()):
        raise InputError(f"{labels} differs from the labels of the training set; {WANTED}")
    return ArrayImages.from_nhwc(array)


def _load(path: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
        return array
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is not a readable .npy file ({error})") from error


def _read_files(path: Path, train: ImageSet) -> FileImages:
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; {WANTED}, one folder per class")
    copy = read_split(path, train.images.channels)
    if copy.classes != train.classes or not torch.equal(copy.labels, train.labels):
        raise InputError(f"{path} has {len(copy)} images of {len(copy.classes)} classes; {WANTED}")
    assert isinstance(copy.images, FileImages)
    return copy.images
