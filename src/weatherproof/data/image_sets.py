"""Labelled images, in memory or in files, behind one small interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..errors import InputError

Frame = Callable[[Image.Image, torch.Generator], Image.Image]
"""How an opened image of any size becomes one of the size that the network sees."""


class Images(Protocol):
    """Images by position."""

    channels: int

    def __len__(self) -> int: ...

    def take(self, indices: Sequence[int]) -> Images:
        """The images at these positions, in this order."""


class ArrayImages:
    """Images that live in memory: `pixels` is uint8 (N, C, H, W)."""

    def __init__(self, pixels: Tensor) -> None:
        self.pixels = pixels
        self.channels = pixels.shape[1]

    @staticmethod
    def from_nhwc(array: np.ndarray) -> ArrayImages:
        """From uint8 (N, H, W, C)."""
        return ArrayImages(torch.from_numpy(np.ascontiguousarray(array.transpose(0, 3, 1, 2))))

    def __len__(self) -> int:
        return len(self.pixels)

    def take(self, indices: Sequence[int]) -> ArrayImages:
        return ArrayImages(self.pixels[torch.as_tensor(indices, dtype=torch.int64)])


class FileImages:
    """Images that are opened when they are needed, in workers: from files, or from anything that `opener` opens."""

    def __init__(
        self,
        items: Sequence[object],
        channels: int,
        opener: Callable[[object], Image.Image] | None = None,
    ) -> None:
        self.items = items
        self.channels = channels
        self.opener = opener or open_file

    def __len__(self) -> int:
        return len(self.items)

    def take(self, indices: Sequence[int]) -> FileImages:
        return FileImages([self.items[i] for i in indices], self.channels, self.opener)

    def open(self, index: int) -> Image.Image:
        """The image at full size, as RGB or as grey."""
        image = self.opener(self.items[index])
        if image.mode == "F":
            raise InputError(f"{self.items[index]} holds floating-point pixels of unknown range; save it as PNG")
        return _with_8_bits(image).convert("RGB" if self.channels == 3 else "L")


def _with_8_bits(image: Image.Image) -> Image.Image:
    """What Pillow's own conversion spoils: it clips 16 bits at 255, and warns of palettes with transparent colours."""
    if image.mode.startswith("I"):
        return Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))
    return image.convert("RGBA") if image.mode == "P" and "transparency" in image.info else image


def open_file(path: object) -> Image.Image:
    """The decoded image of a file; one that cannot be decoded to its end is an `InputError` that names it."""
    try:
        with Image.open(Path(str(path))) as image:
            image.load()
            return image
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).replace(repr(str(path)), "").strip()
        raise InputError(f"{path} is not a readable image ({reason}); repair or remove it") from error


@dataclass(frozen=True)
class ImageSet:
    """Images with labels: one split of a data set. `labels` is int64 (N,), `classes` names them.

    `origin` says where each one stood in the split before some were taken; None means where it stands now. `copies` are
    other versions of the same images, which training draws from as well.
    """

    images: ArrayImages | FileImages
    labels: Tensor
    classes: tuple[str, ...]
    origin: Tensor | None = None
    copies: tuple[ArrayImages | FileImages, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Sequence[int]) -> ImageSet:
        """The examples at these positions, in this order."""
        rows = torch.as_tensor(indices, dtype=torch.int64)
        return replace(
            self,
            images=self.images.take(indices),
            labels=self.labels[rows],
            origin=self.numbers[rows],
            copies=tuple(copy.take(indices) for copy in self.copies),
        )

    @property
    def numbers(self) -> Tensor:
        """int64 (N,): where each example stood in the whole split. Its randomness goes by this number."""
        return torch.arange(len(self)) if self.origin is None else self.origin


@dataclass(frozen=True)
class Split:
    """Images of a data set that are to be worked on.

    `name` says which: train, validation, test, or all in the set's own order; `left_out` how many there are besides, by
    split. Images in files are to be brought to `size`.
    """

    data: str
    name: str
    images: ImageSet
    size: int
    left_out: Mapping[str, int]

    def words(self, brought: str) -> str:
        """For people. `brought` says what becomes of the size of images in files."""
        side = f"{self.size}x{self.size} pixels"
        size = f"of {side}" if isinstance(self.images.images, ArrayImages) else f"{brought} {side}"
        left = ", ".join(f"{count:,} of split {name}" for name, count in self.left_out.items())
        hint = f"; left out: {left} (split all is everything)" if left else ""
        return f"{len(self.images):,} images of {self.data}, split {self.name}, {size}{hint}"


@dataclass(frozen=True)
class Data:
    """A data set: its splits and what a classifier of it must know.

    `validation` is a split that the set brings along, or one held out of `train`; it may be missing. Images of other
    sizes than `size` are resized and cropped to it when they are opened.
    """

    name: str
    train: ImageSet
    validation: ImageSet | None
    test: ImageSet
    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        return self.train.classes

    @property
    def channels(self) -> int:
        return self.train.images.channels

    def split(self, name: str) -> ImageSet:
        """The split of that name: train, validation or test."""
        found = {"train": self.train, "validation": self.validation, "test": self.test}.get(name)
        if found is None:
            raise InputError(f"{self.name} has no split '{name}'")
        return found
