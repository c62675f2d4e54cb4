"""AugMix (Hendrycks et al. 2020): an image mixed with what chains of simple operations make of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError, did_you_mean
from .border import ImageAugmentation
from .operations import NINE, OPERATIONS

# Bytes of chains that are worked on together: on a processor as many as stay in its cache.
TOGETHER = {"cpu": 2**21}
TOGETHER_ELSEWHERE = 2**28


@dataclass(frozen=True)
class Draws:
    """What is random in a batch of B images: arrays whose first dimension is B."""

    operations: NDArray[np.int64]  # (B, width, depth): numbers of operations, -1 behind the end of a chain
    levels: NDArray[np.float64]  # (B, width, depth): from 0.1 to the severity
    signs: NDArray[np.float64]  # (B, width, depth): 1 or -1
    weights: NDArray[np.float64]  # (B, width): of the chains, with sum 1
    shares: NDArray[np.float64]  # (B,): of the mixed chains in the result, 0 to 1

    def part(self, first: int, last: int) -> Draws:
        """Those of the images first..last-1."""
        return Draws(*(array[first:last] for array in vars(self).values()))


class AugMix(ImageAugmentation):
    """``(images, generator=None) -> images``: (1 - m) x + m (w_1 c_1(x) + ... + w_k c_k(x)), for each image its own.

    Every chain c_i is 1 to 3 operations one after the other, drawn with replacement: autocontrast, equalize, posterize,
    rotate, solarize, shear_x, shear_y, translate_x, translate_y. They act on bytes, as Pillow does it: floats are
    rounded to 1/255 for them, while x itself stays as it is. Images are float NCHW in [0, 1], or uint8 NHWC, of any
    size, grey or RGB; what comes back is of the same kind.

    width: k, how many chains are mixed.
    depth: of every chain; -1 draws 1, 2 or 3 for each.
    severity: above 0, up to 10; how strong an operation is is drawn from a tenth up to this.
    alpha: above 0; the weights w are drawn from Dirichlet(alpha, ..., alpha), m from Beta(alpha, alpha).
    all_ops: draw from color, contrast, brightness and sharpness as well, which the benchmarks' corruptions resemble.
    operations: draw from these alone, by name.
    """

    def __init__(
        self,
        width: int = 3,
        depth: int = -1,
        severity: float = 3,
        alpha: float = 1.0,
        all_ops: bool = False,
        operations: list[str] | None = None,
    ) -> None:
        if width < 1:
            raise InputError(f"AugMix mixes 1 chain or more; got width {width}")
        if depth != -1 and depth < 1:
            raise InputError(f"AugMix's chains are 1 operation deep or more, or -1 for 1 to 3; got depth {depth}")
        if not 0 < severity <= 10:
            raise InputError(f"AugMix's severity is above 0 and at most 10; got {severity}")
        if not 0 < alpha < math.inf:
            raise InputError(f"AugMix's alpha is above 0 and finite; got {alpha}")
        self.width, self.depth, self.severity, self.alpha = width, depth, severity, alpha
        self.operations = _names(all_ops, operations)

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        """What is random in a batch of `count` images; takes one number from the generator."""
        # numpy has these distributions, for any alpha, with a generator of its own; torch has not.
        rng = np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))
        low, high = sorted((0.1, self.severity))
        deepest = 3 if self.depth == -1 else self.depth
        shape = (count, self.width, deepest)
        depths = rng.integers(1, 4, shape[:2]) if self.depth == -1 else np.full(shape[:2], self.depth)
        operations = rng.integers(len(self.operations), size=shape)
        return Draws(
            operations=np.where(np.arange(deepest) < depths[..., None], operations, -1),
            levels=rng.uniform(low, high, shape),
            signs=rng.choice([1.0, -1.0], shape),
            weights=rng.dirichlet([self.alpha] * self.width, count),
            shares=rng.beta(self.alpha, self.alpha, count),
        )

    @torch.no_grad()
    def augment(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Float (B, C, H, W) in [0, 1] to the same; what an image becomes does not depend on its mates."""
        draws, mixed = self.draw(len(images), generator), torch.empty_like(images)
        budget = TOGETHER.get(images.device.type, TOGETHER_ELSEWHERE)
        parts = math.ceil(self.width * images.numel() / budget)
        bounds = np.linspace(0, len(images), min(parts, len(images)) + 1).astype(int).tolist()
        for first, end in pairwise(bounds):
            mixed[first:end] = self._mixed(images[first:end], draws.part(first, end))
        return mixed

    def _mixed(self, images: Tensor, draws: Draws) -> Tensor:
        """(1 - m) x + m sum_i w_i c_i(x), in float32 or better."""
        images = images if images.dtype == torch.float64 else images.float()
        ends, places = self._chains(images.mul(255).round_().to(torch.int16).to(torch.uint8).contiguous(), draws)
        share, factors = (
            torch.from_numpy(numbers).to(images.device, images.dtype)[..., None, None, None]
            for numbers in (draws.shares, draws.shares[:, None] * draws.weights / 255)
        )
        mixed = images * (1 - share)
        for i in range(self.width):
            mixed.addcmul_(ends.index_select(0, places[:, i]).to(images.dtype), factors[:, i])
        return mixed.clamp_(0, 1)

    def _chains(self, pixels: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """Bytes (B, C, H, W) to what all chains make of them (B width, C, H, W), in some order, and where each one
        is: (B, width)."""
        numbers, levels, signs = (x.reshape(-1, x.shape[2]) for x in (draws.operations, draws.levels, draws.signs))
        places = np.arange(len(pixels)).repeat(self.width)
        for step in range(numbers.shape[1]):
            # What the same operation comes to next is taken out, changed together and put behind the others.
            groups = [np.flatnonzero(numbers[:, step] == number) for number in range(-1, len(self.operations))]
            changed = []
            for name, chosen in zip([None, *self.operations], groups, strict=True):
                if len(chosen):
                    taken = pixels.index_select(0, torch.from_numpy(places[chosen]).to(pixels.device))
                    changed.append(_act(name, taken, levels[chosen, step], signs[chosen, step]) if name else taken)
            pixels = torch.cat(changed)
            places[np.concatenate(groups)] = np.arange(len(places))
        return pixels, torch.from_numpy(places.reshape(-1, self.width)).to(pixels.device)


def _act(name: str, pixels: Tensor, levels: NDArray[np.float64], signs: NDArray[np.float64]) -> Tensor:
    """One operation on all the images that it was drawn for."""
    operation = OPERATIONS[name]
    strength = operation.strength(levels, *pixels.shape[2:])
    strength = strength * signs if operation.signed else strength
    return operation.act(pixels, torch.from_numpy(strength).to(pixels.device))


def _names(all_ops: bool, operations: list[str] | None) -> list[str]:
    """Which operations to draw from."""
    if operations is None:
        return list(OPERATIONS if all_ops else NINE)
    if all_ops or not operations:
        raise InputError(f"AugMix wants all_ops or the names of some operations; got all_ops={all_ops}, {operations}")
    for name in operations:
        if name not in OPERATIONS:
            raise InputError(f"AugMix has no operation '{name}'{did_you_mean(str(name), OPERATIONS)}")
    return list(operations)
