"""Which images they are: what tells them from others, wherever they lie and whatever they are called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from ..errors import InputError
from .image_sets import ArrayImages, FileImages, ImageSet

CHUNK = 1_000  # images that are copied at a time


def fingerprint(images: ImageSet, times: bool = True) -> str:
    """16 hexadecimal digits that stand for the images, their order and their labels.

    Images in memory are known by their pixels, as bytes. Images in files are not opened: they are known by class, name
    and size, and with `times` by when they were written, which differs between machines.
    """
    digest = hashlib.sha256()
    for numbers in (images.labels, images.numbers):
        digest.update(numbers.to(torch.int64).contiguous().numpy().data)
    for piece in _pixels(images.images) if isinstance(images.images, ArrayImages) else _files(images, times):
        digest.update(piece)
    return digest.hexdigest()[:16]


def _pixels(images: ArrayImages) -> Iterator[bytes | memoryview]:
    yield repr(tuple(images.pixels.shape)).encode()
    for part in torch.split(images.pixels, CHUNK):
        yield _as_bytes(part).contiguous().numpy().data


def _as_bytes(pixels: Tensor) -> Tensor:
    """uint8 of uint8, or of floats in [0, 1]."""
    return pixels if pixels.dtype == torch.uint8 else (pixels.float() * 255).round().clamp(0, 255).to(torch.uint8)


def _files(images: ImageSet, times: bool) -> Iterator[bytes]:
    files = images.images
    assert isinstance(files, FileImages)
    yield f"{files.channels} {getattr(files.opener, 'fingerprint', '') if times else ''}".encode()
    for label, item in zip(images.labels.tolist(), files.items, strict=True):
        yield f"\n{images.classes[label]}/{_facts(item, times)}".encode()


def _facts(item: object, times: bool) -> str:
    if not isinstance(item, Path):
        return str(item)
    try:
        known = item.stat()
    except OSError as error:
        raise InputError(f"cannot read {item}: {error.strerror or error}") from error
    return f"{item.name} {known.st_size} {known.st_mtime_ns if times else ''}"
