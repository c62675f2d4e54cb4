"""The augmentations of ordinary training: right for each image, random as promised, and the same for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import stats
from torch import Tensor
from torch.nn import functional

from weatherproof.augment import AUGMENTATIONS, Augmentation, CropFlip, Flip, ResizedCropFlip, Unchanged, on_files
from weatherproof.augment.standard import crop_resized, random_boxes
from weatherproof.data import CentreFrame
from weatherproof.errors import InputError

SIZES = [(8, 8), (8, 13), (13, 8), (16, 16), (32, 32), (40, 17)]
IMPROBABLE = 1e-4  # the seeds are fixed: a test passes always or never


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_images(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> Tensor:
    if dtype == torch.uint8:
        return torch.randint(1, 256, shape, generator=seeded(seed), dtype=dtype)
    return torch.rand(shape, generator=seeded(seed)).add(0.01).to(dtype)


def windows(image: Tensor, pad: int) -> dict[bytes, tuple[int, int, bool]]:
    """Every window of the zero-padded image and its mirror image, by content: the plain way to do it."""
    height, width = image.shape[1:]
    found = {}
    for mirrored in (False, True):
        padded = functional.pad(image.flip(2) if mirrored else image, (pad, pad, pad, pad))
        for top in range(2 * pad + 1):
            for left in range(2 * pad + 1):
                window = padded[:, top : top + height, left : left + width]
                found[window.contiguous().numpy().tobytes()] = (top, left, mirrored)
    assert len(found) == 2 * (2 * pad + 1) ** 2
    return found


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float64])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("pad", [0, 1, 4])
@pytest.mark.parametrize("size", SIZES)
def test_crop_flip_takes_windows_of_padded_images(
    size: tuple[int, int], pad: int, channels: int, dtype: torch.dtype
) -> None:
    images = random_images((6, channels, *size), dtype)
    before = images.clone()
    changed = CropFlip(pad)(images, seeded(1))
    assert changed.shape == images.shape and changed.dtype == dtype
    for image, result in zip(images, changed, strict=True):
        assert result.contiguous().numpy().tobytes() in windows(image, pad)
    assert torch.equal(images, before)


@pytest.mark.parametrize("layout", ["NHWC", "every other", "expanded"])
def test_layouts_of_memory(layout: str) -> None:
    images = {
        "NHWC": random_images((6, 9, 8, 3), torch.uint8).permute(0, 3, 1, 2),
        "every other": random_images((12, 3, 9, 8), torch.uint8)[::2],
        "expanded": random_images((1, 3, 9, 8), torch.uint8).expand(6, -1, -1, -1),
    }[layout]
    for augmentation in (CropFlip(2), Flip(), ResizedCropFlip(crop=5)):
        assert torch.equal(augmentation(images, seeded(2)), augmentation(images.contiguous(), seeded(2)))


@pytest.mark.parametrize("shape", [(1, 3, 8, 8), (1, 1, 1, 1), (300, 1, 8, 8), (0, 3, 8, 8), (0, 1, 9, 8)])
def test_batches_of_any_number(shape: tuple[int, ...]) -> None:
    images = random_images(shape, torch.uint8)
    for augmentation in (CropFlip(4), CropFlip(0), Flip(), Unchanged()):
        assert augmentation(images, seeded()).shape == shape
    assert ResizedCropFlip(crop=6)(images, seeded()).shape == (*shape[:2], 6, 6)
    assert ResizedCropFlip(crop=6, size=4)(images, seeded()).shape == (*shape[:2], 4, 4)


@pytest.fixture(scope="module")
def crop_flips() -> Tensor:
    """Offsets of rows and columns and whether it was mirrored, for 10,000 copies of one image: (10000, 3)."""
    image = random_images((1, 1, 8, 8), torch.uint8)
    known = windows(image[0], 2)
    changed = CropFlip(2)(image.expand(10_000, -1, -1, -1), seeded(3))
    return torch.tensor([known[result.contiguous().numpy().tobytes()] for result in changed])


def test_offsets_and_mirroring_are_uniform_and_independent(crop_flips: Tensor) -> None:
    """All 5 x 5 x 2 outcomes are equally likely."""
    cells = torch.bincount(crop_flips @ torch.tensor([10, 2, 1]), minlength=50)
    assert len(cells) == 50 and stats.chisquare(cells.numpy()).pvalue > IMPROBABLE


def test_images_of_a_batch_are_drawn_independently(crop_flips: Tensor) -> None:
    """What a neighbour got says nothing: not right beside it, nor 128 or 5,000 further."""
    for distance in (1, 128, 5000):
        pairs = 5 * crop_flips[:-distance, 0] + crop_flips[distance:, 0]
        table = torch.bincount(pairs, minlength=25).view(5, 5).numpy()
        assert stats.chi2_contingency(table).pvalue > IMPROBABLE


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("size", SIZES)
def test_flip_mirrors_or_leaves(size: tuple[int, int], dtype: torch.dtype) -> None:
    images = random_images((400, 1, *size), dtype)
    changed = Flip()(images, seeded())
    left = [torch.equal(a, b) for a, b in zip(changed, images, strict=True)]
    mirrored = [torch.equal(a, b.flip(2)) for a, b in zip(changed, images, strict=True)]
    assert [a != b for a, b in zip(left, mirrored, strict=True)] == [True] * 400
    assert stats.binomtest(sum(mirrored), 400).pvalue > IMPROBABLE
    assert changed.dtype == dtype


RANDOM: list[Augmentation] = [Flip(), CropFlip(), CropFlip(0), ResizedCropFlip(), ResizedCropFlip(crop=6, size=4)]


@pytest.mark.parametrize("augmentation", RANDOM, ids=lambda augmentation: type(augmentation).__name__)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64])
def test_all_randomness_comes_from_the_generator(augmentation: Augmentation, dtype: torch.dtype) -> None:
    images = random_images((20, 3, 10, 10), dtype)
    state = torch.get_rng_state()
    first = augmentation(images, seeded(7))
    assert first.dtype == dtype
    assert torch.equal(first, augmentation(images, seeded(7)))
    assert not torch.equal(first, augmentation(images, seeded(8)))
    assert torch.equal(torch.get_rng_state(), state)
    generator = seeded(7)
    assert torch.equal(first, augmentation(images, generator))
    assert not torch.equal(first, augmentation(images, generator))  # and it goes on from there


def test_nothing_is_done_to_images_without_augmentation() -> None:
    images = random_images((2, 3, 4, 4), torch.uint8)
    assert Unchanged()(images, seeded()) is images


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CropFlip(-1), "crop_flip pads by 0 pixels or more; got -1"),
        (lambda: ResizedCropFlip(scale=(0.0, 1.0)), "wants 0 < scale <= 1"),
        (lambda: ResizedCropFlip(scale=(0.5, 1.5)), "wants 0 < scale <= 1"),
        (lambda: ResizedCropFlip(scale=(0.9, 0.5)), "low before high; got"),
        (lambda: ResizedCropFlip(ratio=(0.0, 1.0)), "0 < ratio"),
        (lambda: ResizedCropFlip(ratio=(2.0, 1.0)), "low before high; got"),
        (lambda: ResizedCropFlip(scale=(float("nan"), 1.0)), "wants 0 < scale <= 1"),
        (lambda: ResizedCropFlip(crop=0), "crop and size of 1 pixel or more; got 0, None"),
        (lambda: ResizedCropFlip(size=-2), "crop and size of 1 pixel or more; got None, -2"),
    ],
)
def test_settings_that_do_not_fit(make: Callable[[], Augmentation], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert sentence in str(caught.value)


def ranges(low: float, high: float) -> st.SearchStrategy[tuple[float, float]]:
    return st.tuples(st.floats(low, high), st.floats(low, high)).map(lambda pair: (min(pair), max(pair)))


@given(st.integers(1, 50), st.integers(1, 50), ranges(0.01, 1), ranges(0.1, 10), st.integers(0, 999))
def test_boxes_lie_inside(
    height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float], seed: int
) -> None:
    boxes = random_boxes(8, height, width, scale, ratio, seeded(seed))
    top, left, tall, wide = boxes.unbind(1)
    assert boxes.shape == (8, 4) and boxes.dtype == torch.int64
    assert bool((tall >= 1).all() and (wide >= 1).all() and (top >= 0).all() and (left >= 0).all())
    assert bool((top + tall <= height).all() and (left + wide <= width).all())


@given(ranges(0.05, 0.4), ranges(0.5, 2), st.integers(0, 999))
def test_boxes_have_the_wanted_area_and_aspect(
    scale: tuple[float, float], ratio: tuple[float, float], seed: int
) -> None:
    """In a large image, where whole pixels hardly matter and every attempt fits."""
    _, _, tall, wide = random_boxes(50, 1000, 1000, scale, ratio, seeded(seed)).double().unbind(1)
    area, aspect = tall * wide / 1e6, wide / tall
    assert scale[0] - 0.002 < area.min() and area.max() < scale[1] + 0.002
    assert ratio[0] * 0.99 < aspect.min() and aspect.max() < ratio[1] * 1.01


def test_area_log_aspect_and_place_are_uniform() -> None:
    low, high = math.log(3 / 4), math.log(4 / 3)
    top, left, tall, wide = random_boxes(4000, 1000, 1000, (0.1, 0.5), (3 / 4, 4 / 3), seeded()).double().unbind(1)
    measured = {
        "area": (tall * wide / 1e6 - 0.1) / 0.4,
        "aspect": (torch.log(wide / tall) - low) / (high - low),
        "row": (top + 0.5) / (1001 - tall),
        "column": (left + 0.5) / (1001 - wide),
    }
    for name, values in measured.items():
        assert stats.kstest(values.numpy(), "uniform").pvalue > IMPROBABLE, name
    for one, other in [("area", "aspect"), ("area", "row"), ("row", "column"), ("aspect", "column")]:
        assert stats.pearsonr(measured[one], measured[other]).pvalue > IMPROBABLE, (one, other)


def test_every_place_of_a_small_image_is_reached() -> None:
    """Boxes of 2x2 in 4x4 pixels: nine places, equally likely."""
    top, left, tall, wide = random_boxes(4500, 4, 4, (0.25, 0.25), (1.0, 1.0), seeded()).unbind(1)
    assert tall.unique().tolist() == wide.unique().tolist() == [2]
    cells = torch.bincount(3 * top + left)
    assert len(cells) == 9 and stats.chisquare(cells.numpy()).pvalue > IMPROBABLE


def plain_box(rng: np.random.Generator, height: int, width: int) -> tuple[int, int]:
    """The field's loop: up to ten attempts, else the whole image (whose aspect is allowed here)."""
    for _ in range(10):
        area = height * width * rng.uniform(0.08, 1)
        aspect = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, tall = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < wide <= width and 0 < tall <= height:
            return tall, wide
    return height, width


