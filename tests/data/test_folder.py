"""Folders of images, with and without splits."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numbered import MakeFolder
from PIL import Image

from weatherproof.data import FileImages, ImageSet, Loader, folder, open_data
from weatherproof.data.folder import STANDARD, common_size
from weatherproof.data.splits import for_training
from weatherproof.errors import InputError

CLASSES = {"ant": 10, "bee": 5, "cat": 15}


def read_folder(root: Path, channels: int) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    return for_training(folder.read_folder(root, channels), str(root))


def numbers(images: ImageSet | None) -> list[int]:
    """The number that each image carries in its first pixel, which also is its file's name."""
    assert images is not None and isinstance(images.images, FileImages)
    found = [int(np.asarray(images.images.open(i))[0, 0, 0]) for i in range(len(images))]
    assert found == [int(Path(str(item)).stem) for item in images.images.items]
    return found


def names(images: ImageSet | None) -> list[str]:
    assert images is not None
    return [images.classes[label] for label in images.labels.tolist()]


@pytest.mark.parametrize(
    ("folders", "roles"),
    [
        (["train", "val", "test"], ["train", "val", "test"]),
        (["training", "validation", "test"], ["training", "validation", "test"]),
        (["train", "valid"], ["train", None, "valid"]),
        (["train", "test"], ["train", None, "test"]),
    ],
)
def test_splits(make_folder: MakeFolder, tmp_path: Path, folders: list[str], roles: Sequence[str | None]) -> None:
    counts = {"ant": 3, "bee": 2}
    expected = {}
    for i, name in enumerate(folders):
        make_folder(tmp_path / name, counts, first=50 * i)
        expected[name] = list(range(50 * i, 50 * i + 5))
    splits = read_folder(tmp_path, 3)
    for split, role in zip(splits, roles, strict=True):
        if role is None:
            assert split is None
        else:
            assert numbers(split) == expected[role]
            assert names(split) == ["ant"] * 3 + ["bee"] * 2


@pytest.mark.parametrize("below", ["", "train"])
def test_without_splits_a_fifth_of_every_class_is_for_testing(
    make_folder: MakeFolder, tmp_path: Path, below: str
) -> None:
    make_folder(tmp_path / below, CLASSES)
    train, validation, test = read_folder(tmp_path, 3)
    assert validation is None
    assert [names(test).count(name) for name in CLASSES] == [2, 1, 3]
    assert sorted(numbers(train) + numbers(test)) == list(range(30))
    for part in (train, test):
        assert names(part) == ["ant" if n < 10 else "bee" if n < 15 else "cat" for n in numbers(part)]
    assert numbers(read_folder(tmp_path, 3)[2]) == numbers(test)


def test_the_split_does_not_depend_on_the_seed(make_folder: MakeFolder, tmp_path: Path) -> None:
    make_folder(tmp_path, CLASSES)
    assert numbers(open_data(str(tmp_path), seed=1).test) == numbers(open_data(str(tmp_path), seed=2).test)


@pytest.mark.parametrize("count", [2, 3, 40])
def test_any_number_of_classes(make_folder: MakeFolder, tmp_path: Path, count: int) -> None:
    make_folder(tmp_path, {f"class {i:02}": 2 for i in range(count)})
    data = open_data(str(tmp_path))
    assert len(data.classes) == count
    assert sorted(set(data.train.labels.tolist())) == sorted(set(data.test.labels.tolist())) == list(range(count))


def test_images_below_the_class_folders_and_what_is_left_out(make_folder: MakeFolder, tmp_path: Path) -> None:
    make_folder(tmp_path, {"ant": 2, "bee": 2})
    (tmp_path / "ant" / "more").mkdir()
    (tmp_path / "ant" / "000.png").rename(tmp_path / "ant" / "more" / "000.PNG")
    (tmp_path / "bee" / "notes.txt").write_text("no image")
    (tmp_path / "bee" / "._002.png").write_text("what a Mac leaves beside 002.png")
    (tmp_path / ".cache").mkdir()
    (tmp_path / "README.md").write_text("no class")
    train, _, test = read_folder(tmp_path, 3)
    assert sorted(numbers(train) + numbers(test)) == [0, 1, 2, 3] and train.classes == ("ant", "bee")


