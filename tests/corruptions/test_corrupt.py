"""What `corrupt` promises whatever the corruption: shapes, types, ranges, the same bytes again, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from photographs import crops
from PIL import Image

from weatherproof import CORRUPTIONS, EXTRA_CORRUPTIONS, InputError, corrupt
from weatherproof.corruptions import GROUPS, SCALES, SEVERITIES, SMALLEST, frost_in_use, scale_for
from weatherproof.corruptions.digital import through_jpeg
from weatherproof.corruptions.frost import PHOTOGRAPHS, PROCEDURAL

ALL = (*CORRUPTIONS, *EXTRA_CORRUPTIONS)
sides = st.integers(SMALLEST, 40)


def noise_images(count: int, height: int, width: int, channels: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, channels), dtype=np.uint8)


def test_there_are_15_and_4_in_the_published_order() -> None:
    assert [len(names) for names in (CORRUPTIONS, EXTRA_CORRUPTIONS)] == [15, 4]
    assert [name for group in GROUPS.values() for name in group] == list(CORRUPTIONS)
    assert CORRUPTIONS[:3] == ("gaussian_noise", "shot_noise", "impulse_noise")


@given(
    name=st.sampled_from(ALL),
    severity=st.sampled_from(SEVERITIES),
    scale=st.sampled_from([*SCALES, "auto"]),
    height=sides,
    width=sides,
    channels=st.sampled_from([1, 3]),
    count=st.integers(0, 4),
)
def test_bytes_in_bytes_out(
    name: str, severity: int, scale: str, height: int, width: int, channels: int, count: int
) -> None:
    images = noise_images(count, height, width, channels)
    before = images.copy()
    changed = corrupt(images, name, severity, scale)
    assert changed.dtype == np.uint8 and changed.shape == images.shape
    assert (images == before).all()
    assert (corrupt(images, name, severity, scale) == changed).all()


@given(
    name=st.sampled_from(ALL),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.float16]),
    height=sides,
    width=sides,
)
def test_floats_are_bytes_over_255(name: str, dtype: torch.dtype, height: int, width: int) -> None:
    images = noise_images(2, height, width, 3)
    floats = torch.from_numpy(images).permute(0, 3, 1, 2).to(dtype) / 255
    changed = corrupt(floats, name, 3)
    assert changed.dtype == dtype and changed.shape == floats.shape
    expected = torch.from_numpy(corrupt(images, name, 3)).permute(0, 3, 1, 2).to(dtype) / 255
    assert torch.equal(changed, expected)


@given(
    name=st.sampled_from(ALL),
    severity=st.sampled_from(SEVERITIES),
    order=st.permutations(range(12)),
    size=st.integers(1, 12),
    threads=st.sampled_from([1, 2]),
)
def test_an_image_comes_out_the_same_whatever_it_is_batched_with(
    name: str, severity: int, order: list[int], size: int, threads: int
) -> None:
    images = crops(12)
    whole = corrupt(images, name, severity)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for first in range(0, 12, size):
            part = order[first : first + size]
            assert (corrupt(images[part], name, severity, numbers=part) == whole[part]).all()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", ALL)
def test_a_set_larger_than_what_is_worked_on_at_once(name: str) -> None:
    images = np.tile(crops(4), (100, 1, 1, 1))  # 400 images; 85 are worked on at once
    changed = corrupt(images, name, 2)
    assert (corrupt(images[395:], name, 2, numbers=range(395, 400)) == changed[395:]).all()


@pytest.mark.parametrize("name", ALL)
def test_severities_and_seeds_differ(name: str) -> None:
    images = crops(8)
    outcomes = [corrupt(images, name, severity).tobytes() for severity in SEVERITIES]
    assert len(set(outcomes)) == 5
    random = corrupt(images, name, 3, seed=1).tobytes() != outcomes[2]
    deterministic = {"defocus_blur", "gaussian_blur", "zoom_blur", "brightness", "contrast", "saturate", "pixelate"}
    assert random == (name not in {*deterministic, "jpeg_compression"})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scale", SCALES)
def test_a_cuda_device_gives_what_a_processor_gives(scale: str, name: str) -> None:
    """Up to rounding; the draws are the same, since they are computed from integers."""
    images = torch.from_numpy(crops(8))
    for severity in SEVERITIES:
        there = corrupt(images.cuda(), name, severity, scale)
        assert there.device.type == "cuda"
        apart = (there.cpu().int() - corrupt(images, name, severity, scale).int()).abs()
        assert (apart <= 1).double().mean() >= 0.995, f"severity {severity}"


def test_images_of_a_set_have_draws_of_their_own() -> None:
    same = np.repeat(crops(1), 50, axis=0)
    changed = corrupt(same, "gaussian_noise", 3)
    assert len({image.tobytes() for image in changed}) == 50


@pytest.mark.parametrize(
    ("side", "scale"), [(8, "cifar"), (47, "cifar"), (48, "tiny"), (111, "tiny"), (112, "imagenet")]
)
def test_the_scale_that_auto_takes(side: int, scale: str) -> None:
    assert scale_for(side, side + 5) == scale
    images = noise_images(1, side, side, 3)
    assert (corrupt(images, "pixelate", 4) == corrupt(images, "pixelate", 4, scale)).all()


def test_the_extra_jpeg_pass_of_imagenet_c() -> None:
    images = torch.from_numpy(crops(3))
    twice = corrupt(images, "fog", 2, recompress=True)
    assert torch.equal(twice, through_jpeg(corrupt(images, "fog", 2), quality=85, optimize=True))


@pytest.mark.parametrize("name", ALL)
def test_gradients_and_modes_are_left_alone(name: str) -> None:
    images = torch.rand(1, 3, 16, 16, requires_grad=True)
    assert not corrupt(images, name, 1).requires_grad
    assert torch.is_grad_enabled()


REFUSED = {
    "an unknown name": (lambda x: corrupt(x, "gausian_noise", 1), "did you mean 'gaussian_noise'"),
    "severity 0": (lambda x: corrupt(x, "fog", 0), "whole numbers from 1 to 5; got 0"),
    "severity 6": (lambda x: corrupt(x, "fog", 6), "got 6"),
    "severity 1.5": (lambda x: corrupt(x, "fog", 1.5), "got 1.5"),  # type: ignore[arg-type]
    "severity True": (lambda x: corrupt(x, "fog", True), "got True"),
    "an unknown scale": (lambda x: corrupt(x, "fog", 1, "cifar10"), "did you mean 'cifar'"),
    "too small": (lambda x: corrupt(x[:, :7], "snow", 1), "snow needs images of at least 8x8 .* got 7x32"),
    "no batch": (lambda x: corrupt(x[0], "fog", 1), "got 3 dimensions"),
    "RGBA": (lambda x: corrupt(np.concatenate([x, x[..., :1]], 3), "fog", 1), "with 1 or 3 channels"),
    "two-dimensional grey": (lambda x: corrupt(x[..., 0], "fog", 1), "got 3 dimensions"),
    "integers": (lambda x: corrupt(x.astype(np.int64), "fog", 1), "got int64"),
    "NaN": (lambda x: corrupt(torch.full((1, 3, 9, 9), torch.nan), "fog", 1), "NaN"),
    "beyond 1": (lambda x: corrupt(torch.full((1, 3, 9, 9), 1.5), "fog", 1), "values from 1.5 to 1.5"),
    "too few numbers": (lambda x: corrupt(x, "fog", 1, numbers=[1]), "a whole number for each of 2 images"),
    "numbers that are not whole": (lambda x: corrupt(x, "fog", 1, numbers=[1.5, 2]), "a whole number for each"),
    "a group": (lambda x: corrupt(x, "blur", 1), "blur is a group of corruptions; corrupt takes one of them: defocus"),
    "severity of another type": (lambda x: corrupt(x, "fog", 1.0), "severities are whole numbers from 1 to 5; got 1.0"),  # type: ignore[arg-type]
    "no name": (lambda x: corrupt(x, None, 1), "there is no corruption 'None'"),  # type: ignore[arg-type]
    "misspelt frost": (lambda x: corrupt(x, "frost", 1, frost="procedrual"), "did you mean 'procedural'"),
    "frost from nowhere": (lambda x: corrupt(x, "frost", 1, frost="/nowhere"), "there is no '/nowhere'"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refusals(case: str) -> None:
    call, sentence = REFUSED[case]
    with pytest.raises(InputError, match=sentence):
        call(crops(2))


def test_frost_from_a_folder_of_ones_own(tmp_path: Path) -> None:
    red = np.zeros((200, 300, 3), np.uint8)
    red[..., 0] = 200
    Image.fromarray(red).save(tmp_path / "red.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    changed = corrupt(np.zeros((1, 32, 32, 3), np.uint8), "frost", 1, frost=str(tmp_path))
    assert (changed == [40, 0, 0]).all()  # 0.2 x 200


def test_frost_is_cut_from_pictures_that_are_smaller_than_the_image(tmp_path: Path) -> None:
    Image.fromarray(np.full((20, 20, 3), 100, np.uint8)).save(tmp_path / "small.png")
    changed = corrupt(np.zeros((1, 224, 224, 3), np.uint8), "frost", 1, frost=str(tmp_path))
    assert (changed == 40).all()


def test_a_folder_without_pictures_or_with_a_broken_one_is_refused(tmp_path: Path) -> None:
    images = crops(1)
    with pytest.raises(InputError, match="no photographs"):
        corrupt(images, "frost", 1, frost=str(tmp_path))
    Image.fromarray(np.full((60, 60, 3), 100, np.uint8)).save(tmp_path / "frost1.png")
    data = (tmp_path / "frost1.png").read_bytes()
    (tmp_path / "frost1.png").write_bytes(data[:60])
    with pytest.raises(InputError, match=r"frost1\.png is a broken photograph"):
        corrupt(images, "frost", 1, frost=str(tmp_path))


def test_which_frost_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert frost_in_use("auto") == PROCEDURAL
    assert frost_in_use("/a/folder") == "/a/folder"
    with pytest.raises(InputError, match="not installed"):
        frost_in_use(PHOTOGRAPHS)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert frost_in_use("auto") == PHOTOGRAPHS
