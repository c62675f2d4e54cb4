"""Versions of images in memory: a .npy file for all versions that begin alike."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...files import read_json, write_atomically, write_json
from ..image_sets import ArrayImages, ImageSet
from .maker import Maker, Version

Block = tuple[str | int, ...]  # the words of a version, the first image, and the one after the last


class Arrays:
    """<word>.npy, made as .<word>.npy.partial and renamed when it is whole."""

    def __init__(self, images: ImageSet, out: Path, maker: Maker, chunk: int) -> None:
        self.images, self.out, self.maker, self.chunk = images, out, maker, chunk
        assert isinstance(images.images, ArrayImages)
        self.pixels = images.images.pixels.permute(0, 2, 3, 1)
        self.noted: set[Block] = set()

    def missing(self) -> list[Block]:
        self.noted = self._read_notes()
        names = list(dict.fromkeys(str(version[0]) for version in self.maker.versions))
        names = [name for name in names if not self._is_whole(self._file(name), name)]
        for name in names:
            if not self._is_whole(self._partial(name), name):
                self.noted = {block for block in self.noted if block[0] != name}
                self._create(name)
            self._settle(name)  # of a call that was killed between its last note and this
        return [block for name in names for block in self._blocks(name) if block not in self.noted]

    def size(self, block: Block) -> int:
        return int(block[-1]) - int(block[-2])

    def work(self, block: Block) -> None:
        version, first, stop = block[:-2], int(block[-2]), int(block[-1])
        name = str(version[0])
        array = np.load(self._partial(name), mmap_mode="r+")
        start = self._versions(name).index(version) * len(self.images)
        numbers = self.images.numbers[first:stop].tolist()
        array[start + first : start + stop] = self.maker.make(self.pixels[first:stop], version, numbers)
        array.flush()

    def note(self, block: Block) -> None:
        self.noted.add(block)
        write_json(self._notes, sorted(self.noted))
        self._settle(str(block[0]))

    def finish(self) -> None:
        most = max(len(self._versions(str(version[0]))) for version in self.maker.versions)
        labels = np.tile(self.images.labels.numpy(), most)
        buffer = io.BytesIO()
        np.save(buffer, labels.astype(np.uint8 if labels.max(initial=0) < 256 else np.int64))
        write_atomically(self.out / "labels.npy", buffer.getvalue())
        begun = sorted(block for block in self.noted if self._partial(str(block[0])).is_file())
        if begun:  # by a call that was killed, and that wanted more than we do
            write_json(self._notes, begun)
        else:
            self._notes.unlink(missing_ok=True)

    def _settle(self, name: str) -> None:
        if self.noted.issuperset(self._blocks(name)):
            self._partial(name).replace(self._file(name))

    def _versions(self, name: str) -> list[Version]:
        """Those that share a file."""
        return [version for version in self.maker.versions if version[0] == name]

    def _blocks(self, name: str) -> list[Block]:
        count = len(self.images)
        starts = range(0, count, self.chunk)
        return [(*version, i, min(i + self.chunk, count)) for version in self._versions(name) for i in starts]

    def _shape(self, name: str) -> tuple[int, ...]:
        return (len(self._versions(name)) * len(self.images), *self.pixels.shape[1:])

    @property
    def _notes(self) -> Path:
        return self.out / ".done.partial"

    def _read_notes(self) -> set[Block]:
        """What is noted; nothing where the notes are lost, since it can be made again."""
        try:
            return {tuple(block) for block in read_json(self._notes)}
        except (InputError, TypeError):
            return set()

    def _file(self, name: str) -> Path:
        return self.out / f"{name}.npy"

    def _partial(self, name: str) -> Path:
        return self.out / f".{name}.npy.partial"

    def _is_whole(self, path: Path, name: str) -> bool:
        """Whether a file is there and has room for all that belongs into it."""
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return False
        return bool(array.dtype == np.uint8 and array.shape == self._shape(name))

    def _create(self, name: str) -> None:
        np.lib.format.open_memmap(self._partial(name), mode="w+", dtype=np.uint8, shape=self._shape(name)).flush()
        if hasattr(os, "posix_fallocate"):  # a full disk shows here, and not by killing us when a page is written
            with self._partial(name).open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, self._partial(name).stat().st_size)
