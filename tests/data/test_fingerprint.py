"""Which images they are, told from other ones wherever they lie."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numbered import MakeFolder, MakeNpz, numbered_image

from weatherproof import InputError
from weatherproof.data import ArrayImages, ImageSet, fingerprint, open_split


def some_images() -> ImageSet:
    images = np.stack([numbered_image(number) for number in range(230)] * 10)
    return ImageSet(ArrayImages.from_nhwc(images), torch.arange(2_300) % 3, ("a", "b", "c"))


def with_pixels(images: ImageSet, change: Callable[[torch.Tensor], torch.Tensor]) -> ImageSet:
    assert isinstance(images.images, ArrayImages)
    return replace(images, images=ArrayImages(change(images.images.pixels.clone())))


def last_bit(pixels: torch.Tensor) -> torch.Tensor:
    pixels[-1, -1, -1, -1] ^= 1
    return pixels


def test_images_in_memory_are_known_by_their_pixels_and_labels() -> None:
    images = some_images()
    others = [
        with_pixels(images, last_bit),
        with_pixels(images, lambda pixels: pixels[:, [0, 2, 1]]),
        with_pixels(images, lambda pixels: pixels.reshape(-1, 3, 6, 24)),
        replace(images, labels=images.labels.flip(0)),
        images.take(list(range(2_299))),
        images.take([1, 0, *range(2, 2_300)]),
    ]
    assert len({fingerprint(each) for each in (images, *others)}) == 7


def test_neither_floats_nor_strides_nor_names_of_classes_matter() -> None:
    images = some_images()
    same = [
        with_pixels(images, lambda pixels: pixels.contiguous(memory_format=torch.channels_last)),
        with_pixels(images, lambda pixels: pixels.double() / 255),
        replace(images, classes=()),
        replace(images, labels=images.labels.int()),
    ]
    assert {fingerprint(each) for each in same} == {fingerprint(images)}


def test_images_in_files_are_known_by_class_name_size_and_time(make_folder: MakeFolder, tmp_path: Path) -> None:
    make_folder(tmp_path / "a", {"ant": 2, "bee": 2})
    shutil.copytree(tmp_path / "a", tmp_path / "b")  # with the times

    def both() -> list[tuple[str, str]]:
        parts = [open_split(tmp_path / name).images for name in ("a", "b")]
        return [(fingerprint(part), fingerprint(part, times=False)) for part in parts]

    a, b = both()
    assert a == b and a[0] != a[1]
    os.utime(tmp_path / "b/ant/000.png", (1, 1))
    a, b = both()
    assert a[0] != b[0] and a[1] == b[1]
    (tmp_path / "b/ant/000.png").write_bytes((tmp_path / "b/ant/000.png").read_bytes() + b" ")
    a, b = both()
    assert a[1] != b[1]
    (tmp_path / "a/bee").rename(tmp_path / "a/cow")
    assert both()[0][1] != a[1]


def test_a_file_that_is_gone_is_named(make_folder: MakeFolder, tmp_path: Path) -> None:
    images = open_split(make_folder(tmp_path / "a", {"ant": 2, "bee": 2})).images
    (tmp_path / "a/bee/003.png").unlink()
    with pytest.raises(InputError, match=r"cannot read .*003\.png: No such file"):
        fingerprint(images)


def test_the_same_set_by_another_path_is_the_same(
    make_npz: MakeNpz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_npz(tmp_path / "c.npz")
    paths = (tmp_path / "c.npz", "c.npz", "./c.npz")
    assert len({fingerprint(open_split(path).images) for path in paths}) == 1
