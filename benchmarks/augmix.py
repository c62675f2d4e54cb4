"""AugMix for a whole batch against the reference's procedure, image by image with Pillow; and its share of a step.

    python -m benchmarks augmix

Both sides compute on as many threads as torch has been given, which for Pillow is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor
from torch.nn import functional

from weatherproof import AugMix, classifier
from weatherproof.augment.operations import NINE
from weatherproof.data.photos10 import load_photos10

from .timing import Row, side_by_side

PROMISES = ((128, 32, 1 / 6), (32, 224, 1 / 2))  # images, side, at most
SHARE = 0.35
REPEATS = 15


def rows() -> list[Row]:
    """At both sizes, and beside a step of ordinary training, in float32 and in bfloat16."""
    return [
        *(_against_pillow(*promise) for promise in PROMISES),
        *(_share_of_a_step(precision) for precision in (torch.float32, torch.bfloat16)),
    ]


def _against_pillow(count: int, side: int, at_most: float) -> Row:
    images = [Image.fromarray(crop).resize((side, side)) for crop in load_photos10()[2][:count]]
    batch = torch.stack([as_tensor(image) for image in images])
    augmix, generator, rng = AugMix(), torch.Generator().manual_seed(0), np.random.default_rng(0)
    ours, theirs = side_by_side(
        lambda: augmix(batch, generator),
        lambda: torch.stack([augment_and_mix(image, rng) for image in images]),
        REPEATS,
    )
    return Row(f"AugMix, {count} images of {side} pixels: batched / one by one with Pillow", ours, theirs, at_most)


def _share_of_a_step(precision: torch.dtype, count: int = 128) -> Row:
    pixels, labels = load_photos10()[:2]
    images = torch.from_numpy(pixels[:count]).permute(0, 3, 1, 2).float().div(255)
    targets = torch.from_numpy(labels[:count]).long()
    images = images.contiguous(memory_format=torch.channels_last)
    model = classifier("resnet_small").to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    augmix, generator = AugMix(), torch.Generator().manual_seed(0)

    def step() -> None:
        with torch.autocast("cpu", dtype=precision, enabled=precision != torch.float32):
            loss = functional.cross_entropy(model(images), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    ours, theirs = side_by_side(lambda: augmix(images, generator), step, REPEATS)
    name = str(precision).removeprefix("torch.")
    return Row(f"AugMix, {count} images / a nominal step of resnet_small, {name}", ours, theirs, SHARE)


def _affine(image: Image.Image, *matrix: float) -> Image.Image:
    return image.transform(image.size, Image.Transform.AFFINE, matrix, resample=Image.Resampling.BILINEAR)


PILLOW: dict[str, Callable[[Image.Image, Any], Image.Image]] = {
    "autocontrast": lambda image, _: ImageOps.autocontrast(image),
    "equalize": lambda image, _: ImageOps.equalize(image),
    "posterize": ImageOps.posterize,
    "rotate": lambda image, degrees: image.rotate(degrees, resample=Image.Resampling.BILINEAR),
    "solarize": ImageOps.solarize,
    "shear_x": lambda image, level: _affine(image, 1, level, 0, 0, 1, 0),
    "shear_y": lambda image, level: _affine(image, 1, 0, 0, level, 1, 0),
    "translate_x": lambda image, pixels: _affine(image, 1, 0, pixels, 0, 1, 0),
    "translate_y": lambda image, pixels: _affine(image, 1, 0, 0, 0, 1, pixels),
    "color": lambda image, factor: ImageEnhance.Color(image).enhance(factor),
    "contrast": lambda image, factor: ImageEnhance.Contrast(image).enhance(factor),
    "brightness": lambda image, factor: ImageEnhance.Brightness(image).enhance(factor),
    "sharpness": lambda image, factor: ImageEnhance.Sharpness(image).enhance(factor),
}
"""The reference's operations: an image and how strong, to an image."""


def strength(name: str, level: float, sign: float, size: tuple[int, int]) -> float | int:
    """How strong the reference makes an operation at a level, for images of this width and height."""
    width, height = size
    if name == "posterize":
        return 4 - int(level * 4 / 10)
    if name == "solarize":
        return 256 - int(level * 256 / 10)
    if name == "rotate":
        return sign * int(level * 30 / 10)
    if name in ("shear_x", "shear_y"):
        return sign * level * 0.3 / 10
    if name in ("translate_x", "translate_y"):
        return sign * int(level * ((width if name == "translate_x" else height) / 3) / 10)
    return level * 1.8 / 10 + 0.1


def augment_and_mix(image: Image.Image, rng: np.random.Generator, severity: float = 3, width: int = 3) -> Tensor:
    """The reference's procedure: float (C, H, W) in [0, 1]."""
    names, chains = list(NINE), []
    weights, share = rng.dirichlet([1] * width), rng.beta(1, 1)
    for _ in range(width):
        drawn = ((names[rng.integers(len(names))], rng.uniform(0.1, severity)) for _ in range(rng.integers(1, 4)))
        chains.append([(name, strength(name, level, 2 * rng.integers(2) - 1, image.size)) for name, level in drawn])
    return mixed(image, chains, weights.tolist(), share)


def mixed(
    image: Image.Image, chains: list[list[tuple[str, float | int]]], weights: list[float], share: float
) -> Tensor:
    """(1 - m) x + m sum_i w_i c_i(x)"""
    clean = as_tensor(image)
    mix = torch.zeros_like(clean)
    for chain, weight in zip(chains, weights, strict=True):
        changed = image.copy()
        for name, how_strong in chain:
            changed = PILLOW[name](changed, how_strong)
        mix += weight * as_tensor(changed)
    return (1 - share) * clean + share * mix


def as_tensor(image: Image.Image) -> Tensor:
    """Float (C, H, W) in [0, 1]."""
    pixels = torch.from_numpy(np.array(image))
    return (pixels.permute(2, 0, 1) if pixels.ndim == 3 else pixels[None]).contiguous().float().div_(255)
