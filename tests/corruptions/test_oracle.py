"""The batched corruptions against the same ones written out for one image, on the scales of CIFAR-10-C, Tiny-ImageNet-C
and ImageNet-C."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from oracle import corrupt_all, has_magick, magick_motion_blur
from oracle.tables import TABLES
from photographs import crops, photographs

from weatherproof import CORRUPTIONS, EXTRA_CORRUPTIONS, corrupt, ssim
from weatherproof.corruptions import SEVERITIES
from weatherproof.corruptions.filters import motion_blurred
from weatherproof.corruptions.tables import strength

DETERMINISTIC = (
    "brightness", "contrast", "saturate", "defocus_blur", "gaussian_blur", "zoom_blur", "pixelate", "jpeg_compression",
)  # fmt: skip
RANDOM = tuple(name for name in (*CORRUPTIONS, *EXTRA_CORRUPTIONS) if name not in (*DETERMINISTIC, "motion_blur"))
BY_MAGICK = ("snow", "motion_blur")
SIDES = {"cifar": 32, "tiny": 64, "imagenet": 224}


def needs_magick(name: str) -> None:
    """Skip what is held against ImageMagick where it is not installed."""
    if name in BY_MAGICK and not has_magick():
        pytest.skip("Wand or ImageMagick's library is not installed; Debian: libmagickwand-6.q16-6")


def share_within_one(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Of all values, those that differ by at most 1 of 255."""
    return float((np.abs(ours.astype(int) - theirs) <= 1).mean())


@pytest.mark.parametrize("name", [*CORRUPTIONS, *EXTRA_CORRUPTIONS])
@pytest.mark.parametrize("scale", list(TABLES))
def test_tables_say_the_same(scale: str, name: str) -> None:
    unit = {"cifar": 32, "tiny": 64, "imagenet": 244}[scale] if name == "elastic_transform" else 1
    for severity in SEVERITIES:
        theirs = np.atleast_1d(TABLES[scale][name][severity - 1]) * unit
        np.testing.assert_allclose(np.atleast_1d(strength(name, severity, scale)), theirs, rtol=1e-12)


@pytest.mark.parametrize("name", DETERMINISTIC)
@pytest.mark.parametrize("scale", list(SIDES))
def test_what_is_not_random_is_equal(scale: str, name: str) -> None:
    images = crops(64) if scale == "cifar" else photographs(16, SIDES[scale])
    for severity in SEVERITIES:
        ours, theirs = corrupt(images, name, severity, scale), corrupt_all(images, name, severity, scale)
        assert share_within_one(ours, theirs) >= 0.995, f"severity {severity}"


@pytest.mark.parametrize("scale", list(SIDES))
def test_motion_blur_is_equal_for_an_angle(scale: str) -> None:
    needs_magick("motion_blur")
    images = crops(16, 32) if scale == "cifar" else photographs(8, SIDES[scale])
    angles = np.linspace(-45, 45, len(images))
    for severity in SEVERITIES:
        row = strength("motion_blur", severity, scale)
        ours = motion_blurred(torch.from_numpy(images).float(), *row, torch.from_numpy(angles)).numpy()
        theirs = np.stack([magick_motion_blur(*pair[:1], *row, pair[1]) for pair in zip(images, angles, strict=True)])
        assert share_within_one(ours, theirs) >= 0.995, f"severity {severity}"


def statistics(images: np.ndarray, clean: np.ndarray) -> dict[str, float]:
    """Mean, deviation, power in three bands of spatial frequency, mean SSIM to the clean images."""
    values = images.astype(np.float64)
    grey = values.mean(axis=3)
    power = np.abs(np.fft.fft2(grey - grey.mean(axis=(1, 2), keepdims=True))) ** 2
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(images.shape[1]), np.fft.fftfreq(images.shape[2]), indexing="ij"))
    bands = {"low": frequency < 0.1, "middle": (frequency >= 0.1) & (frequency < 0.3), "high": frequency >= 0.3}
    return {
        "mean": values.mean(),
        "deviation": values.std(axis=(1, 2, 3)).mean(),
        **{f"{name} frequencies": float(np.sqrt(power[:, band].mean())) for name, band in bands.items()},
        "ssim": float(ssim(images, clean).mean()),
    }


def assert_alike(ours: np.ndarray, theirs: np.ndarray, clean: np.ndarray, case: str) -> None:
    """All statistics within 2%."""
    a, b = statistics(ours, clean), statistics(theirs, clean)
    apart = {name: f"{100 * (a[name] / b[name] - 1):+.1f}%" for name in a if not abs(a[name] / b[name] - 1) <= 0.02}
    assert not apart, f"{case}: {apart}"


def check_distribution(name: str, severities: tuple[int, ...], scale: str, images: np.ndarray) -> None:
    """Ours against the oracle's."""
    needs_magick(name)
    for severity in severities:
        ours = corrupt(images, name, severity, scale, frost="photographs")
        assert_alike(ours, corrupt_all(images, name, severity, scale), images, f"{name} {severity}, {scale}")


@pytest.mark.parametrize("name", [*RANDOM, "motion_blur"])
def test_what_is_random_is_alike(name: str) -> None:
    check_distribution(name, (3,), "cifar", crops(512))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RANDOM, "motion_blur"])
def test_what_is_random_is_alike_at_all_severities(name: str) -> None:
    check_distribution(name, (1, 2, 4, 5), "cifar", crops(512))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RANDOM, "motion_blur"])
def test_what_is_random_is_alike_on_the_scale_of_tiny_imagenet(name: str) -> None:
    check_distribution(name, (3,), "tiny", photographs(512, 64))
