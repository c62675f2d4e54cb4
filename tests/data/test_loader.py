"""Batches: order, content and random crops follow from the seed alone, wherever an epoch is entered and who helps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numbered import numbered_image
from PIL import Image

from weatherproof.augment import ResizedCropFlip
from weatherproof.data import ArrayImages, Batch, CentreFrame, FileImages, ImageSet, Loader, default_workers
from weatherproof.errors import InputError

COUNT = 30


def labels() -> torch.Tensor:
    return torch.arange(COUNT) * 7 % 5


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ImageSet:
    """Images in files, each with its number in the first pixel."""
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{number}.png" for number in range(COUNT)]
    for number, path in enumerate(paths):
        Image.fromarray(numbered_image(number)).save(path)
    return ImageSet(FileImages(paths, 3), labels(), tuple("abcde"))


@pytest.fixture(scope="module")
def arrays() -> ImageSet:
    """The same images in memory."""
    pixels = np.stack([numbered_image(number) for number in range(COUNT)])
    return ImageSet(ArrayImages.from_nhwc(pixels), labels(), tuple("abcde"))


@pytest.fixture(params=["arrays", "files"])
def images(request: pytest.FixtureRequest) -> ImageSet:
    chosen: ImageSet = request.getfixturevalue(request.param)
    return chosen


def order(batches: Sequence[Batch]) -> list[int]:
    return [int(index) for batch in batches for index in batch.indices]


def assert_same(one: Sequence[Batch], other: Sequence[Batch]) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a.images, b.images) and torch.equal(a.labels, b.labels) and torch.equal(a.indices, b.indices)


@pytest.mark.parametrize("seed", [None, 0])
def test_images_labels_and_indices_belong_together(images: ImageSet, seed: int | None) -> None:
    batches = list(Loader(images, 7, 12, seed=seed).epoch())
    for batch in batches:
        assert batch.images.dtype == torch.uint8 and batch.images.shape == (len(batch.labels), 3, 12, 12)
        assert batch.images[:, 0, 0, 0].tolist() == batch.indices.tolist()
        assert torch.equal(batch.labels, images.labels[batch.indices])
    assert [len(batch.labels) for batch in batches] == [7, 7, 7, 7, 2]
    assert sorted(order(batches)) == list(range(COUNT))


def test_memory_and_files_give_the_same(arrays: ImageSet, files: ImageSet) -> None:
    assert_same(list(Loader(arrays, 7, 12, seed=3).epoch(2)), list(Loader(files, 7, 12, seed=3).epoch(2)))


def test_the_order_follows_from_seed_and_epoch(arrays: ImageSet) -> None:
    def shuffled(seed: int | None, epoch: int, batch_size: int = 7) -> list[int]:
        return order(list(Loader(arrays, batch_size, 12, seed=seed).epoch(epoch)))

    assert shuffled(None, 0) == shuffled(None, 5) == list(range(COUNT))
    assert shuffled(1, 0) == shuffled(1, 0) == shuffled(1, 0, batch_size=4)
    assert len({tuple(shuffled(seed, epoch)) for seed in range(4) for epoch in range(4)}) == 16


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_workers_change_nothing(files: ImageSet, workers: int) -> None:
    frame, _ = ResizedCropFlip().on_files(8)
    expected = list(Loader(files, 7, 8, frame=frame, seed=5).epoch(1))
    assert_same(list(Loader(files, 7, 8, frame=frame, seed=5, workers=workers).epoch(1)), expected)


@pytest.mark.parametrize("start", [0, 1, 3, 5, 9])
@pytest.mark.parametrize("drop_last", [False, True])
def test_an_epoch_can_be_entered_anywhere(images: ImageSet, start: int, drop_last: bool) -> None:
    frame, _ = ResizedCropFlip().on_files(8)
    loader = Loader(images, 7, 8, frame=frame, seed=5, drop_last=drop_last)
    assert_same(list(loader.epoch(1, start)), list(loader.epoch(1))[start:])


def test_an_epoch_is_entered_through_workers_too(files: ImageSet) -> None:
    frame, _ = ResizedCropFlip().on_files(8)
    whole = list(Loader(files, 7, 8, frame=frame, seed=5).epoch(1))
    assert_same(list(Loader(files, 7, 8, frame=frame, seed=5, workers=2).epoch(1, 3)), whole[3:])
    assert list(Loader(files, 7, 8, frame=frame, seed=5, workers=2).epoch(1, 5)) == []


def test_random_crops_belong_to_image_and_epoch_not_to_the_batch(files: ImageSet) -> None:
    frame, _ = ResizedCropFlip().on_files(8)

    def crops(batch_size: int, epoch: int, seed: int) -> dict[int, bytes]:
        batches = Loader(files, batch_size, 8, frame=frame, seed=seed).epoch(epoch)
        return {int(i): image.numpy().tobytes() for b in batches for i, image in zip(b.indices, b.images, strict=True)}

    assert crops(7, 0, 5) == crops(4, 0, 5)
    for other in (crops(7, 1, 5), crops(7, 0, 6)):
        assert sum(crop != other[i] for i, crop in crops(7, 0, 5).items()) > COUNT - 3


def draw(image: Image.Image, generator: torch.Generator) -> Image.Image:
    """An image of the first number that is drawn for it."""
    return Image.new("L", (1, 1), int(torch.randint(256, (), generator=generator)))


@pytest.mark.parametrize("seed", [None, 5])
def test_every_image_has_draws_of_its_own(files: ImageSet, seed: int | None) -> None:
    drawn = [int(pixel) for batch in Loader(files, 7, 1, frame=draw, seed=seed).epoch() for pixel in batch.images]
    assert len(set(drawn)) > COUNT - 8  # of 30 draws of 256, about two meet


@pytest.mark.parametrize(
    ("batch_size", "drop_last", "sizes"),
    [
        (7, False, [7, 7, 7, 7, 2]),
        (7, True, [7, 7, 7, 7]),
        (10, True, [10, 10, 10]),
        (10, False, [10, 10, 10]),
        (30, True, [30]),
        (31, True, [30]),
        (1000, False, [30]),
        (1, False, [1] * 30),
    ],
)
def test_sizes_of_batches(images: ImageSet, batch_size: int, drop_last: bool, sizes: list[int]) -> None:
    """With `drop_last`, what does not fill a batch is left out, but a set smaller than a batch is one batch."""
    loader = Loader(images, batch_size, 12, seed=0, drop_last=drop_last)
    assert [len(batch.labels) for batch in loader.epoch()] == sizes and len(loader) == len(sizes)


def test_loading_leaves_the_global_generators(files: ImageSet) -> None:
    np.random.seed(0)
    expected = np.random.random()
    np.random.seed(0)
    state = torch.get_rng_state()
    for workers in (0, 1):
        list(Loader(files, 7, 12, seed=0, workers=workers).epoch())
    assert torch.equal(torch.get_rng_state(), state) and np.random.random() == expected


@pytest.mark.parametrize("batch_size", [0, -3])
def test_batches_hold_something(arrays: ImageSet, batch_size: int) -> None:
    with pytest.raises(InputError, match=f"a batch has at least 1 image; got {batch_size}"):
        Loader(arrays, batch_size, 12)


def test_workers_are_not_fewer_than_none(arrays: ImageSet) -> None:
    with pytest.raises(InputError, match="0 worker processes or more; got -1"):
        Loader(arrays, 4, 12, workers=-1)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_missing_file_is_named(files: ImageSet, tmp_path: Path, workers: int) -> None:
    assert isinstance(files.images, FileImages)
    items = [*files.images.items[:5], tmp_path / "lost.png"]
    some = ImageSet(FileImages(items, 3), torch.zeros(6, dtype=torch.int64), ("a",))
    batches = Loader(some, 3, 12, workers=workers).epoch()
    assert len(next(batches).labels) == 3
    with pytest.raises(
        InputError, match=r"^.*lost\.png is not a readable image \(.*No such file.*\); repair or remove"
    ):
        next(batches)


def test_default_workers() -> None:
    assert 1 <= default_workers() <= 8


def smooth(width: int, height: int) -> Image.Image:
    rows, columns = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.stack([255 * rows / height, 255 * columns / width, 0 * rows], axis=2).astype(np.uint8))


@pytest.mark.parametrize(("width", "height"), [(256, 256), (500, 375), (375, 500), (100, 80), (2000, 1500)])
def test_centre_frame_is_resize_and_crop(width: int, height: int) -> None:
    """Shorter side to 256, then the central 224 pixels; within a grey level of doing it in two steps."""
    image, generator = smooth(width, height), torch.Generator()
    framed = CentreFrame(224)(image, generator)
    scale = 256 / min(width, height)
    resized = image.resize((round(width * scale), round(height * scale)), Image.Resampling.BILINEAR)
    left, top = (resized.width - 224) / 2, (resized.height - 224) / 2
    cropped = resized.crop((int(left), int(top), int(left) + 224, int(top) + 224))
    assert framed.size == (224, 224)
    difference = np.abs(np.asarray(framed).astype(int) - np.asarray(cropped).astype(int))
    assert difference.max() <= 2 and difference.mean() < 0.6


def test_centre_frame_leaves_what_fits() -> None:
    image = smooth(224, 224)
    assert CentreFrame(224)(image, torch.Generator()) is image
    assert CentreFrame(224)(smooth(225, 224), torch.Generator()).size == (224, 224)
