"""From a word on the command line to a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numbered import MakeFolder, MakeNpz
from PIL import Image

from weatherproof.data import ArrayImages, Data, open_data
from weatherproof.errors import InputError


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, and no data sets elsewhere."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("WEATHERPROOF_DATA", raising=False)


def pixels(data: Data) -> torch.Tensor:
    assert isinstance(data.train.images, ArrayImages)
    return data.train.images.pixels


@pytest.mark.parametrize("home", ["the working folder", "data_dir", "the environment", "a path"])
@pytest.mark.parametrize("kind", ["folder", "npz"])
def test_where_a_set_may_lie(
    home: str, kind: str, make_folder: MakeFolder, make_npz: MakeNpz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "here" if home == "the working folder" else tmp_path
    name = "mine.npz" if kind == "npz" else "mine"
    if kind == "npz":
        make_npz(root / name)
    else:
        make_folder(root / name, {"ant": 3, "bee": 3})
    if home == "the environment":
        monkeypatch.setenv("WEATHERPROOF_DATA", str(root))
    data_dir = root if home == "data_dir" else None
    data = open_data(str(root / name) if home == "a path" else name, data_dir)
    assert len(data.classes) == (3 if kind == "npz" else 2)
    if home == "a path":
        assert open_data(root / name).name == data.name  # a Path is as good as its text


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("cifra10", "there is no data set, folder or .npz file 'cifra10'; did you mean 'cifar10'?"),
        ("zzzzzz", "there is no data set, folder or .npz file 'zzzzzz'; known: cifar10, cifar100, imagenet, photos10"),
        ("some/folder", "there is no data set, folder or .npz file 'some/folder'"),
        ("file.npz", "there is no data set, folder or .npz file 'file.npz'"),
        ("imagenet", "imagenet is not here; put the official train/ and val/, one folder per class, into"),
    ],
)
def test_words_that_name_nothing(source: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        open_data(source)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"channels": 2}, "images have 1 or 3 channels; got 2"),
        ({"size": 24}, "a.npz: images in memory keep their size of 12; got a wish for 24"),
        ({"size": 0}, "images are at least 1 pixel wide; got a wish for 0"),
        ({"subset": 2}, "a.npz: a subset must have from 3 images, one of each class, to 24; got 2"),
        ({"subset": 25}, "a.npz: a subset must have from 3 images, one of each class, to 24; got 25"),
        ({"holdout": 24}, "cannot hold out 24 of 24 training images"),
        ({"holdout": -1}, "cannot hold out -1 of 24 training images"),
        ({"holdout": 0.01}, "cannot hold out 0.01 of 24 training images"),
        ({"holdout": 10, "subset": 15}, "a.npz: a subset must have from 3 images, one of each class, to 14; got 15"),
    ],
)
def test_options_that_do_not_fit(make_npz: MakeNpz, options: dict[str, Any], sentence: str) -> None:
    make_npz(Path("a.npz"))
    with pytest.raises(InputError) as caught:
        open_data("a.npz", **options)
    assert str(caught.value).startswith(sentence)


def test_holdout_and_subset(make_npz: MakeNpz) -> None:
    make_npz(Path("a.npz"))

    def parts(**options: Any) -> list[list[int]]:
        data = open_data("a.npz", **options)
        kept = [data.train.images, *([data.validation.images] if data.validation else []), data.test.images]
        return [part.pixels[:, 0, 0, 0].tolist() for part in kept if isinstance(part, ArrayImages)]

    train, validation, test = parts(holdout=0.25)
    assert sorted(train + validation) == list(range(24)) and len(validation) == 6 and test == list(range(24, 36))
    assert parts(holdout=6) == [train, validation, test] != parts(holdout=6, seed=1)
    assert [[n % 3 for n in validation].count(label) for label in range(3)] == [2, 2, 2]
    some, held, _ = parts(holdout=6, subset=9)
    assert held == validation and len(some) == 9 and set(some) < set(train)
    assert [[n % 3 for n in some].count(label) for label in range(3)] == [3, 3, 3]
    assert parts(subset=24) == [list(range(24)), test]


def test_a_validation_split_of_its_own_is_kept(make_npz: MakeNpz) -> None:
    make_npz(Path("a.npz"), x_val=np.zeros((3, 12, 12, 3), np.uint8), y_val=np.arange(3))
    data = open_data("a.npz", holdout=6)
    assert data.validation is not None and len(data.validation) == 3 and len(data.train) == 24


@pytest.mark.parametrize("channels", [1, 3])
def test_statistics_are_those_of_the_training_images(make_npz: MakeNpz, channels: int) -> None:
    make_npz(Path("a.npz"), x_test=np.zeros((12, 12, 12, 3), np.uint8))
    data = open_data("a.npz", channels=channels)
    values = pixels(data).double() / 255
    assert data.channels == channels
    assert data.mean == pytest.approx(values.mean(dim=(0, 2, 3)).tolist(), abs=5e-5)
    assert data.std == pytest.approx(values.std(dim=(0, 2, 3), correction=0).tolist(), abs=5e-5)


def test_statistics_of_files_are_of_what_the_network_sees(make_folder: MakeFolder) -> None:
    make_folder(Path("mine"), {"ant": 4, "bee": 4}, size=(40, 30))
    data = open_data("mine", size=16)
    with_workers = open_data("mine", size=16, workers=1)
    assert data.size == 16 and (data.mean, data.std) == (with_workers.mean, with_workers.std)
    assert all(0.4 < mean < 0.6 for mean in data.mean)
    assert all(0.05 < std < 0.2 for std in data.std)  # noise that was resized varies less than its 0.29


def test_a_constant_channel_does_not_divide_by_zero(make_npz: MakeNpz) -> None:
    images = np.random.default_rng(0).integers(0, 256, (24, 12, 12, 3), dtype=np.uint8)
    images[..., 1] = 51
    make_npz(Path("a.npz"), x_train=images)
    data = open_data("a.npz")
    assert data.mean[1] == 0.2 and data.std[1] == 1e-4


def test_grey_is_what_pillow_makes_of_colours(make_npz: MakeNpz) -> None:
    images = np.random.default_rng(0).integers(0, 256, (24, 12, 12, 3), dtype=np.uint8)
    make_npz(Path("a.npz"), x_train=images, x_val=images[:2], y_val=np.arange(2))
    data = open_data("a.npz", channels=1)
    expected = np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in images])
    np.testing.assert_array_equal(pixels(data)[:, 0].numpy(), expected)
    assert data.validation is not None
    assert {part.images.channels for part in (data.train, data.validation, data.test)} == {1}


@pytest.mark.parametrize("channels", [1, 3])
def test_grey_arrays_stay_grey(make_npz: MakeNpz, channels: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (24, 12, 12), dtype=np.uint8)
    make_npz(Path("a.npz"), x_train=images, x_test=images[:12])
    data = open_data("a.npz", channels=channels)
    np.testing.assert_array_equal(pixels(data)[:, 0].numpy(), images)
    assert data.channels == 1 == len(data.mean)


def test_photos10_by_name() -> None:
    data = open_data("photos10", channels=1, subset=50)
    assert (len(data.train), len(data.test), len(data.classes), data.size, data.channels) == (50, 1000, 10, 32, 1)
    assert torch.bincount(data.train.labels).tolist() == [5] * 10


def test_a_folder_of_real_photographs(real_data: Path) -> None:
    root = real_data / "tiny-imagenet-20"
    if not root.is_dir():
        pytest.skip("$WEATHERPROOF_DATA holds no tiny-imagenet-20")
    data = open_data("tiny-imagenet-20", real_data, subset=100)
    assert len(data.classes) == 20 and data.size == 64 and len(data.train) == 100
    assert all(0.3 < mean < 0.6 for mean in data.mean) and all(0.15 < std < 0.35 for std in data.std)
