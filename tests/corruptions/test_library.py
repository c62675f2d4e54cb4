"""The batched corruptions against the package imagecorruptions, which has the ImageNet scale only."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from photographs import crops, cuts_of_files, photographs
from test_oracle import DETERMINISTIC, RANDOM, assert_alike, share_within_one

from weatherproof import corrupt
from weatherproof.corruptions import SEVERITIES
from weatherproof.data import ArrayImages, open_data

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    imagecorruptions = pytest.importorskip("imagecorruptions")

# Where the package departs from the original, we follow the original (tests/corruptions/oracle, test_oracle.py):
DEPARTURES = {
    "frost": "six photographs instead of five, enlarged by 1.1",
    "elastic_transform": "other strengths, and no affine jolt",
    "motion_blur": "moves the other way, without rounding, and stops at the border instead of repeating the edge",
    "snow": "falls by that motion blur",
    "spatter": "black where no drop forms, as in the original, which at 32 pixels happens often",
}


def theirs(images: np.ndarray, name: str, severity: int) -> np.ndarray:
    """Each image by itself."""
    np.random.seed(severity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.stack([imagecorruptions.corrupt(i, corruption_name=name, severity=severity) for i in images])


@pytest.mark.slow
@pytest.mark.parametrize("name", DETERMINISTIC)
@pytest.mark.parametrize("side", [32, 224])
def test_what_is_not_random_is_equal(side: int, name: str) -> None:
    check_equal(name, crops(64) if side == 32 else photographs(16, side))


@pytest.mark.slow
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_what_is_not_random_is_equal_on_published_images(name: str, real_data: Path, real_cifar10: Path) -> None:
    """64 photographs of ImageNet at 224 pixels, 64 test images of CIFAR-10."""
    if not (real_data / "imagenet-samples").is_dir():
        pytest.skip("$WEATHERPROOF_DATA holds no imagenet-samples")
    check_equal(name, cuts_of_files(real_data / "imagenet-samples", 64, 224))
    test_set = open_data("cifar10", real_data).test.images
    assert isinstance(test_set, ArrayImages)
    check_equal(name, test_set.pixels[:64].permute(0, 2, 3, 1).numpy())


def check_equal(name: str, images: np.ndarray) -> None:
    """At every severity, to within one of 255 for 99.5% of the values."""
    for severity in SEVERITIES:
        ours = corrupt(images, name, severity, "imagenet")
        assert share_within_one(ours, theirs(images, name, severity)) >= 0.995, f"severity {severity}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RANDOM if name not in DEPARTURES])
def test_what_is_random_is_alike(name: str) -> None:
    images = crops(512)
    for severity in SEVERITIES:
        ours = corrupt(images, name, severity, "imagenet")
        assert_alike(ours, theirs(images, name, severity), images, f"{name} {severity}")
