"""Images in memory and in files: whatever the file's mode, RGB or grey of 8 bits comes out, or a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from weatherproof.data.image_sets import ArrayImages, Data, FileImages, ImageSet, open_file
from weatherproof.errors import InputError

RAMP = np.arange(256, dtype=np.uint8).reshape(16, 16)
COLOURS = np.stack([RAMP, RAMP[::-1], RAMP.T], axis=2)


def rgb() -> Image.Image:
    return Image.fromarray(COLOURS)


def with_alpha() -> Image.Image:
    image = rgb().convert("RGBA")
    image.putalpha(Image.fromarray(RAMP))
    return image


def palette() -> Image.Image:
    return rgb().quantize(256)


def save_palette_with_clear_colours(path: Path) -> None:
    palette().save(path, transparency=bytes(range(256)))


WIDE = RAMP.astype(np.uint16) * 257  # 0..65535
# How the file is written, and how far its 8-bit pixels may lie from COLOURS, or from RAMP where it is grey.
FILES: dict[str, tuple[str, Callable[[Path], object], bool, int]] = {
    "RGB": ("png", lambda path: rgb().save(path), True, 0),
    "RGB webp": ("webp", lambda path: rgb().save(path, lossless=True), True, 0),
    "RGB bmp": ("bmp", lambda path: rgb().save(path), True, 0),
    "RGB upper case": ("PNG", lambda path: rgb().save(path), True, 0),
    "RGBA": ("png", lambda path: with_alpha().save(path), True, 0),
    "CMYK": ("tif", lambda path: rgb().convert("CMYK").save(path), True, 0),
    "CMYK jpeg": ("jpg", lambda path: rgb().convert("CMYK").save(path, quality=100), True, 60),
    "palette": ("png", lambda path: palette().save(path), True, 48),
    "palette gif": ("gif", lambda path: palette().save(path), True, 48),
    "palette, one clear colour": ("png", lambda path: palette().save(path, transparency=3), True, 48),
    "palette, clear colours": ("png", save_palette_with_clear_colours, True, 48),
    "grey": ("png", lambda path: Image.fromarray(RAMP).save(path), False, 0),
    "grey pgm": ("pgm", lambda path: Image.fromarray(RAMP).save(path), False, 0),
    "grey with alpha": ("png", lambda path: Image.fromarray(RAMP).convert("LA").save(path), False, 0),
    "16 bits": ("png", lambda path: Image.fromarray(WIDE).save(path), False, 0),
    "16 bits tiff": ("tif", lambda path: Image.fromarray(WIDE).save(path), False, 0),
    "16 bits, other byte order": ("tif", lambda path: Image.fromarray(WIDE.astype(">u2")).save(path), False, 0),
    "16 bits pgm": ("pgm", lambda path: Image.fromarray(WIDE).save(path), False, 0),
    "32 bits": ("tif", lambda path: Image.fromarray(WIDE.astype(np.int32)).save(path), False, 0),
}


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("case", FILES)
def test_files_of_every_mode(tmp_path: Path, case: str, channels: int) -> None:
    suffix, save, coloured, tolerance = FILES[case]
    path = tmp_path / f"image.{suffix}"
    save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = FileImages([path], channels).open(0)
    assert image.mode == ("RGB" if channels == 3 else "L") and image.size == (16, 16)
    colours = COLOURS if coloured else np.stack([RAMP] * 3, axis=2)
    expected = colours if channels == 3 else np.asarray(Image.fromarray(colours).convert("L"))
    assert np.abs(np.asarray(image).astype(int) - expected).max() <= tolerance


def test_black_and_white(tmp_path: Path) -> None:
    Image.fromarray(RAMP > 127).save(tmp_path / "image.png")
    np.testing.assert_array_equal(np.asarray(FileImages([tmp_path / "image.png"], 1).open(0)), 255 * (RAMP > 127))


def test_floating_point_pixels_are_refused(tmp_path: Path) -> None:
    Image.fromarray(RAMP.astype(np.float32) / 255).save(tmp_path / "image.tif")
    with pytest.raises(InputError, match=r"image\.tif holds floating-point pixels of unknown range"):
        FileImages([tmp_path / "image.tif"], 3).open(0)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp", "gif", "ppm"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.8])
def test_truncated_files_are_named(tmp_path: Path, suffix: str, share: float) -> None:
    path = tmp_path / f"image.{suffix}"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"is not a readable image \(.+\); repair or remove it") as caught:
        open_file(path)
    assert str(caught.value).startswith(str(path)) and str(caught.value).count(str(path)) == 1


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.write_text("<html>"), id="text"),
        pytest.param(lambda path: path.mkdir(), id="a folder"),
        pytest.param(lambda path: None, id="nothing"),
    ],
)
def test_what_is_no_image(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "image.png")
    with pytest.raises(InputError, match=r"image\.png is not a readable image"):
        open_file(tmp_path / "image.png")


def test_a_decompression_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rgb().save(tmp_path / "image.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(InputError, match=r"image\.png is not a readable image \(.*exceeds limit"):
        open_file(tmp_path / "image.png")


def test_array_images_keep_their_pixels() -> None:
    array = np.random.default_rng(0).integers(0, 256, (5, 4, 6, 3), dtype=np.uint8)
    images = ArrayImages.from_nhwc(array)
    assert len(images) == 5 and images.channels == 3
    np.testing.assert_array_equal(images.pixels.numpy(), array.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(images.take([3, 0, 3]).pixels.numpy(), array[[3, 0, 3]].transpose(0, 3, 1, 2))
    assert len(images.take([])) == 0


def test_taking_from_files() -> None:
    images = FileImages(
        ["a", "b", "c"], 1, lambda name: Image.new("RGB", (1, 1), {"a": "red", "c": "white"}[str(name)])
    )
    taken = images.take([2, 0])
    assert len(taken) == 2 and taken.channels == 1
    assert [taken.open(i).getpixel((0, 0)) for i in range(2)] == [255, 76]


def test_taking_examples_keeps_labels_and_classes() -> None:
    whole = ImageSet(
        ArrayImages(torch.arange(4, dtype=torch.uint8).view(4, 1, 1, 1)), torch.arange(4), ("a", "b", "c", "d")
    )
    part = whole.take([3, 1])
    assert isinstance(part.images, ArrayImages)
    assert part.labels.tolist() == [3, 1] == part.images.pixels.flatten().tolist()
    assert part.classes == whole.classes and len(part) == 2


def test_splits_by_name() -> None:
    part = ImageSet(ArrayImages(torch.zeros(2, 1, 1, 1, dtype=torch.uint8)), torch.arange(2), ("a", "b"))
    data = Data("mine", part, None, part.take([0]), 1, (0.5,), (0.5,))
    assert data.split("train") is part and len(data.split("test")) == 1
    assert (data.classes, data.channels) == (("a", "b"), 1)
    for name in ("validation", "trian"):
        with pytest.raises(InputError, match=f"mine has no split '{name}'"):
            data.split(name)
