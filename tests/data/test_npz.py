"""Arrays in a .npz file, in the shapes that people have them in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numbered import MakeNpz, numbered_image

from weatherproof.data import ArrayImages, ImageSet, npz, open_data
from weatherproof.data.splits import for_training
from weatherproof.errors import InputError


def read_npz(file: Path) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    return for_training(npz.read_npz(file), str(file))


def numbers(images: ImageSet | None) -> list[int]:
    assert images is not None and isinstance(images.images, ArrayImages)
    return [int(number) for number in images.images.pixels[:, 0, 0, 0]]


def test_train_and_test(make_npz: MakeNpz, tmp_path: Path) -> None:
    train, validation, test = read_npz(make_npz(tmp_path / "a.npz"))
    assert validation is None and train.classes == test.classes == ("0", "1", "2")
    assert numbers(train) == list(range(24)) and numbers(test) == list(range(24, 36))
    assert train.labels.tolist() == [i % 3 for i in range(24)] and train.labels.dtype == torch.int64
    assert isinstance(train.images, ArrayImages)
    np.testing.assert_array_equal(train.images.pixels[5].permute(1, 2, 0), numbered_image(5))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.int64, ">i4"])
@pytest.mark.parametrize("column", [False, True])
def test_labels_of_any_width_and_in_a_column(make_npz: MakeNpz, tmp_path: Path, dtype: Any, column: bool) -> None:
    """Keras has uint8 labels in a column."""
    labels = (np.arange(24) % 3).astype(dtype)
    train, _, _ = read_npz(make_npz(tmp_path / "a.npz", y_train=labels[:, None] if column else labels))
    assert train.labels.tolist() == [i % 3 for i in range(24)] and train.classes == ("0", "1", "2")


@pytest.mark.parametrize("axis", [False, True])
def test_grey_images_with_and_without_a_channel_axis(make_npz: MakeNpz, tmp_path: Path, axis: bool) -> None:
    images = {f"x_{split}": np.full((n, 8, 8), n, np.uint8) for split, n in (("train", 24), ("test", 12))}
    file = make_npz(tmp_path / "a.npz", **{name: x[..., None] if axis else x for name, x in images.items()})
    train, _, _ = read_npz(file)
    assert isinstance(train.images, ArrayImages)
    assert train.images.pixels.shape == (24, 1, 8, 8) and train.images.channels == 1 and train.images.pixels.max() == 24


def test_a_validation_split(make_npz: MakeNpz, tmp_path: Path) -> None:
    images = np.stack([numbered_image(n) for n in (90, 91)])
    _, validation, _ = read_npz(make_npz(tmp_path / "a.npz", x_val=images, y_val=np.array([2, 0])))
    assert numbers(validation) == [90, 91] and validation is not None and validation.labels.tolist() == [2, 0]


@pytest.mark.parametrize("renamed", [False, True])
def test_without_test_arrays_a_fifth_is_for_testing(make_npz: MakeNpz, tmp_path: Path, renamed: bool) -> None:
    images, labels = np.stack([numbered_image(n) for n in range(30)]), np.arange(30) % 3
    if renamed:
        file = tmp_path / "a.npz"
        np.savez(file, images=images, labels=labels)
    else:
        file = make_npz(tmp_path / "a.npz", x_train=images, y_train=labels, x_test=None, y_test=None)
    train, validation, test = read_npz(file)
    assert validation is None and torch.bincount(test.labels).tolist() == [2, 2, 2]
    assert sorted(numbers(train) + numbers(test)) == list(range(30))
    assert [n % 3 for n in numbers(test)] == test.labels.tolist()


def test_class_names(make_npz: MakeNpz, tmp_path: Path) -> None:
    file = make_npz(tmp_path / "a.npz", class_names=np.array(["cat", "dog", "007", "none of it"]))
    assert read_npz(file)[0].classes == ("cat", "dog", "007", "none of it")


ZEROS = np.zeros((24, 8, 8, 3), np.uint8)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "floats": ({"x_train": ZEROS / 1}, "x_train is float64 of shape (24, 8, 8, 3); wanted uint8 NHWC (or NHW, grey)"),
    "NCHW": ({"x_train": ZEROS.transpose(0, 3, 1, 2)}, "x_train is uint8 of shape (24, 3, 8, 8)"),
    "one image": ({"x_train": ZEROS[0, 0]}, "x_train is uint8 of shape (8, 3)"),
    "test floats": ({"x_test": ZEROS[:12] / 1}, "x_test is float64"),
    "float labels": ({"y_train": np.arange(24) / 2}, "the labels are float64; wanted integers from 0 on"),
    "labels in words": ({"y_train": np.array(["cat"] * 24)}, "the labels are <U3"),
    "one-hot": (
        {"y_train": np.eye(24, dtype=int)},
        "y_train: got int64 of shape (24, 24); wanted a vector of integers",
    ),
    "one-hot of two": ({"y_train": np.ones((24, 2), int)}, "y_train: got int64 of shape (24, 2)"),
    "too few labels": ({"y_train": np.arange(23) % 3}, "y_train: got 23 labels for 24 images"),
    "negative labels": ({"y_train": np.arange(24) % 3 - 1}, "y_train: label -1 is out of range"),
    "a huge label": ({"y_train": np.arange(24) * 10**9}, "label 23000000000 is out of range"),
    "a test label beyond": ({"y_test": np.arange(12) % 4}, "y_test: label 3 is out of range for 3 classes (0..2)"),
    "fewer names": ({"class_names": np.array(["a", "b"])}, "y_train: label 2 is out of range for 2 classes (0..1)"),
    "a name twice": ({"class_names": np.array(["a", "b", "a"])}, "class_names holds a name twice: a, b, a"),
    "no images to divide": (
        {"x_train": ZEROS[:0], "y_train": np.zeros(0, int), "x_test": None, "y_test": None},
        "holds no images",
    ),
    "no labels": ({"y_train": None}, "has x_train but no y_train; wanted x_train, y_train,"),
    "no test labels": ({"y_test": None}, "has x_test but no y_test"),
    "no training images": ({"x_train": None}, "has test images but none to train on"),
    "nothing": (dict.fromkeys(("x_train", "y_train", "x_test", "y_test")), "holds nothing; wanted x_train"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_arrays_that_do_not_fit(make_npz: MakeNpz, tmp_path: Path, case: str) -> None:
    changes, sentence = REFUSED[case]
    with pytest.raises(InputError) as caught:
        read_npz(make_npz(tmp_path / "a.npz", **changes))
    assert str(caught.value).startswith(str(tmp_path / "a.npz")) and sentence in str(caught.value)


CHECKED_WHEN_OPENED: dict[str, tuple[dict[str, Any], str]] = {
    "one class": ({"y_train": np.zeros(24, int), "y_test": np.zeros(12, int)}, "training images of one class only"),
    "no images": (
        {"x_train": ZEROS[:0], "y_train": np.zeros(0, int), "class_names": np.array(["a", "b", "c"])},
        "a split without images",
    ),
    "no test images": ({"x_test": ZEROS[:0], "y_test": np.zeros(0, int)}, "a split without images"),
    "grey test images": ({"x_test": ZEROS[:12, ..., :1]}, "the splits differ in their channels: 3 and 1"),
    "smaller test images": ({"x_test": ZEROS[:12, :4, :4]}, "the splits differ in their images: (12, 12) and (4, 4)"),
    "an empty class": ({"y_train": np.arange(24) % 2 * 2}, "a.npz: class '1' has no training images"),
    "wide": ({"x_train": ZEROS[:, :4], "x_test": ZEROS[:12, :4]}, "images in memory must be square; got 4x8"),
}


@pytest.mark.parametrize("case", CHECKED_WHEN_OPENED)
def test_sets_that_do_not_fit(make_npz: MakeNpz, tmp_path: Path, case: str) -> None:
    changes, sentence = CHECKED_WHEN_OPENED[case]
    with pytest.raises(InputError, match=r"a\.npz") as caught:
        open_data(str(make_npz(tmp_path / "a.npz", **changes)))
    assert sentence in str(caught.value)


class Trap:
    """Unpickled, it raises."""

    def __reduce__(self) -> Any:
        return exec, ("raise AssertionError('the pickle was run')",)


@pytest.mark.parametrize("name", ["x_train", "y_train", "class_names", "unused"])
def test_arrays_of_objects_are_refused_and_not_unpickled(make_npz: MakeNpz, tmp_path: Path, name: str) -> None:
    file = make_npz(tmp_path / "a.npz", **{name: np.array([Trap()] * 24, dtype=object)})
    with pytest.raises(InputError, match=r"a\.npz is truncated, or not a \.npz of plain arrays \(Object arrays cannot"):
        read_npz(file)


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("compressed", [False, True])
def test_truncated_files(tmp_path: Path, share: float, compressed: bool) -> None:
    file = tmp_path / "a.npz"
    images = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    (np.savez_compressed if compressed else np.savez)(file, images=images, labels=np.arange(20) % 2)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"a\.npz is truncated, or not a \.npz of plain arrays"):
        read_npz(file)


@pytest.mark.parametrize("compressed", [False, True])
def test_changed_bytes_are_noticed_or_harmless(tmp_path: Path, compressed: bool) -> None:
    """A zip carries checksums: whatever byte is changed, no other pixels come out, and no other error."""
    file = tmp_path / "a.npz"
    images = np.random.default_rng(0).integers(0, 256, (4, 4, 4, 3), dtype=np.uint8)
    (np.savez_compressed if compressed else np.savez)(file, images=images, labels=np.arange(4) % 2)
    content = file.read_bytes()
    whole = read_npz(file)
    refused = 0
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 0x21
        file.write_bytes(changed)
        try:
            train, _, test = read_npz(file)
        except InputError:
            refused += 1
            continue
        assert numbers(train) == numbers(whole[0]) and numbers(test) == numbers(whole[2]), place
    assert refused > len(content) / 3 / 2


@pytest.mark.parametrize("content", [b"", b"no zip", b"\x93NUMPY\x01\x00v\x00{'descr': '|u1'"])
def test_other_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.npz is truncated, or not a \.npz of plain arrays"):
        read_npz(tmp_path / "a.npz")


def test_a_single_array_is_not_a_npz(tmp_path: Path) -> None:
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, ZEROS)
    with pytest.raises(InputError, match=r"not a \.npz of plain arrays"):
        read_npz(tmp_path / "a.npz")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_npz(tmp_path / "a.npz")