@pytest.mark.parametrize(("height", "width"), [(100, 100), (90, 120)])
def test_attempts_that_do_not_fit_are_repeated(height: int, width: int) -> None:
    """Large areas do not fit at every aspect: the boxes are then distributed as those of the plain loop."""
    boxes = random_boxes(3000, height, width, (0.08, 1), (3 / 4, 4 / 3), seeded()).numpy()
    rng = np.random.default_rng(0)
    plain = np.array([plain_box(rng, height, width) for _ in range(3000)])
    for ours, theirs in ((boxes[:, 2], plain[:, 0]), (boxes[:, 3], plain[:, 1])):
        assert stats.ks_2samp(ours, theirs).pvalue > IMPROBABLE


@pytest.mark.parametrize(
    ("height", "width", "ratio", "box"),
    [
        (100, 10, (0.5, 2.0), [40, 0, 20, 10]),  # too narrow: a part of the height
        (10, 100, (0.5, 2.0), [0, 40, 10, 20]),  # too wide: a part of the width
        (10, 10, (0.5, 2.0), [0, 0, 10, 10]),
        (10, 1, (3.0, 4.0), [4, 0, 1, 1]),  # no such box: as near as whole pixels allow
    ],
)
def test_when_no_attempt_fits_the_middle_is_taken(
    height: int, width: int, ratio: tuple[float, float], box: list[int]
) -> None:
    # An area of more than 0.99 of the image never fits in the first two; in the third only by a hair.
    boxes = random_boxes(20, height, width, (0.999, 1.0), ratio, seeded())
    assert box in boxes.tolist()
    if height != width:
        assert boxes.tolist() == [box] * 20


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("side", [8, 15, 32])
def test_the_whole_image_at_its_own_size_is_itself(side: int, dtype: torch.dtype) -> None:
    images = random_images((3, 3, side, side), dtype)
    whole = torch.tensor([[0, 0, side, side]] * 3)
    torch_error = 0 if dtype == torch.uint8 else 1e-5
    assert float((crop_resized(images, whole, side).double() - images.double()).abs().max()) <= torch_error


