"""The common corruptions against imagecorruptions, one call an image, as that package has them; and their share of the
time that an evaluation takes.

Both sides compute on as many threads as torch has been given, on the ImageNet scale, the only one that the package has,
at all five severities; times are of 1,000 images. Where both call the same library on every image (Pillow's JPEG), no
more than 0.9 times its speed is promised.
"""

from __future__ import annotations

import multiprocessing
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from PIL import Image

import weatherproof
from weatherproof import CORRUPTIONS, EXTRA_CORRUPTIONS, corrupt
from weatherproof.corruptions import SEVERITIES
from weatherproof.data.photos10 import load_photos10

from .timing import Row, seconds, side_by_side

NAMES = (*CORRUPTIONS, *EXTRA_CORRUPTIONS)
SAME_CODEC = ("jpeg_compression",)
CIFAR_TEST_SET = 10_000  # images
REPEATS = 3


def rows() -> list[Row]:
    """Each corruption and all of them at 32 pixels, all at 224; a whole CIFAR-10-C; the share in evaluations."""
    small, large = _images(32, 400), _images(224, 12)
    at_32, at_224 = ([_against_library(name, images) for name in NAMES] for images in (small, large))
    return [
        *at_32,
        _total(at_32, "all 19, 32 pixels: batched / one by one", 1 / 12),
        _total(at_224, "all 19, 224 pixels: batched / one by one", 1 / 4),
        *_whole_set(),
        _share("resnet_small", 500, 0.4),
        _share("preact_resnet18", 40, 0.1),
    ]


def _images(side: int, count: int) -> np.ndarray:
    """Crops of photographs: uint8 (count, side, side, 3)."""
    crops = load_photos10()[2][:count]
    if side == crops.shape[1]:
        return crops
    enlarged = [Image.fromarray(crop).resize((side, side), Image.Resampling.BICUBIC) for crop in crops]
    return np.stack([np.asarray(image) for image in enlarged])


def _against_library(name: str, images: np.ndarray) -> Row:
    """Seconds for 1,000 images on either side."""
    library = _library()

    def ours() -> None:
        for severity in SEVERITIES:
            corrupt(images, name, severity, "imagenet")

    def theirs(some: np.ndarray) -> None:
        for severity in SEVERITIES:
            for image in some:
                library(image, name, severity)

    theirs(images[:1])  # compiles what it compiles
    # Both sides run for about as long, so that a busy moment of the machine hits both alike.
    few = int(np.clip(seconds(ours) / seconds(lambda: theirs(images[:1])), 1, len(images)))
    times = side_by_side(ours, lambda: theirs(images[:few]), REPEATS)
    at_most = 1 / 0.9 if name in SAME_CODEC else 1 / 3
    of_one = [1_000 * time / len(SEVERITIES) / count for time, count in zip(times, (len(images), few), strict=True)]
    return Row(f"{name}, {images.shape[1]} pixels: batched / one by one", *of_one, at_most)


def _library() -> Callable[[np.ndarray, str, int], Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what numba and pkg_resources have to say
        import cv2
        import imagecorruptions
    warnings.filterwarnings("ignore", module="imagecorruptions")  # it divides by zero where no drop forms
    cv2.setNumThreads(torch.get_num_threads())
    return lambda image, name, severity: imagecorruptions.corrupt(image, corruption_name=name, severity=severity)


def _total(found: list[Row], label: str, at_most: float) -> Row:
    return Row(label, sum(row.ours for row in found), sum(row.theirs for row in found), at_most)


def _whole_set() -> list[Row]:
    """19 corruptions at 5 severities of 10,000 images, in a process of its own: time, and memory beyond the images."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        spent, memory = pool.apply(_corrupt_whole_set, (torch.get_num_threads(),))
    count = len(NAMES) * len(SEVERITIES) * CIFAR_TEST_SET
    return [
        Row(f"{count:,} images for a CIFAR-10-C / 2 minutes", spent, 120, 1.0),
        Row("the same, memory beyond the images / 1 GB", memory / 1e9, 1.0, 1.0, unit="GB"),
    ]


def _corrupt_whole_set(threads: int) -> tuple[float, int]:
    torch.set_num_threads(threads)
    crops = load_photos10()[2]
    images = np.tile(crops, (-(-CIFAR_TEST_SET // len(crops)), 1, 1, 1))[:CIFAR_TEST_SET]
    before = _peak()
    start = time.perf_counter()
    for name in NAMES:
        for severity in SEVERITIES:
            corrupt(images, name, severity, "cifar")
    return time.perf_counter() - start, _peak() - before


def _peak() -> int:
    """The most memory that this process has had so far, in bytes, as Linux tells it. (What getrusage tells begins with
    what the parent had.)"""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.findall(r"^VmHWM:\s+(\d+) kB$", status, flags=re.MULTILINE)[0])


def _share(network: str, count: int, at_most: float) -> Row:
    """Seconds spent on corrupting, and on the whole evaluation of the 15 corruptions at all severities."""
    images, labels = load_photos10()[2:4]
    chosen = np.linspace(0, len(images) - 1, count).astype(int)
    spent: list[float] = []

    def timed(*arguments: Any, **options: Any) -> Any:
        found: list[Any] = []
        spent.append(seconds(lambda: found.append(corrupt(*arguments, **options))))
        return found[0]

    classifier = weatherproof.classifier(network, classes=10)
    with mock.patch("weatherproof.evaluation.corruptions.corrupt", timed):
        whole = seconds(lambda: weatherproof.evaluate(classifier, images[chosen], labels[chosen], "corruptions"))
    return Row(f"evaluating {network}: corrupting / all of it", sum(spent), whole, at_most)
