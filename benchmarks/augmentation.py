"""Crop and flip for a whole batch against a loop over its images."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from weatherproof.augment import CropFlip

from .timing import Row, side_by_side

BATCHES = (128, 1024)  # the desk's and the paper's
IN_A_ROW = 10  # batches a turn, as in an epoch


def rows() -> list[Row]:
    """At both batch sizes."""
    return [_row(size) for size in BATCHES]


def _row(size: int) -> Row:
    images = torch.randint(0, 256, (size, 3, 32, 32), dtype=torch.uint8)
    generator, augmentation = torch.Generator().manual_seed(0), CropFlip()
    ours, theirs = side_by_side(
        lambda: _in_a_row(lambda: augmentation(images, generator)),
        lambda: _in_a_row(lambda: per_image(images, generator)),
        repeats=20,
    )
    return Row(f"crop and flip, {size} images: batched / per image", ours, theirs, 1 / 20)


def _in_a_row(action: Callable[[], Tensor]) -> None:
    """Each batch is let go before the next one comes, as in training."""
    for _ in range(IN_A_ROW):
        action()


def per_image(images: Tensor, generator: torch.Generator, pad: int = 4) -> Tensor:
    """The same augmentation as one writes it for a single image."""
    augmented = []
    for image in images:
        padded = functional.pad(image, (pad, pad, pad, pad))
        top, left = torch.randint(0, 2 * pad + 1, (2,), generator=generator).tolist()
        crop = padded[:, top : top + image.shape[1], left : left + image.shape[2]]
        augmented.append(crop.flip(2) if torch.rand((), generator=generator) < 0.5 else crop)
    return torch.stack(augmented)