BOXES = torch.tensor([[0, 0, 16, 16], [3, 5, 16, 16], [24, 14, 16, 16]])


def cut(images: Tensor, box: list[int]) -> Tensor:
    top, left, tall, wide = box
    return images[..., top : top + tall, left : left + wide]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_a_box_of_the_wanted_size_is_cut_out(dtype: torch.dtype) -> None:
    images = random_images((3, 3, 40, 30), dtype)
    cropped = crop_resized(images, BOXES, 16)
    for image, box, result in zip(images, BOXES.tolist(), cropped, strict=True):
        assert float((result.double() - cut(image, box).double()).abs().max()) <= (0 if dtype == torch.uint8 else 1e-4)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_half_the_size_is_the_mean_of_four(dtype: torch.dtype) -> None:
    """Bilinear sampling at half the size reads halfway between pixels, as torch and, here, Pillow's BOX do."""
    images = random_images((3, 3, 40, 30), dtype)
    cropped = crop_resized(images, BOXES, 8)
    for image, box, result in zip(images, BOXES.tolist(), cropped, strict=True):
        part = cut(image, box)
        expected = functional.interpolate(part.double()[None], (8, 8), mode="bilinear")[0]
        assert torch.equal(expected, functional.avg_pool2d(part.double(), 2))
        assert float((result.double() - expected).abs().max()) <= (0.51 if dtype == torch.uint8 else 1e-4)
        if dtype == torch.uint8:
            pillow = Image.fromarray(part.permute(1, 2, 0).numpy()).resize((8, 8), Image.Resampling.BOX)
            assert np.abs(np.asarray(pillow).astype(int) - result.permute(1, 2, 0).numpy()).max() <= 1


