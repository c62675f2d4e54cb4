"""Versions of images in files: a tree of JPEGs."""

from __future__ import annotations

import io
import os
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from ...errors import InputError
from ...files import write_atomically
from ..image_sets import FileImages, Frame, ImageSet
from .maker import Maker, Version

IMAGENET_QUALITY = 85  # of the JPEGs that ImageNet-C is made of
END = b"\xff\xd9"  # of a JPEG


class Tree:
    """<version>/<class>/<file>.JPEG, each file written whole. An image is opened once, for all of its versions."""

    def __init__(self, images: ImageSet, out: Path, maker: Maker, frame: Frame) -> None:
        assert isinstance(images.images, FileImages)
        self.images, self.files, self.out, self.maker, self.frame = images, images.images, out, maker, frame
        self.targets = [self._target(i) for i in range(len(images))]
        twice = [target for target, count in Counter(self.targets).items() if count > 1]
        if twice:
            raise InputError(
                f"two images would be {twice[0]}, since they have the same name but for its ending or their split; "
                "rename one of them, or write each split on its own"
            )

    def missing(self) -> list[int]:
        return [i for i in range(len(self.images)) if self._missing(i)]

    def size(self, i: int) -> int:
        return len(self.maker.versions)

    def work(self, i: int) -> None:
        image = self.frame(self.files.open(i), torch.Generator())
        pixels = torch.from_numpy(np.asarray(image)[None].copy()).reshape(1, image.height, image.width, -1)
        for version in self._missing(i):
            made = self.maker.make(pixels, version, self.images.numbers[i : i + 1].tolist())
            write_atomically(self._path(version, i), _jpeg(made[0]))

    def note(self, i: int) -> None:
        """The files are the note."""

    def finish(self) -> None:
        """Nothing is left to do."""

    def _missing(self, i: int) -> list[Version]:
        return [version for version in self.maker.versions if not _is_whole(self._path(version, i))]

    def _path(self, version: Version, i: int) -> Path:
        return self.out.joinpath(*(str(word) for word in version), self.targets[i])

    def _target(self, i: int) -> Path:
        stem = Path(str(self.files.items[i])).stem if isinstance(self.files.items[i], Path) else f"{i:08}"
        return Path(self.images.classes[int(self.images.labels[i])]) / f"{stem}.JPEG"


def _is_whole(path: Path) -> bool:
    """Whether a JPEG is there to its end."""
    try:
        with path.open("rb") as file:
            file.seek(-len(END), os.SEEK_END)
            return file.read() == END
    except OSError:  # no file, or one that is shorter than that
        return False


def _jpeg(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.save(buffer, "JPEG", quality=IMAGENET_QUALITY, optimize=True)
    return buffer.getvalue()
