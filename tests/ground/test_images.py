"""The border: images and labels that come in are what they should be, or are refused by name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from weatherproof.errors import InputError
from weatherproof.images import SLACK, as_labels, as_pixels, to_unit

REFUSED_IMAGES: dict[str, tuple[Any, str]] = {
    "one image": (torch.zeros(3, 8, 8), "3 dimensions, shape (3, 8, 8)"),
    "five dimensions": (torch.zeros(1, 1, 3, 8, 8), "5 dimensions"),
    "a number": (0.5, "0 dimensions"),
    "int64": (torch.zeros(2, 3, 8, 8, dtype=torch.int64), "got int64"),
    "int8": (torch.zeros(2, 8, 8, 3, dtype=torch.int8), "got int8"),
    "bool": (torch.zeros(2, 3, 8, 8, dtype=torch.bool), "got bool"),
    "complex": (torch.zeros(2, 3, 8, 8, dtype=torch.complex64), "got complex64"),
    "float NHWC": (torch.zeros(2, 8, 8, 3), "got float32 of shape (2, 8, 8, 3)"),
    "uint8 NCHW": (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), "got uint8 of shape (2, 3, 8, 8)"),
    "two channels": (torch.zeros(2, 2, 8, 8), "of shape (2, 2, 8, 8)"),
    "four channels": (np.zeros((2, 8, 8, 4), np.uint8), "of shape (2, 8, 8, 4)"),
    "0 to 255": (torch.full((2, 3, 8, 8), 255.0), "got values from 255 to 255"),
    "-1 to 1": (torch.linspace(-1, 1, 192).view(1, 3, 8, 8), "got values from -1 to 1"),
    "NaN": (torch.tensor([0.5, torch.nan, 0.5]).view(1, 3, 1, 1), "some values are NaN"),
    "all NaN": (np.full((1, 1, 2, 2), np.nan), "some values are NaN"),
    "infinite": (torch.tensor([0.5, torch.inf, 0.5]).view(1, 3, 1, 1), "to inf"),
    "text": ("photo.png", "got str, which is not an array of numbers"),
    "None": (None, "got NoneType, which is not an array of numbers"),
    "objects": (np.array([[None]]), "got ndarray, which is not an array of numbers"),
    "ragged": ([[1.0], [1.0, 0.5]], "got list, which is not an array of numbers"),
}


@pytest.mark.parametrize("case", REFUSED_IMAGES)
def test_refused_images(case: str) -> None:
    images, sentence = REFUSED_IMAGES[case]
    with pytest.raises(InputError, match=r"^photos: ") as caught:
        as_pixels(images, "photos")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    if "not an array" not in sentence:
        assert str(caught.value).endswith("wanted float NCHW in [0, 1] or uint8 NHWC, with 1 or 3 channels")


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_floats_pass_as_they_are(channels: int, dtype: torch.dtype) -> None:
    images = torch.rand(2, channels, 5, 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    assert as_pixels(images) is images


@pytest.mark.parametrize("channels", [1, 3])
def test_bytes_arrive_as_nchw(channels: int) -> None:
    array = np.random.default_rng(0).integers(0, 256, (2, 5, 7, channels), dtype=np.uint8)
    for images in (array, torch.from_numpy(array)):
        pixels = as_pixels(images)
        assert pixels.dtype == torch.uint8
        np.testing.assert_array_equal(pixels.numpy(), array.transpose(0, 3, 1, 2))


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda a: a[..., ::-1], id="BGR read as RGB"),
        pytest.param(lambda a: a[:, :, ::-1], id="mirrored"),
        pytest.param(lambda a: _read_only(a.copy()), id="read-only"),
        pytest.param(lambda a: np.asfortranarray(a), id="column-major"),
        pytest.param(lambda a: a[::2], id="every other"),
    ],
)
def test_arrays_that_torch_would_not_take(change: Any) -> None:
    array = change(np.random.default_rng(0).integers(0, 256, (4, 5, 7, 3), dtype=np.uint8))
    np.testing.assert_array_equal(as_pixels(array).numpy(), array.transpose(0, 3, 1, 2))


def test_arrays_of_another_byte_order() -> None:
    array = np.random.default_rng(0).random((2, 3, 4, 4)).astype(">f4")
    np.testing.assert_array_equal(as_pixels(array).numpy(), array)


@pytest.mark.parametrize("images", [torch.zeros(0, 3, 8, 8), np.zeros((0, 8, 8, 1), np.uint8)])
def test_no_images_are_images(images: Tensor | np.ndarray) -> None:
    assert len(as_pixels(images)) == 0


@given(st.lists(st.floats(0, 1, width=32), min_size=3, max_size=12))
def test_every_value_of_the_range_passes(values: list[float]) -> None:
    images = torch.tensor(values).view(-1, 1, 1, 1)
    assert torch.equal(as_pixels(images), images)


OUTSIDE = st.floats(max_value=-2 * SLACK, allow_infinity=True) | st.floats(min_value=1 + 2 * SLACK)


@given(st.lists(st.floats(0, 1), max_size=9), OUTSIDE, st.integers(0, 9))
def test_one_value_outside_is_enough_to_refuse(values: list[float], outside: float, place: int) -> None:
    values.insert(place, outside)
    with pytest.raises(InputError, match="got values from"):
        as_pixels(torch.tensor(values, dtype=torch.float64).view(-1, 1, 1, 1))


def test_a_hair_outside_is_rounding() -> None:
    images = torch.tensor([-SLACK / 2, 1 + SLACK / 2]).view(2, 1, 1, 1)
    assert torch.equal(as_pixels(images), images)


def test_to_unit_divides_bytes_and_leaves_floats() -> None:
    levels = torch.arange(256, dtype=torch.uint8)
    assert torch.equal(to_unit(levels), torch.arange(256, dtype=torch.float32) / 255)
    assert levels[255] == 255  # and does not write into what it was given
    floats = torch.rand(3, dtype=torch.float64)
    assert to_unit(floats) is floats


REFUSED_LABELS: dict[str, tuple[Any, str]] = {
    "floats": ([0.0, 1.0, 2.0], "got float32 of shape (3,); wanted a vector of integers"),
    "booleans": ([True, False, True], "got bool"),
    "complex": (np.zeros(3, complex), "got complex128"),
    "one-hot": (np.eye(3, dtype=int), "got int64 of shape (3, 3)"),
    "a column": (np.zeros((3, 1), int), "of shape (3, 1)"),
    "one number": (1, "of shape ()"),
    "too few": ([0, 1], "got 2 labels for 3 images"),
    "too many": ([0, 1, 2, 0], "got 4 labels for 3 images"),
    "below 0": ([0, -1, 2], "label -1 is out of range; the first class is 0"),
    "class 4 of 4": ([0, 4, 2], "label 4 is out of range for 4 classes (0..3)"),
    "words": (["cat", "dog", "cat"], "got list, which is not an array of numbers"),
    "beyond 64 bits": ([0, 2**70, 1], "got list, which is not an array of numbers"),
    "None": (None, "got NoneType"),
}


@pytest.mark.parametrize("case", REFUSED_LABELS)
def test_refused_labels(case: str) -> None:
    labels, sentence = REFUSED_LABELS[case]
    with pytest.raises(InputError, match=f"^truth: .*{re.escape(sentence)}") as caught:
        as_labels(labels, 3, classes=4, name="truth")
    assert "\n" not in str(caught.value)


@given(st.lists(st.integers(0, 9), max_size=20), st.sampled_from([np.uint8, np.int8, np.int32, np.uint16, np.int64]))
def test_integers_of_any_width_are_labels(values: list[int], dtype: Any) -> None:
    labels = as_labels(np.array(values, dtype=dtype), len(values), classes=10)
    assert labels.dtype == torch.int64 and labels.tolist() == values


@given(st.integers(2, 50), st.integers(-100, 100))
def test_labels_lie_in_the_range_of_classes(classes: int, label: int) -> None:
    if 0 <= label < classes:
        assert as_labels([label], 1, classes).tolist() == [label]
    else:
        with pytest.raises(InputError, match=f"label {label} is out of range"):
            as_labels([label], 1, classes)


def test_any_label_passes_where_the_number_of_classes_is_not_said() -> None:
    assert as_labels([10**6], 1).tolist() == [10**6]
