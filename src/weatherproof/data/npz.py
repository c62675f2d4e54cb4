"""Arrays in a .npz file: x_train, y_train, x_test, y_test (and x_val, y_val), or images and labels."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..images import as_labels
from .image_sets import ArrayImages, ImageSet

WANTED = "wanted x_train, y_train, x_test, y_test or images, labels (and class_names, if the classes have names)"
KEYS = {"train": ("x_train", "y_train"), "validation": ("x_val", "y_val"), "test": ("x_test", "y_test")}
WHOLE = {"all": ("images", "labels")}
LARGEST_GUESS = 10_000  # classes, where nobody names them: a label far above is a mistake


def read_npz(file: Path) -> dict[str, ImageSet]:
    """The splits that the file has, train first; or `all`, where it has none."""
    arrays = _arrays(file)
    present = {name: keys for name, keys in KEYS.items() if keys[0] in arrays}
    if "train" not in present and "images" in arrays:
        present = WHOLE
    if not present:
        raise InputError(f"{file} holds {', '.join(arrays) or 'nothing'}; {WANTED}")
    first = next(iter(present.values()))
    classes = _class_names(file, _labels(file, arrays, *first), arrays.get("class_names"))
    return {name: _image_set(file, arrays, keys, classes) for name, keys in present.items()}


def _arrays(file: Path) -> dict[str, np.ndarray]:
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    if not zipfile.is_zipfile(file):
        raise InputError(f"{file} is truncated, or not a .npz of plain arrays")
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # a broken zip can raise anything
        raise InputError(f"{file} is truncated, or not a .npz of plain arrays ({error})") from error


def _image_set(file: Path, arrays: dict[str, np.ndarray], keys: tuple[str, str], classes: tuple[str, ...]) -> ImageSet:
    images = _pixels(file, keys[0], arrays[keys[0]])
    labels = as_labels(_labels(file, arrays, *keys), len(images), len(classes), name=f"{file}: {keys[1]}")
    return ImageSet(ArrayImages.from_nhwc(images), labels, classes)


def _pixels(file: Path, key: str, images: np.ndarray) -> np.ndarray:
    shaped = images[..., None] if images.ndim == 3 else images  # grey images often come without a channel axis
    if images.dtype != np.uint8 or shaped.ndim != 4 or shaped.shape[3] not in (1, 3):
        raise InputError(f"{file}: {key} is {images.dtype} of shape {images.shape}; wanted uint8 NHWC (or NHW, grey)")
    return shaped


def _labels(file: Path, arrays: dict[str, np.ndarray], images: str, labels: str) -> np.ndarray:
    if labels not in arrays:
        raise InputError(f"{file} has {images} but no {labels}; {WANTED}")
    values = arrays[labels]
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values  # a column is Keras' habit


def _class_names(file: Path, labels: np.ndarray, names: np.ndarray | None) -> tuple[str, ...]:
    if names is not None:
        named = tuple(str(name) for name in names.reshape(-1))
        if len(set(named)) < len(named):
            raise InputError(f"{file}: class_names holds a name twice: {', '.join(named[:10])}")
        return named
    if not np.issubdtype(labels.dtype, np.integer):
        raise InputError(f"{file}: the labels are {labels.dtype}; wanted integers from 0 on")
    count = int(labels.astype(np.int64).max(initial=-1)) + 1
    if count > max(len(labels), LARGEST_GUESS):
        raise InputError(
            f"{file}: label {count - 1} is out of range; wanted labels from 0 to the number of classes - 1"
        )
    return tuple(str(label) for label in range(count))
