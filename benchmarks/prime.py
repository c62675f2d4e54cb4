"""What PRIME adds to a training step of the small classifier.

python -m benchmarks prime
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from weatherproof import Prime, classifier
from weatherproof.augment import CropFlip
from weatherproof.images import to_unit

from .timing import Row, side_by_side

BATCH, SIDE = 128, 32


def rows() -> list[Row]:
    """Nominal steps in turns with steps that put PRIME between crop and forward pass."""
    return [_row(low) for low in (False, True)]


def _row(low: bool) -> Row:
    """With the network in bfloat16 where `low`, as the small recipes train."""
    step, prime, generator = nominal_step(low), Prime(), torch.Generator().manual_seed(0)
    ours, theirs = side_by_side(
        lambda: step(lambda images: prime(images, generator)), lambda: step(lambda images: images), repeats=20
    )
    precision = "bfloat16" if low else "float32"
    return Row(f"training step, {BATCH} images, {precision}: with prime / nominal", ours, theirs, 1.6)


def nominal_step(low: bool) -> Callable[[Callable[[Tensor], Tensor]], None]:
    """A step of resnet_small, crop and flip included, that changes its images once more before the forward pass."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = classifier("resnet_small").to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    generator, augmentation = torch.Generator().manual_seed(1), CropFlip()
    pixels = torch.randint(0, 256, (BATCH, 3, SIDE, SIDE), generator=generator, dtype=torch.uint8)
    labels = torch.randint(0, 10, (BATCH,), generator=generator)

    def step(change: Callable[[Tensor], Tensor]) -> None:
        images = change(to_unit(augmentation(pixels, generator))).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low):
            loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step
