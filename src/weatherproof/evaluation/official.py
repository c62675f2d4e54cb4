"""Official corrupted sets, read in place: CIFAR-10-C and CIFAR-100-C (.npy files), ImageNet-C (a tree of JPEGs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data import ArrayImages, FileImages, ImageSet, Loader, fingerprint
from ..data.versions import PROTOCOL
from ..errors import InputError
from ..files import read_json

Condition = tuple[str, int]
# What a set of ours says of itself, and under which name.
SAID = {"scale": "scale", "frost": "frost", "corruption_seed": "seed", "corrupted_from": "fingerprint"}
NAMED = 20  # missing files that a sentence names, of a tree that may lack millions


def official_batches(
    folder: Path, conditions: Sequence[Condition], loader: Loader
) -> Iterator[tuple[Condition, Tensor, Tensor, Tensor]]:
    """Batches of every condition: condition, images, labels, places in the loader's set.

    The set of the loader says which images are meant: all of the test set, or some. Everything that is missing is named
    at once, before the first batch is asked for.
    """
    source = (
        _Arrays(folder, conditions, loader.images) if _has_arrays(folder) else _Tree(folder, conditions, loader.images)
    )
    return _batches(source, conditions, loader)


def _batches(
    source: _Arrays | _Tree, conditions: Sequence[Condition], loader: Loader
) -> Iterator[tuple[Condition, Tensor, Tensor, Tensor]]:
    for condition in conditions:
        part = loader.of(source.images(condition))
        for batch in part.epoch():
            yield condition, batch.images, batch.labels, batch.indices


class _Arrays:
    """<corruption>.npy, uint8 (severities x N, H, W, C), one severity after the other, and labels.npy."""

    def __init__(self, folder: Path, conditions: Sequence[Condition], clean: ImageSet) -> None:
        self.clean = clean
        names = dict.fromkeys(name for name, _ in conditions)
        found = {name: _load(folder / f"{name}.npy") for name in (*names, "labels")}
        _complain_of(folder, [f"{name}.npy{array}" for name, array in found.items() if isinstance(array, str)])
        self.arrays = {name: array for name, array in found.items() if isinstance(array, np.ndarray)}
        labels = self.arrays.pop("labels")
        self.severities = _severities(folder, [severity for _, severity in conditions])
        self.count = len(labels) // len(self.severities)
        _complain_of(
            folder,
            [
                f"{len(labels):,} uint8 images in {name}.npy (found {array.dtype} of shape {array.shape})"
                for name, array in self.arrays.items()
                if array.dtype != np.uint8 or array.ndim != 4 or len(array) != len(labels)
            ],
        )
        blocks = labels[: self.count * len(self.severities)].reshape(len(self.severities), self.count)
        if len(labels) != blocks.size or (blocks != blocks[:1]).any():
            raise InputError(
                f"{folder / 'labels.npy'} holds {len(labels):,} labels that are not the same ones for each of "
                f"{len(self.severities)} severities; nothing was measured"
            )
        self._check_shapes(folder)
        numbers = clean.numbers.numpy()
        if (len(numbers) and numbers.max() >= self.count) or (
            labels[: self.count][numbers] != clean.labels.numpy()
        ).any():
            raise InputError(f"{folder} was not made from this test set: its labels differ")

    def _check_shapes(self, folder: Path) -> None:
        if not isinstance(self.clean.images, ArrayImages):
            return
        _, channels, height, width = self.clean.images.pixels.shape
        for name, array in self.arrays.items():
            if array.shape[1:] != (height, width, channels):
                raise InputError(
                    f"{folder / name}.npy holds images {array.shape[1:]}, but those of the test set are "
                    f"{(height, width, channels)}; nothing was measured"
                )

    def images(self, condition: Condition) -> ImageSet:
        name, severity = condition
        place = self.severities.index(severity)
        rows = self.arrays[name][place * self.count : (place + 1) * self.count]
        if len(self.clean) < self.count:
            rows = rows[self.clean.numbers.numpy()]
        # A view of the mapped file: a batch reads its own pages and no more.
        return replace(self.clean, images=ArrayImages(torch.from_numpy(rows).permute(0, 3, 1, 2)))


class _Tree:
    """<corruption>/<severity>/<class>/<file>, perhaps below a folder for the group; names as in the clean set."""

    def __init__(self, folder: Path, conditions: Sequence[Condition], clean: ImageSet) -> None:
        self.clean = clean
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}")
        if not isinstance(clean.images, FileImages):
            raise InputError(f"{folder} holds no .npy files, and a tree of images goes with a folder of clean images")
        self.roots = {name: _root(folder, name) for name, _ in conditions}
        _complain_of(folder, [name for name, root in self.roots.items() if root is None])
        self.paths = {condition: self._paths(condition) for condition in conditions}
        _complain_of(folder, [str(path) for paths in self.paths.values() for path in paths if _is_empty(path)])

    def _paths(self, condition: Condition) -> list[Path]:
        assert isinstance(self.clean.images, FileImages)
        root = self.roots[condition[0]]
        found = []
        for label, item in zip(self.clean.labels.tolist(), self.clean.images.items, strict=True):
            folder = Path(str(root), str(condition[1]), self.clean.classes[label])
            same = folder / Path(str(item)).name
            found.append(same if same.is_file() else same.with_suffix(".JPEG"))
        return found

    def images(self, condition: Condition) -> ImageSet:
        return replace(self.clean, images=FileImages(self.paths[condition], self.clean.images.channels))


def _is_empty(path: Path) -> bool:
    return not path.is_file() or path.stat().st_size == 0


def made_with(folder: Path) -> dict[str, Any]:
    """What a set that `weatherproof corrupt` wrote says of itself: scale, frost, corruption_seed, and the fingerprint
    of the images that it was made from; else nothing."""
    if not (folder / PROTOCOL).is_file():
        return {}
    plan = read_json(folder / PROTOCOL)
    found = {ours: plan.get(theirs) for ours, theirs in SAID.items()}
    return {key: value for key, value in found.items() if value is not None}


def refuse_other_images(folder: Path, images: ImageSet) -> None:
    """A .npy set of ours holds images by number alone: `images`, a whole split, must be those that it was made from."""
    made_from = made_with(folder).get("corrupted_from")
    if made_from and isinstance(images.images, ArrayImages) and made_from != fingerprint(images):
        split = read_json(folder / PROTOCOL).get("split")
        raise InputError(f"{folder} was not made from these images, but from split {split} of its set, or other data")


def _severities(folder: Path, wanted: list[int]) -> list[int]:
    """The severities in a .npy file, in order: all five, unless the folder is one of ours and says otherwise."""
    known = [1, 2, 3, 4, 5]
    if (folder / PROTOCOL).is_file():
        known = list(read_json(folder / PROTOCOL).get("severities", known))
    missing = sorted(set(wanted) - set(known))
    if missing:
        raise InputError(f"{folder} lacks severity {missing[0]}; nothing was measured")
    return known


def _has_arrays(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("*.npy"))


def _root(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, *folder.glob(f"*/{name}")) if path.is_dir()), None)


def _load(file: Path) -> np.ndarray | str:
    """The mapped array, or in words why there is none."""
    if not file.is_file():
        return ""
    try:
        # Mode "c", a private mapping, since torch refuses memory that may not be written; the file stays as it is.
        array: np.ndarray = np.load(file, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        return f" (truncated, or not a .npy file: {error})"
    return array


def _complain_of(folder: Path, missing: list[str]) -> None:
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        raise InputError(f"{folder} lacks {', '.join(missing[:NAMED])}{more}; nothing was measured")
