"""AugMix's operations against Pillow's, one image at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from benchmarks.augmix import PILLOW, strength
from weatherproof.augment.operations import FOUR, NINE, OPERATIONS

GEOMETRIC = ("rotate", "shear_x", "shear_y", "translate_x", "translate_y")
EXACT = tuple(name for name in OPERATIONS if name not in GEOMETRIC)

STRENGTHS = {
    "posterize": st.integers(1, 8),
    "solarize": st.integers(0, 256),
    "rotate": st.one_of(st.integers(-30, 30), st.floats(-30, 30)),
    "shear_x": st.one_of(st.floats(-0.3, 0.3), st.sampled_from([0.0, 0.1, 0.2, 0.25, -0.25])),
    "translate_x": st.integers(-50, 50),
}
STRENGTHS |= {"shear_y": STRENGTHS["shear_x"], "translate_y": STRENGTHS["translate_x"]}
STRENGTHS |= {name: st.one_of(st.floats(0.1, 1.9), st.sampled_from([0.0, 0.5, 1.0])) for name in FOUR}


@st.composite
def batches(draw: st.DrawFn) -> np.ndarray:
    """uint8 (n, H, W, C): noise, blocks, few values, a narrow range, slopes, and images of one colour."""
    count, channels = draw(st.integers(1, 3)), draw(st.sampled_from([1, 3]))
    height, width = draw(st.integers(8, 40)), draw(st.integers(8, 40))
    shape = (count, height, width, channels)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["noise", "blocks", "few", "narrow", "slope", "constant"]))
    if kind == "blocks":
        blocks = rng.integers(0, 256, (count, 5, 5, channels), dtype=np.uint8)
        return blocks.repeat(8, axis=1).repeat(8, axis=2)[:, :height, :width]
    if kind == "few":
        return rng.choice(rng.integers(0, 256, 3, dtype=np.uint8), shape)
    if kind == "narrow":
        low = int(rng.integers(0, 240))
        return rng.integers(low, low + 16, shape, dtype=np.uint8)
    if kind == "slope":
        slope = np.linspace(0, 255, width)[:, None] * rng.uniform(0, 1, (count, height, 1, channels))
        return slope.astype(np.uint8)
    if kind == "constant":
        return np.broadcast_to(rng.integers(0, 256, (count, 1, 1, channels), dtype=np.uint8), shape).copy()
    return rng.integers(0, 256, shape, dtype=np.uint8)


def ours(name: str, images: np.ndarray, strengths: list[float]) -> np.ndarray:
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
    before = pixels.clone()
    changed = OPERATIONS[name].act(pixels, torch.tensor(strengths, dtype=torch.float64))
    assert changed.dtype == torch.uint8 and changed.shape == pixels.shape
    assert torch.equal(pixels, before)
    return changed.permute(0, 2, 3, 1).numpy()


def pillows(name: str, images: np.ndarray, strengths: list[float]) -> np.ndarray:
    changed = [
        np.asarray(PILLOW[name](Image.fromarray(image[..., 0] if image.shape[2] == 1 else image), value))
        for image, value in zip(images, strengths, strict=True)
    ]
    return np.stack(changed).reshape(images.shape)


def strengths_for(data: st.DataObject, name: str, count: int) -> list[float]:
    return [data.draw(STRENGTHS.get(name, st.just(0))) for _ in range(count)]


@pytest.mark.parametrize("name", EXACT)
@given(images=batches(), data=st.data())
def test_values_are_pillows_bit_for_bit(name: str, images: np.ndarray, data: st.DataObject) -> None:
    strengths = strengths_for(data, name, len(images))
    np.testing.assert_array_equal(ours(name, images, strengths), pillows(name, images, strengths))


@pytest.mark.parametrize("name", GEOMETRIC)
@given(images=batches(), data=st.data())
def test_places_are_pillows_within_one_step(name: str, images: np.ndarray, data: st.DataObject) -> None:
    strengths = strengths_for(data, name, len(images))
    apart = np.abs(ours(name, images, strengths).astype(int) - pillows(name, images, strengths))
    assert (apart <= 1).mean() >= 0.995


@pytest.mark.parametrize("side", [32, 97, 224])
@pytest.mark.parametrize("name", GEOMETRIC)
def test_most_places_are_equal_to_pillows(name: str, side: int) -> None:
    """Truncation hides a bias of half a step from a tolerance of one."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (6, side, side, 3), dtype=np.uint8)
    strengths = [OPERATIONS[name].strength(rng.uniform(0.1, 10, 1), side, side).item() for _ in images]
    assert (ours(name, images, strengths) == pillows(name, images, strengths)).mean() > 0.97


@pytest.mark.parametrize("name", GEOMETRIC)
@pytest.mark.parametrize("size", [(8, 8), (32, 32), (31, 45), (224, 224)])
def test_nothing_moves_by_nothing(size: tuple[int, int], name: str) -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, *size, 3), dtype=np.uint8)
    np.testing.assert_array_equal(ours(name, images, [0.0, -0.0]), images)


@pytest.mark.parametrize("name", ["translate_x", "translate_y"])
def test_translations_beyond_the_image_leave_nothing(name: str) -> None:
    images = np.full((4, 9, 12, 3), 200, dtype=np.uint8)
    for far in (12.0, -12.0, 1000.0, -1000.0):
        assert not ours(name, images, [far] * 4).any()


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 2), (3, 3)])
@pytest.mark.parametrize("name", OPERATIONS)
def test_tiny_images(name: str, size: tuple[int, int]) -> None:
    images = np.random.default_rng(1).integers(0, 256, (3, *size, 3), dtype=np.uint8)
    given_level = OPERATIONS[name].strength(np.full(3, 3.0), *size)
    if name in EXACT:
        np.testing.assert_array_equal(ours(name, images, given_level), pillows(name, images, _plain(name, given_level)))
    else:
        apart = ours(name, images, given_level).astype(int) - pillows(name, images, _plain(name, given_level))
        assert (np.abs(apart) <= 1).all()


def _plain(name: str, values: np.ndarray) -> list[float]:
    """Pillow wants a whole number of bits."""
    return [int(value) if name in ("posterize", "solarize") else float(value) for value in values]


@pytest.mark.parametrize("name", OPERATIONS)
@given(level=st.floats(0.1, 10, exclude_max=True), height=st.integers(8, 300), width=st.integers(8, 300))
def test_strengths_are_the_references(name: str, level: float, height: int, width: int) -> None:
    operation = OPERATIONS[name]
    found = operation.strength(np.array([level]), height, width)
    if name in ("autocontrast", "equalize"):
        return
    assert found.item() == strength(name, level, 1, (width, height))
    assert operation.signed == (strength(name, 9.0, -1, (width, height)) < 0)


def test_the_table_holds_the_references_names() -> None:
    assert list(NINE) == [
        "autocontrast", "equalize", "posterize", "rotate", "solarize",
        "shear_x", "shear_y", "translate_x", "translate_y",
    ]  # fmt: skip
    assert list(FOUR) == ["color", "contrast", "brightness", "sharpness"]
    assert set(OPERATIONS) == set(PILLOW)
