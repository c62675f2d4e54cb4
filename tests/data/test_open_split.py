"""A part of a data set, for work that is no training: which one, in which order, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numbered import MakeFolder, MakeNpz, numbered_image
from test_hub import Rows, stand_in

from weatherproof import InputError
from weatherproof.data import FileImages, Loader, Split, fingerprint, open_data, open_split


def numbers(part: Split) -> list[int]:
    """The numbers that the images carry in their first pixel."""
    found = [int(n) for batch in Loader(part.images, 7, part.size).epoch() for n in batch.images[:, 0, 0, 0]]
    assert part.images.numbers.tolist() == list(range(len(found)))
    return found


FLAT: dict[str, Any] = dict.fromkeys(("x_train", "y_train", "x_test", "y_test"))
FLAT |= {"images": np.stack([numbered_image(n) for n in range(30)]), "labels": np.arange(30) % 3}
ONLY_TEST: dict[str, Any] = {"x_train": None, "y_train": None}
VALIDATION: dict[str, Any] = {"x_val": np.stack([numbered_image(n) for n in (90, 91)]), "y_val": np.array([2, 0])}

# What a .npz holds, the split that is asked for; the split and the images that come, and what is left out.
CASES: dict[str, tuple[dict[str, Any], str | None, tuple[str, list[int], dict[str, int]]]] = {
    "a test split is the default": ({}, None, ("test", list(range(24, 36)), {"train": 24})),
    "all, train first": ({}, "all", ("all", list(range(36)), {})),
    "all three": (VALIDATION, "all", ("all", [*range(24), 90, 91, *range(24, 36)], {})),
    "one of three": (VALIDATION, "validation", ("validation", [90, 91], {"train": 24, "test": 12})),
    "flat data as a whole, in their own order": (FLAT, None, ("all", list(range(30)), {})),
    "nothing but a test split": (ONLY_TEST, None, ("test", list(range(24, 36)), {})),
    "nothing but a test split, as a whole": (ONLY_TEST, "all", ("all", list(range(24, 36)), {})),
    "nothing but a train split": ({"x_test": None, "y_test": None}, None, ("all", list(range(24)), {})),
}


@pytest.mark.parametrize("case", CASES)
def test_which_images_of_an_npz(case: str, make_npz: MakeNpz, tmp_path: Path) -> None:
    arrays, split, expected = CASES[case]
    part = open_split(make_npz(tmp_path / "a.npz", **arrays), split)
    assert (part.name, numbers(part), part.left_out) == expected
    assert (part.size, part.images.images.channels) == (12, 3)


def test_splits_that_are_asked_for_are_those_of_training(make_npz: MakeNpz, tmp_path: Path) -> None:
    file = make_npz(tmp_path / "a.npz", **FLAT)
    data = open_data(file)
    for name in ("train", "test"):
        part = open_split(file, name)
        assert fingerprint(part.images) == fingerprint(data.split(name))
        assert part.left_out == {"test" if name == "train" else "train": 30 - len(part.images)}


def test_a_plain_folder_as_a_whole(make_folder: MakeFolder, tmp_path: Path) -> None:
    part = open_split(make_folder(tmp_path, {"ant": 3, "bee": 4}))
    assert (part.name, numbers(part), part.images.labels.tolist()) == ("all", list(range(7)), [0] * 3 + [1] * 4)


@pytest.mark.parametrize("place", ["test", "val"])
def test_a_folder_with_nothing_but_tests(place: str, make_folder: MakeFolder, tmp_path: Path) -> None:
    make_folder(tmp_path / place, {"ant": 1, "bee": 1})
    part = open_split(tmp_path)
    assert (part.name, numbers(part), part.left_out) == ("test", [0, 1], {})


def test_all_of_a_set_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its splits are opened each in its own way."""
    stand_in(monkeypatch, {name: Rows(first, [0, 1] * 3) for name, first in (("train", 0), ("test", 20))})
    part = open_split("hf:mine", "all")
    assert isinstance(part.images.images, FileImages)
    assert numbers(part) == [*range(6), *range(20, 26)] and part.images.labels.tolist() == [0, 1] * 6
    batches = list(Loader(part.images, 5, 12, workers=1).epoch())
    assert torch.cat([batch.images for batch in batches])[:, 0, 0, 0].tolist() == numbers(part)


@pytest.mark.parametrize(
    ("arrays", "split", "sentence"),
    [
        ({}, "tset", "has no split 'tset'; did you mean 'test'?"),
        ({}, "validation", "has no split 'validation'; known: all, test, train"),
        (ONLY_TEST, "train", "has no split 'train'; known: all, test"),
        ({"x_test": np.zeros((12, 4, 4, 3), np.uint8)}, "all", "the splits differ in their images"),
        ({**ONLY_TEST, "y_test": np.arange(11)}, None, "y_test: got 11 labels for 12 images"),
    ],
)
def test_what_is_refused(
    arrays: dict[str, Any], split: str | None, sentence: str, make_npz: MakeNpz, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        open_split(make_npz(tmp_path / "a.npz", **arrays), split)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (None, "10 images of DATA, split test, brought to 224x224 pixels; left out: 5 of split train (split all is"),
        (48, "10 images of DATA, split test, brought to 48x48 pixels;"),
    ],
)
def test_words_for_people(size: int | None, words: str, make_folder: MakeFolder, tmp_path: Path) -> None:
    make_folder(tmp_path / "train", {"ant": 2, "bee": 3}, (70, 60))
    make_folder(tmp_path / "test", {"ant": 4, "bee": 6}, (70, 60))
    assert open_split(tmp_path, size=size).words("brought to").startswith(words.replace("DATA", str(tmp_path)))
