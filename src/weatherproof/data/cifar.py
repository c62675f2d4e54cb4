"""CIFAR-10 and CIFAR-100 in the official python layout: found, or downloaded, and read without trusting the pickles."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import InputError
from .download import Archive, find_or_download
from .image_sets import ArrayImages, ImageSet


@dataclass(frozen=True)
class Cifar:
    """Where one of the two data sets keeps what, and its statistics."""

    name: str
    archive: Archive
    train_files: tuple[str, ...]
    test_file: str
    meta_file: str
    label_key: str
    names_key: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


CIFAR10 = Cifar(
    "cifar10",
    Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        "cifar-10-batches-py",
    ),
    tuple(f"data_batch_{i}" for i in range(1, 6)),
    "test_batch",
    "batches.meta",
    "labels",
    "label_names",
    (0.4914, 0.4822, 0.4465),
    (0.2471, 0.2435, 0.2616),
)
CIFAR100 = Cifar(
    "cifar100",
    Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
        "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
        "cifar-100-python",
    ),
    ("train",),
    "test",
    "meta",
    "fine_labels",
    "fine_label_names",
    (0.5071, 0.4865, 0.4409),
    (0.2673, 0.2564, 0.2762),
)


def read_cifar(cifar: Cifar, data_dir: Path | None) -> tuple[ImageSet, ImageSet]:
    """The train and the test split."""
    folder = find_or_download(cifar.name, cifar.archive, data_dir)
    names = _read(folder / cifar.meta_file).get(cifar.names_key)
    if not isinstance(names, list) or not names:
        raise InputError(f"{folder / cifar.meta_file} does not name the classes under '{cifar.names_key}'")
    classes = tuple(_text(name) for name in names)
    train = _image_set(cifar, [folder / name for name in cifar.train_files], classes)
    return train, _image_set(cifar, [folder / cifar.test_file], classes)


def _image_set(cifar: Cifar, files: list[Path], classes: tuple[str, ...]) -> ImageSet:
    batches = [_batch(file, cifar.label_key, len(classes)) for file in files]
    pixels = np.concatenate([pixels for pixels, _ in batches])
    labels = np.concatenate([labels for _, labels in batches])
    return ImageSet(ArrayImages(torch.from_numpy(pixels)), torch.from_numpy(labels), classes)


def _batch(file: Path, label_key: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    content = _read(file)
    pixels, labels = content.get("data"), content.get(label_key)
    if not (isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8 and pixels.shape[1:] == (3072,)):
        raise InputError(f"{file} holds no uint8 array 'data' of 3072 columns; download the data set again")
    if not (isinstance(labels, list) and len(labels) == len(pixels) and all(type(n) is int for n in labels)):
        raise InputError(f"{file} holds no list '{label_key}' with one number per image; download the data set again")
    wrong = [n for n in labels if not 0 <= n < classes]
    if wrong:
        raise InputError(f"{file}: label {wrong[0]} is out of range for {classes} classes (0..{classes - 1})")
    return pixels.reshape(-1, 3, 32, 32), np.asarray(labels, dtype=np.int64)


def _read(file: Path) -> dict[str, Any]:
    """The dictionary in a pickle file, its keys as text."""
    try:
        content = _ArraysOnly(io.BytesIO(file.read_bytes()), encoding="bytes").load()
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except Exception as error:  # a broken pickle can raise anything
        raise InputError(f"{file} is truncated or not a CIFAR batch ({type(error).__name__}: {error})") from error
    if not isinstance(content, dict):
        raise InputError(f"{file} is not a CIFAR batch: it holds a {type(content).__name__}")
    return {_text(key): value.array if isinstance(value, _Array) else value for key, value in content.items()}


def _text(value: Any) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


class _ArraysOnly(pickle.Unpickler):
    """Admits uint8 arrays, bytes, text, lists, dicts and numbers. A pickle that names anything else is refused before
    any of it runs: `find_class` is the only door through which a pickle reaches code, and behind it stand the few
    lines below; numpy's own ones would take an array of objects, and trust the flags that come along."""

    def find_class(self, module: str, name: str) -> Any:
        allowed = _ALLOWED.get((module.replace("numpy._core", "numpy.core"), name))
        if allowed is None:
            raise InputError(f"refused: this pickle wants to run {module}.{name}, which no CIFAR batch needs")
        return allowed


def _latin1_bytes(text: str, encoding: str = "latin1") -> bytes:
    """What python 3 writes for bytes in the old pickle protocols is a call of _codecs.encode: only that much of it."""
    if encoding not in ("latin1", b"latin1"):
        raise InputError(f"refused: this pickle wants to encode text as {encoding!r}")
    return text.encode("latin1")


class _Array:
    """Stands for a numpy array while a pickle is read: made empty, then filled with shape, type, order and bytes."""

    array = np.zeros(0, dtype=np.uint8)

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, column_major, content = state
        if not (isinstance(kind, _Bytes) and isinstance(content, bytes)):
            raise InputError("refused: this pickle holds an array that is not made of bytes")
        flat = np.frombuffer(content, dtype=np.uint8).copy()
        self.array = flat.reshape(shape, order="F" if column_major else "C")


class _Bytes:
    """Stands for numpy's uint8, the one kind of array that a CIFAR batch has."""

    def __init__(self, code: Any, *_: Any) -> None:
        if _text(code) not in ("u1", "|u1", "uint8"):
            raise InputError(
                f"refused: this pickle holds an array of type {_text(code)}, where a CIFAR batch has bytes"
            )

    def __setstate__(self, state: Any) -> None:
        """Byte order and the like say nothing about bytes."""


def _empty_array(*_: Any) -> _Array:
    return _Array()


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Bytes,
    ("_codecs", "encode"): _latin1_bytes,
}
