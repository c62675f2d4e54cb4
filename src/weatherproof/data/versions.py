"""Writing versions of a data set: resumed where it was interrupted, in several processes, the same bytes always."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..errors import InputError
from ..files import read_json, write_atomically, write_json
from .image_sets import ArrayImages, FileImages, Frame, ImageSet

PROTOCOL = "protocol.json"
IMAGENET_QUALITY = 85  # of the JPEGs that ImageNet-C is made of
Version = tuple[str | int, ...]
"""Where a version lies, as a path: (edsr,), say, or (fog, 3). Versions that begin alike share a .npy file."""
Progress = Callable[[int, int], None]  # images written, images in all


class Maker(Protocol):
    """Makes versions of images; it travels to worker processes."""

    @property
    def versions(self) -> Sequence[Version]:
        """All that are made of each image."""

    def make(self, pixels: Tensor, version: Version, numbers: Sequence[int]) -> np.ndarray:
        """A version of uint8 images (B, H, W, C), in the same form; `numbers` say which images of the set they are."""


class Writer(Protocol):
    """Makes a set in units, which may be worked on in any order and process."""

    def missing(self) -> list[Any]:
        """The units that are left to do."""

    def size(self, unit: Any) -> int:
        """How many images a unit is."""

    def work(self, unit: Any) -> None:
        """Make a unit."""

    def note(self, unit: Any) -> None:
        """Keep in mind, across calls, that a unit is made."""

    def finish(self) -> None:
        """What remains when all units are made."""


def write_versions(
    images: ImageSet,
    out: Path,
    protocol: Mapping[str, Any],
    maker: Maker,
    frame: Frame,
    what: str,
    chunk: int = 1_000,
    jobs: int = 1,
    progress: Progress | None = None,
) -> None:
    """Write what `maker` makes of `images`; whatever an interrupted call finished is kept.

    Images in memory become one .npy for each first word of the versions (its versions one after the other, uint8 NHWC)
    and labels.npy; images in files become <version>/<class>/<file>.JPEG, opened as `frame` says. `protocol` lies beside
    them, and a folder that was begun with another one is refused; `what` names such a set in sentences. `chunk` images
    in memory are worked on, and written, at a time. The bytes do not depend on `jobs`.
    """
    in_memory = isinstance(images.images, ArrayImages)
    writer: Writer = Arrays(images, out, maker, chunk) if in_memory else Tree(images, out, maker, frame)
    _claim(out, protocol, what)
    total = len(images) * len(maker.versions)
    units = writer.missing()
    done = total - sum(writer.size(unit) for unit in units)
    for unit in _finished(writer, units, jobs):
        writer.note(unit)
        done += writer.size(unit)
        if progress:
            progress(done, total)
    writer.finish()


def _finished(writer: Writer, units: list[Any], jobs: int) -> Iterator[Any]:
    """Units as they are finished, here or in other processes."""
    if jobs == 1 or len(units) < 2:
        for unit in units:
            writer.work(unit)
            yield unit
        return
    # Not forked: a process that forks while torch's threads run may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(units)), mp_context=context, initializer=_adopt, initargs=(writer,))
    try:
        futures = {pool.submit(_work, unit): unit for unit in units}
        for future in as_completed(futures):
            future.result()
            yield futures[future]
    finally:  # after Ctrl-C too: what has not begun is not begun
        pool.shutdown(cancel_futures=True)


_adopted: Writer


def _adopt(writer: Writer) -> None:
    """What a worker process keeps, so that images travel once."""
    global _adopted
    _adopted = writer
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(unit: Any) -> None:
    _adopted.work(unit)


Block = tuple[str | int, ...]  # the words of a version, the first image, and the one after the last


class Arrays:
    """<word>.npy, made as .<word>.npy.partial and renamed when it is whole."""

    def __init__(self, images: ImageSet, out: Path, maker: Maker, chunk: int) -> None:
        self.images, self.out, self.maker, self.chunk = images, out, maker, chunk
        assert isinstance(images.images, ArrayImages)
        self.pixels = images.images.pixels.permute(0, 2, 3, 1)
        self.noted: set[Block] = set()

    def missing(self) -> list[Block]:
        if self._notes.is_file():
            self.noted = {tuple(block) for block in read_json(self._notes)}
        names = list(dict.fromkeys(str(version[0]) for version in self.maker.versions))
        names = [name for name in names if not (self.out / f"{name}.npy").is_file()]
        for name in names:
            if not self._partial(name).is_file():
                self.noted = {block for block in self.noted if block[0] != name}
                self._create(name)
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
        name = str(block[0])
        self.noted.add(block)
        write_json(self._notes, sorted(self.noted))
        if self.noted.issuperset(self._blocks(name)):
            self._partial(name).replace(self.out / f"{name}.npy")

    def finish(self) -> None:
        most = max(len(self._versions(str(version[0]))) for version in self.maker.versions)
        labels = np.tile(self.images.labels.numpy(), most)
        buffer = io.BytesIO()
        np.save(buffer, labels.astype(np.uint8 if labels.max(initial=0) < 256 else np.int64))
        write_atomically(self.out / "labels.npy", buffer.getvalue())
        self._notes.unlink(missing_ok=True)
        for torn in self.out.glob(f".{self._notes.name}.*.partial"):  # of a call that was killed while it noted
            torn.unlink(missing_ok=True)

    def _versions(self, name: str) -> list[Version]:
        """Those that share a file."""
        return [version for version in self.maker.versions if version[0] == name]

    def _blocks(self, name: str) -> list[Block]:
        count = len(self.images)
        starts = range(0, count, self.chunk)
        return [(*version, i, min(i + self.chunk, count)) for version in self._versions(name) for i in starts]

    @property
    def _notes(self) -> Path:
        return self.out / ".done.partial"

    def _partial(self, name: str) -> Path:
        return self.out / f".{name}.npy.partial"

    def _create(self, name: str) -> None:
        shape = (len(self._versions(name)) * len(self.images), *self.pixels.shape[1:])
        np.lib.format.open_memmap(self._partial(name), mode="w+", dtype=np.uint8, shape=shape).flush()
        if hasattr(os, "posix_fallocate"):  # a full disk shows here, and not by killing us when a page is written
            with self._partial(name).open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, self._partial(name).stat().st_size)


class Tree:
    """<version>/<class>/<file>.JPEG, each file written whole. An image is opened once, for all of its versions."""

    def __init__(self, images: ImageSet, out: Path, maker: Maker, frame: Frame) -> None:
        assert isinstance(images.images, FileImages)
        self.images, self.files, self.out, self.maker, self.frame = images, images.images, out, maker, frame
        self.targets = [self._target(i) for i in range(len(images))]
        if len(set(self.targets)) < len(self.targets):
            raise InputError("two images of one class have the same name but for its ending; rename one of them")

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
        return [version for version in self.maker.versions if not self._path(version, i).is_file()]

    def _path(self, version: Version, i: int) -> Path:
        return self.out.joinpath(*(str(word) for word in version), self.targets[i])

    def _target(self, i: int) -> Path:
        stem = Path(str(self.files.items[i])).stem if isinstance(self.files.items[i], Path) else f"{i:08}"
        return Path(self.images.classes[int(self.images.labels[i])]) / f"{stem}.JPEG"


def _jpeg(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.save(buffer, "JPEG", quality=IMAGENET_QUALITY, optimize=True)
    return buffer.getvalue()


def _claim(out: Path, wanted: Mapping[str, Any], what: str) -> None:
    """Make the folder this protocol's, or find it so."""
    if (out / PROTOCOL).is_file():
        there = read_json(out / PROTOCOL)
        changed = [key for key in wanted if there.get(key) != wanted[key]]
        if changed:
            raise InputError(
                f"{out} holds a {what} of another make ({changed[0]}: {there.get(changed[0])} there, "
                f"{wanted[changed[0]]} wanted); name another folder"
            )
        return
    if out.exists() and (not out.is_dir() or any(not path.name.endswith(".partial") for path in out.iterdir())):
        raise InputError(f"{out} exists and is not an empty folder; name another")
    write_json(out / PROTOCOL, wanted)
