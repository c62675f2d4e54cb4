"""How strong each corruption is at severities 1 to 5, on the three scales that were published.

CIFAR-10-C, Tiny-ImageNet-C and ImageNet-C are made by the same operations with these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

GROUPS: Mapping[str, tuple[str, ...]] = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
}
CORRUPTIONS: tuple[str, ...] = tuple(name for group in GROUPS.values() for name in group)
EXTRA_CORRUPTIONS: tuple[str, ...] = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
SEVERITIES: tuple[int, ...] = (1, 2, 3, 4, 5)
SCALES: tuple[str, ...] = ("cifar", "tiny", "imagenet")

_CIFAR: dict[str, Sequence[Any]] = {
    # standard deviation, of values in [0, 1]
    "gaussian_noise": (0.04, 0.06, 0.08, 0.09, 0.10),
    # photons that full brightness stands for
    "shot_noise": (500, 250, 100, 75, 50),
    # share of values that become 0 or 1
    "impulse_noise": (0.01, 0.02, 0.03, 0.05, 0.07),
    # standard deviation, of a factor around 1
    "speckle_noise": (0.06, 0.1, 0.12, 0.16, 0.2),
    # standard deviation in pixels
    "gaussian_blur": (0.4, 0.6, 0.7, 0.8, 1),
    # radius of the disk, standard deviation of what softens its rim
    "defocus_blur": ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
    # standard deviation of the blur before and after, how far a pixel comes from, rounds
    "glass_blur": ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    # radius, standard deviation
    "motion_blur": ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
    # largest zoom (not reached), step
    "zoom_blur": ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
    # mean, standard deviation, zoom and threshold of the flakes, radius and deviation of their fall, the image's share
    "snow": (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ),
    # weights of the image and of the ice
    "frost": ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
    # strength, how fast finer detail fades
    "fog": ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
    # added to the value of HSV
    "brightness": (0.05, 0.1, 0.15, 0.2, 0.3),
    # factor around the mean
    "contrast": (0.75, 0.5, 0.4, 0.3, 0.15),
    # factor of the saturation of HSV, and what is added to it
    "saturate": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    # strength and standard deviation of the warp, size of the affine jolt; in units of _ELASTIC_SIDE
    "elastic_transform": ((0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)),
    # side of the small image
    "pixelate": (0.95, 0.9, 0.85, 0.75, 0.65),
    # quality
    "jpeg_compression": (80, 65, 58, 50, 40),
    # mean, standard deviation, blur and threshold of the drops, their opacity or the blur of the mud; 0 water, 1 mud
    "spatter": (
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    ),
}

_TINY: dict[str, Sequence[Any]] = {
    "gaussian_noise": (0.04, 0.08, 0.12, 0.15, 0.18),
    "shot_noise": (250, 100, 50, 30, 15),
    "impulse_noise": (0.01, 0.02, 0.05, 0.08, 0.14),
    "speckle_noise": (0.15, 0.2, 0.25, 0.3, 0.35),
    "gaussian_blur": (0.5, 0.75, 1, 1.25, 1.5),
    "defocus_blur": ((0.5, 0.6), (1, 0.1), (1.5, 0.1), (2.5, 0.01), (3, 0.1)),
    "glass_blur": ((0.1, 1, 1), (0.5, 1, 1), (0.6, 1, 2), (0.7, 2, 1), (0.9, 2, 2)),
    "motion_blur": ((10, 1), (10, 1.5), (10, 2), (10, 2.5), (12, 3)),
    "zoom_blur": _CIFAR["zoom_blur"],
    "snow": tuple((*row[:-1], mix) for row, mix in zip(_CIFAR["snow"], (0.8, 0.8, 0.7, 0.65, 0.6), strict=True)),
    "frost": ((1, 0.3), (0.9, 0.4), (0.8, 0.45), (0.75, 0.5), (0.7, 0.55)),
    "fog": ((0.4, 3), (0.7, 3), (1, 2.5), (1.5, 2), (2, 1.75)),
    "brightness": (0.1, 0.2, 0.3, 0.4, 0.5),
    "contrast": (0.4, 0.3, 0.2, 0.1, 0.05),
    "saturate": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (30, 0.2)),
    "elastic_transform": (
        (0, 0, 0.08), (0.05, 0.3, 0.06), (0.1, 0.08, 0.06), (0.1, 0.03, 0.03), (0.16, 0.03, 0.02),
    ),
    "pixelate": (0.9, 0.8, 0.7, 0.6, 0.5),
    "jpeg_compression": (65, 58, 50, 40, 25),
    "spatter": (
        (0.62, 0.1, 0.7, 0.7, 0.6, 0),
        (0.65, 0.1, 0.8, 0.7, 0.6, 0),
        (0.65, 0.3, 1, 0.69, 0.6, 0),
        (0.65, 0.1, 0.7, 0.68, 0.6, 1),
        (0.65, 0.1, 0.5, 0.67, 0.6, 1),
    ),
}  # fmt: skip

_IMAGENET: dict[str, Sequence[Any]] = {
    "gaussian_noise": (0.08, 0.12, 0.18, 0.26, 0.38),
    "shot_noise": (60, 25, 12, 5, 3),
    "impulse_noise": (0.03, 0.06, 0.09, 0.17, 0.27),
    "speckle_noise": (0.15, 0.2, 0.35, 0.45, 0.6),
    "gaussian_blur": (1, 2, 3, 4, 6),
    "defocus_blur": ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
    "glass_blur": ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
    "motion_blur": ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
    "zoom_blur": ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    "snow": (
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ),
    "frost": ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
    "fog": ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
    "brightness": (0.1, 0.2, 0.3, 0.4, 0.5),
    "contrast": (0.4, 0.3, 0.2, 0.1, 0.05),
    "saturate": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    "elastic_transform": ((2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)),
    "pixelate": (0.6, 0.5, 0.4, 0.3, 0.25),
    "jpeg_compression": (25, 18, 15, 10, 7),
    "spatter": (
        (0.65, 0.3, 4, 0.69, 0.6, 0),
        (0.65, 0.3, 3, 0.68, 0.6, 0),
        (0.65, 0.3, 2, 0.68, 0.5, 0),
        (0.65, 0.3, 1, 0.65, 1.5, 1),
        (0.67, 0.4, 1, 0.65, 1.5, 1),
    ),
}

_TABLES = {"cifar": _CIFAR, "tiny": _TINY, "imagenet": _IMAGENET}

# The side that lengths of elastic_transform are in units of. 244 for ImageNet-C is as published, for images of 224.
_ELASTIC_SIDE = {"cifar": 32, "tiny": 64, "imagenet": 244}
# The factor by which the photographs of ice are resized.
FROST_RESIZE = {"cifar": 0.2, "tiny": 0.3, "imagenet": 1.0}


def strength(name: str, severity: int, scale: str) -> Any:
    """The numbers of a corruption at a severity on a scale; lengths in pixels."""
    found = _TABLES[scale][name][severity - 1]
    return tuple(length * _ELASTIC_SIDE[scale] for length in found) if name == "elastic_transform" else found


def scale_for(height: int, width: int) -> str:
    """The scale made for images of about this size: CIFAR's 32, Tiny-ImageNet's 64 or ImageNet's 224 pixels."""
    side = min(height, width)
    return "cifar" if side < 48 else "tiny" if side < 112 else "imagenet"
