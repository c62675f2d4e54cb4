"""Writing a "-C" version of any data set, in the layouts of CIFAR-10-C and ImageNet-C."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..corruptions import corrupt
from ..data import ArrayImages, CentreFrame, FileImages, ImageSet
from ..errors import InputError
from ..files import read_json, write_atomically, write_json

PROTOCOL = "protocol.json"
IMAGENET_QUALITY = 85  # of the JPEGs that ImageNet-C is made of
CHUNK = 1_000  # images that are worked on, and written, at a time
Condition = tuple[str, int]  # a corruption at a severity
Progress = Callable[[int, int], None]  # images written, images in all


@dataclass(frozen=True)
class Plan:
    """What a corrupted set is made of; it lies beside the set as protocol.json, and a set of another plan is never
    mixed with it."""

    data: str
    split: str
    images: int
    corruptions: tuple[str, ...]
    severities: tuple[int, ...]
    scale: str
    seed: int
    frost: str
    weatherproof: str

    @property
    def conditions(self) -> list[Condition]:
        """All corruptions at all severities."""
        return [(name, severity) for name in self.corruptions for severity in self.severities]


class Writer(Protocol):
    """Makes a set in units, which may be worked on in any order and process."""

    def missing(self) -> list[Any]:
        """The units that are left to do."""

    def size(self, unit: Any) -> int:
        """How many corrupted images a unit is."""

    def work(self, unit: Any) -> None:
        """Make a unit."""

    def note(self, unit: Any) -> None:
        """Keep in mind, across calls, that a unit is made."""

    def finish(self) -> None:
        """What remains when all units are made."""


def write_corrupted(
    images: ImageSet, size: int, out: Path, plan: Plan, jobs: int = 1, progress: Progress | None = None
) -> None:
    """Write the set that `plan` describes; whatever an interrupted call finished is kept.

    Images in memory become <corruption>.npy (severities one after the other, uint8 NHWC) and labels.npy; images in
    files become <corruption>/<severity>/<class>/<file>.JPEG, cropped to `size`. The bytes do not depend on `jobs`.
    """
    in_memory = isinstance(images.images, ArrayImages)
    writer: Writer = Arrays(images, out, plan) if in_memory else Tree(images, size, out, plan)
    _try(plan, torch.zeros(1, size, size, images.images.channels, dtype=torch.uint8))
    _claim(out, plan)
    total = len(images) * len(plan.conditions)
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


Block = tuple[str, int, int, int]  # corruption, severity, first image, the one after the last


class Arrays:
    """<corruption>.npy, made as .<corruption>.npy.partial and renamed when it is whole."""

    def __init__(self, images: ImageSet, out: Path, plan: Plan) -> None:
        self.images, self.out, self.plan = images, out, plan
        assert isinstance(images.images, ArrayImages)
        self.pixels = images.images.pixels.permute(0, 2, 3, 1)
        self.noted: set[Block] = set()

    def missing(self) -> list[Block]:
        if self._notes.is_file():
            self.noted = {(name, severity, first, stop) for name, severity, first, stop in read_json(self._notes)}
        names = [name for name in self.plan.corruptions if not (self.out / f"{name}.npy").is_file()]
        for name in names:
            if not self._partial(name).is_file():
                self.noted = {block for block in self.noted if block[0] != name}
                self._create(name)
        return [block for name in names for block in self._blocks(name) if block not in self.noted]

    def size(self, block: Block) -> int:
        return block[3] - block[2]

    def work(self, block: Block) -> None:
        name, severity, first, stop = block
        array = np.load(self._partial(name), mmap_mode="r+")
        start = self.plan.severities.index(severity) * len(self.images)
        array[start + first : start + stop] = _corrupted(
            self.pixels[first:stop], (name, severity), self.plan, self.images.numbers[first:stop]
        )
        array.flush()

    def note(self, block: Block) -> None:
        self.noted.add(block)
        write_json(self._notes, sorted(self.noted))
        if self.noted.issuperset(self._blocks(block[0])):
            self._partial(block[0]).replace(self.out / f"{block[0]}.npy")

    def finish(self) -> None:
        labels = np.tile(self.images.labels.numpy(), len(self.plan.severities))
        buffer = io.BytesIO()
        np.save(buffer, labels.astype(np.uint8 if labels.max(initial=0) < 256 else np.int64))
        write_atomically(self.out / "labels.npy", buffer.getvalue())
        self._notes.unlink(missing_ok=True)

    def _blocks(self, name: str) -> list[Block]:
        count = len(self.images)
        starts = range(0, count, CHUNK)
        return [(name, severity, i, min(i + CHUNK, count)) for severity in self.plan.severities for i in starts]

    @property
    def _notes(self) -> Path:
        return self.out / ".done.partial"

    def _partial(self, name: str) -> Path:
        return self.out / f".{name}.npy.partial"

    def _create(self, name: str) -> None:
        shape = (len(self.plan.severities) * len(self.images), *self.pixels.shape[1:])
        np.lib.format.open_memmap(self._partial(name), mode="w+", dtype=np.uint8, shape=shape).flush()
        if hasattr(os, "posix_fallocate"):  # a full disk shows here, and not by killing us when a page is written
            with self._partial(name).open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, self._partial(name).stat().st_size)


class Tree:
    """<corruption>/<severity>/<class>/<file>.JPEG, each file written whole. An image is opened once, for all of its
    versions."""

    def __init__(self, images: ImageSet, size: int, out: Path, plan: Plan) -> None:
        assert isinstance(images.images, FileImages)
        self.images, self.files, self.out, self.plan = images, images.images, out, plan
        self.frame = CentreFrame(size)
        self.targets = [self._target(i) for i in range(len(images))]
        if len(set(self.targets)) < len(self.targets):
            raise InputError("two images of one class have the same name but for its ending; rename one of them")

    def missing(self) -> list[int]:
        return [i for i in range(len(self.images)) if self._missing(i)]

    def size(self, i: int) -> int:
        return len(self.plan.conditions)

    def work(self, i: int) -> None:
        image = self.frame(self.files.open(i), torch.Generator())
        pixels = torch.from_numpy(np.asarray(image)[None].copy()).reshape(1, image.height, image.width, -1)
        for condition in self._missing(i):
            version = _corrupted(pixels, condition, self.plan, self.images.numbers[i : i + 1])
            write_atomically(self._path(condition, i), _jpeg(version[0]))

    def note(self, i: int) -> None:
        """The files are the note."""

    def finish(self) -> None:
        """Nothing is left to do."""

    def _missing(self, i: int) -> list[Condition]:
        return [condition for condition in self.plan.conditions if not self._path(condition, i).is_file()]

    def _path(self, condition: Condition, i: int) -> Path:
        return self.out / condition[0] / str(condition[1]) / self.targets[i]

    def _target(self, i: int) -> Path:
        stem = Path(str(self.files.items[i])).stem if isinstance(self.files.items[i], Path) else f"{i:08}"
        return Path(self.images.classes[int(self.images.labels[i])]) / f"{stem}.JPEG"


def _try(plan: Plan, pixels: Tensor) -> None:
    """Whatever a corruption has to complain of, it says before anything is written."""
    for name in plan.corruptions:
        _corrupted(pixels, (name, plan.severities[0]), plan, torch.arange(1))


def _corrupted(pixels: Tensor, condition: Condition, plan: Plan, numbers: Tensor) -> np.ndarray:
    changed = corrupt(pixels, *condition, plan.scale, plan.seed, numbers.tolist(), frost=plan.frost)
    return changed.numpy()


def _jpeg(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.save(buffer, "JPEG", quality=IMAGENET_QUALITY, optimize=True)
    return buffer.getvalue()


def _claim(out: Path, plan: Plan) -> None:
    """Make the folder this plan's, or find it so."""
    wanted: dict[str, Any] = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(plan).items()}
    if (out / PROTOCOL).is_file():
        there = read_json(out / PROTOCOL)
        changed = [key for key in wanted if there.get(key) != wanted[key]]
        if changed:
            raise InputError(
                f"{out} holds a corrupted set of another make ({changed[0]}: {there.get(changed[0])} there, "
                f"{wanted[changed[0]]} wanted); name another folder"
            )
        return
    if out.exists() and (not out.is_dir() or any(not path.name.endswith(".partial") for path in out.iterdir())):
        raise InputError(f"{out} exists and is not an empty folder; name another")
    write_json(out / PROTOCOL, wanted)