def empty_class(root: Path) -> None:
    for image in (root / "bee").iterdir():
        image.unlink()


def only_one_class(root: Path) -> None:
    (root / "bee").rename(root.parent / "elsewhere")


def only_tests(root: Path) -> None:
    for place in ("test", "val"):
        for name in ("ant", "bee"):
            shutil.copytree(root / name, root / place / name)
    for name in ("ant", "bee"):
        shutil.rmtree(root / name)


def another_class(root: Path) -> None:
    for split in ("train", "test"):
        (root / split).mkdir()
        (root / split / "ant").mkdir()
        (root / split / "ant" / "0.png").write_bytes((root / "ant" / "000.png").read_bytes())
    (root / "ant").rename(root / "train" / "cow")
    (root / "bee").rename(root / "test" / "dog")


def one_image(root: Path) -> None:
    for image in sorted((root / "bee").iterdir())[1:]:
        image.unlink()


def flat(root: Path) -> None:
    (root / "train").mkdir()
    for image in sorted((root / "ant").iterdir()):
        image.rename(root / "train" / image.name)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (empty_class, "class folder {root}/bee holds no images (.bmp, .gif,"),
        (only_one_class, "{root} has 1 class folders; a classifier needs at least 2, one per class"),
        (only_tests, "{root} has validation and test images but none to train on"),
        (another_class, "{root}: test and train differ in their classes: test lacks cow and has dog besides"),
        (one_image, "{root}: class 'bee' has 1 image(s); it needs at least 2, one to train on and one to test on"),
        (flat, "{root}/train has 0 class folders"),
    ],
)
def test_folders_that_do_not_fit(
    make_folder: MakeFolder, tmp_path: Path, spoil: Callable[[Path], None], sentence: str
) -> None:
    root = make_folder(tmp_path / "root", {"ant": 3, "bee": 3})
    spoil(root)
    with pytest.raises(InputError) as caught:
        read_folder(root, 3)
    assert str(caught.value).startswith(sentence.format(root=root))


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        read_folder(tmp_path / "nowhere", 3)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_file_is_named_through_workers_too(make_folder: MakeFolder, tmp_path: Path, workers: int) -> None:
    make_folder(tmp_path, {"ant": 10, "bee": 10})
    broken = tmp_path / "bee" / "013.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(broken)
    broken.write_bytes(broken.read_bytes()[:400])
    train, _, test = read_folder(tmp_path, 3)
    with pytest.raises(InputError) as caught:
        for part in (train, test):
            list(Loader(part, 4, 12, workers=workers).epoch())
    assert str(caught.value).startswith(f"{broken} is not a readable image (")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("channels", [1, 3])
def test_channels(make_folder: MakeFolder, tmp_path: Path, channels: int) -> None:
    make_folder(tmp_path, {"ant": 3, "bee": 3})
    data = open_data(str(tmp_path), channels=channels)
    assert data.channels == channels == len(data.mean) == len(data.std)
    assert next(Loader(data.train, 2, 12).epoch()).images.shape == (2, channels, 12, 12)


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([(32, 32)], 32),
        ([(256, 256)], 256),
        ([(257, 257)], STANDARD),
        ([(32, 24)], STANDARD),
        ([(32, 32), (33, 33)], STANDARD),
        ([(64, 64)] * 200, 64),
    ],
)
def test_common_size(sizes: list[tuple[int, int]], found: int) -> None:
    images = FileImages(sizes, 3, lambda size: Image.new("RGB", size))  # type: ignore[arg-type]
    assert common_size(images) == found


def test_wishes_for_a_size(make_folder: MakeFolder, tmp_path: Path) -> None:
    make_folder(tmp_path, {"ant": 3, "bee": 3}, size=(20, 12))
    assert open_data(str(tmp_path)).size == STANDARD
    assert open_data(str(tmp_path), opened_size=96).size == 96
    assert open_data(str(tmp_path), size=8, opened_size=96).size == 8