def test_larger_than_the_image_is_torchs_interpolation() -> None:
    images = random_images((2, 3, 10, 14), torch.float32)
    enlarged = crop_resized(images, torch.tensor([[0, 0, 10, 14]] * 2), 33)
    assert torch.allclose(enlarged, functional.interpolate(images, (33, 33), mode="bilinear"), atol=1e-5)


def test_resized_crops_show_the_drawn_boxes() -> None:
    """The boxes come first from the generator; then the coins."""
    images = random_images((5, 3, 20, 30), torch.float32)
    generator = seeded(4)
    boxes = random_boxes(5, 20, 30, (0.2, 0.6), (0.5, 2.0), generator)
    expected = Flip()(crop_resized(images, boxes, 12), generator)
    assert torch.equal(ResizedCropFlip(12, None, (0.2, 0.6), (0.5, 2.0))(images, seeded(4)), expected)
    assert ResizedCropFlip()(images, seeded(4)).shape == (5, 3, 20, 20)


def test_a_second_size_is_an_antialiased_resize() -> None:
    images = random_images((5, 3, 24, 24), torch.uint8)
    once, twice = ResizedCropFlip(crop=16)(images, seeded()), ResizedCropFlip(crop=16, size=8)(images, seeded())
    expected = functional.interpolate(once.float(), (8, 8), mode="bilinear", antialias=True).round()
    assert float((twice.float() - expected).abs().max()) <= 1  # mirroring before or after may round otherwise


@pytest.mark.parametrize("name", ["none", "flip", "crop_flip"])
def test_files_are_cropped_in_the_centre_for_most(name: str) -> None:
    augmentation = AUGMENTATIONS[name]()
    frame, rest = on_files(augmentation, 24)
    assert isinstance(frame, CentreFrame) and frame.size == 24 and rest is augmentation


@pytest.mark.parametrize(
    ("crop", "size", "asked", "side"), [(None, None, 24, 24), (16, None, 24, 16), (32, 16, 24, 16), (None, 8, 24, 8)]
)
def test_files_are_cropped_at_random_for_resized_crops(
    crop: int | None, size: int | None, asked: int, side: int
) -> None:
    augmentation = ResizedCropFlip(crop, size, scale=(0.2, 0.6))
    frame, rest = on_files(augmentation, asked)
    rows, columns = np.mgrid[0:50, 0:70]
    image = Image.fromarray(np.stack([rows * 5, columns * 3, 0 * rows], axis=2).astype(np.uint8))
    top, left, tall, wide = random_boxes(1, 50, 70, (0.2, 0.6), (3 / 4, 4 / 3), seeded(3))[0].tolist()
    first = crop or asked
    expected = image.crop((left, top, left + wide, top + tall)).resize((first, first), Image.Resampling.BILINEAR)
    if size:
        expected = expected.resize((size, size), Image.Resampling.BILINEAR)
    framed = frame(image, seeded(3))
    assert framed.size == (side, side)
    # Pillow's filter reads a bit beyond the box where there is image; one pixel more or less would be 3 or 5 levels.
    difference = np.abs(np.asarray(framed).astype(int) - np.asarray(expected))
    assert difference.max() <= 3 and difference.mean() < 0.4
    assert isinstance(rest, Flip)
    assert not np.array_equal(np.asarray(framed), np.asarray(frame(image, seeded(4))))


def test_grey_files_stay_grey() -> None:
    frame, _ = ResizedCropFlip().on_files(16)
    assert frame(Image.new("L", (30, 20)), seeded()).mode == "L"


def test_every_augmentation_has_a_name() -> None:
    standard = {"none", "flip", "crop_flip", "resized_crop_flip"}
    assert set(AUGMENTATIONS) == standard | {"deepaugment", "one_of"}
    images = random_images((2, 3, 8, 8), torch.uint8)
    for name in standard:
        assert AUGMENTATIONS[name]()(images, seeded()).shape == images.shape
