"""Hugging Face data sets: saved to disk by the library where it is installed, and by a stand-in for it; no network."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numbered import numbered_image
from PIL import Image

from weatherproof.data import ImageSet, Loader, hub, open_data
from weatherproof.data.splits import for_training
from weatherproof.errors import InputError


def read_hub(name: str, data_dir: Path | None, channels: int) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    return for_training(hub.read_hub(name, data_dir, channels), f"hf:{name}")


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"^hf:mnist needs the library: pip install 'weatherproof\[datasets\]'$"):
        read_hub("mnist", None, 3)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A data set with a train and a test split, saved to disk."""
    datasets = pytest.importorskip("datasets")

    def split(first: int, count: int) -> Any:
        images = [Image.fromarray(numbered_image(first + i)) for i in range(count)]
        content = {"picture": images, "kind": [i % 2 for i in range(count)]}
        features = datasets.Features({"picture": datasets.Image(), "kind": datasets.ClassLabel(names=["cat", "dog"])})
        return datasets.Dataset.from_dict(content, features=features)

    datasets.DatasetDict({"train": split(0, 10), "test": split(10, 4)}).save_to_disk(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.mark.parametrize("workers", [0, 1])
def test_a_set_saved_to_disk(saved: Path, workers: int) -> None:
    data = open_data(f"hf:{saved}")
    assert data.classes == ("cat", "dog") and (len(data.train), len(data.test)) == (10, 4) and data.size == 12
    batch = next(Loader(data.test, 4, 12, workers=workers).epoch())
    assert batch.labels.tolist() == [0, 1, 0, 1]
    expected = np.stack([numbered_image(n) for n in range(10, 14)]).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(batch.images.numpy(), expected)


def test_no_such_set(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="cannot load hf:"):
        read_hub(str(tmp_path / "empty"), None, 3)


class Picture:
    """A stand-in for the library's feature type; only its name counts."""


Picture.__name__ = "Image"


class ClassLabel:
    """The same for labels."""

    def __init__(self, names: list[str]) -> None:
        self.names = names


class Rows:
    """One split as the library gives it: columns by name, rows by number."""

    def __init__(self, first: int, labels: list[int], **features: Any) -> None:
        self.first, self.labels = first, labels
        self.features = features or {"picture": Picture(), "id": object(), "kind": ClassLabel(["cat", "dog"])}

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, str):
            return {"kind": self.labels}[key]
        if self.first + key == 99:
            raise OSError("truncated")
        return {"picture": Image.fromarray(numbered_image(self.first + key)), "kind": self.labels[key]}


def stand_in(monkeypatch: pytest.MonkeyPatch, splits: dict[str, Rows]) -> list[Any]:
    """Puts a library in place that holds these splits, and notes how it was asked for them."""
    asked: list[Any] = []
    library = ModuleType("datasets")

    def load_dataset(path: str, config: str | None, cache_dir: str | None) -> dict[str, Rows]:
        asked.append((path, config, cache_dir))
        return splits

    library.load_dataset = load_dataset  # type: ignore[attr-defined]
    library.load_from_disk = lambda path: asked.append(path) or splits  # type: ignore[attr-defined, func-returns-value]
    monkeypatch.setitem(sys.modules, "datasets", library)
    return asked


@pytest.mark.parametrize(
    ("names", "validation", "test"),
    [
        (["train", "test"], None, 20),
        (["train", "validation", "test"], 20, 40),
        (["train", "valid"], None, 20),
        (["train", "val", "extra"], None, 20),
    ],
)
def test_splits(monkeypatch: pytest.MonkeyPatch, names: list[str], validation: int | None, test: int) -> None:
    stand_in(monkeypatch, {name: Rows(20 * i, [0, 1] * 5) for i, name in enumerate(names)})
    parts = read_hub("mine", None, 3)
    firsts = [
        None if part is None else int(next(Loader(part, 1, 12).epoch()).images[0, 0, 0, 0])  # the image's number
        for part in parts
    ]
    assert firsts == [0, validation, test]
    assert all(part.labels.tolist() == [0, 1] * 5 and part.classes == ("cat", "dog") for part in parts if part)


def test_without_other_splits_a_fifth_is_for_testing(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"train": Rows(0, [0, 1] * 5)})
    train, validation, test = read_hub("mine", None, 3)
    assert validation is None and (len(train), test.labels.tolist()) == (8, [0, 1])


@pytest.mark.parametrize(
    ("name", "asked"),
    [("mnist", ("mnist", None, "cache")), ("org/set:small", ("org/set", "small", "cache")), (".", ".")],
)
def test_how_the_library_is_asked(monkeypatch: pytest.MonkeyPatch, name: str, asked: Any) -> None:
    calls = stand_in(monkeypatch, {"train": Rows(0, [0, 1] * 5)})
    read_hub(name, Path("cache"), 3)
    assert calls == [asked]


@pytest.mark.parametrize(
    ("splits", "sentence"),
    [
        ({"test": Rows(0, [0])}, "hf:mine has test images but none to train on"),
        ({"train": Rows(0, [0], text=object())}, "hf:mine has the columns {'text': 'object'}; wanted one of images"),
        (
            {"train": Rows(0, [0], picture=Picture())},
            "hf:mine has the columns {'picture': 'Image'}; wanted one of images",
        ),
    ],
)
def test_sets_that_do_not_fit(monkeypatch: pytest.MonkeyPatch, splits: dict[str, Rows], sentence: str) -> None:
    stand_in(monkeypatch, splits)
    with pytest.raises(InputError) as caught:
        read_hub("mine", None, 3)
    assert str(caught.value).startswith(sentence)


def test_a_broken_row_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {"train": Rows(90, [0, 1] * 5), "test": Rows(0, [0, 1])})
    train, _, _ = read_hub("mine", None, 3)
    with pytest.raises(InputError, match=r"^row 9 of the data set is not a readable image \(truncated\)$"):
        list(Loader(train, 4, 12).epoch())


def test_what_the_library_raises_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, {})

    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", unreachable)
    with pytest.raises(InputError, match=r"^cannot load hf:mnist: no network$"):
        read_hub("mnist", None, 3)
