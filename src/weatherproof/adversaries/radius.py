"""The radius at which one network corrupts as another does: the distributions of their SSIM distances match."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..measures import ssim
from .ada import AdversarialAugment

LEAST, MOST = 1e-4, 1.0
GOLDEN = (math.sqrt(5) - 1) / 2
TOLERANCE = 0.01  # relative, of the radius


@dataclass(frozen=True)
class Match:
    """A radius, the SSIM distances at it, (N,), and how far their distribution is from the one that was wanted."""

    radius: float
    distances: Tensor
    gap: float


def ssim_distances(
    ada: AdversarialAugment, images: Tensor, classifier: nn.Module | None = None, labels: Tensor | None = None,
    seed: int = 0, origin: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """1 - SSIM between images, or `origin` in their place, and what `ada` makes of them, (N,), float64. Without a
    classifier `ada` has no steps, and perturbs at random. A seed fixes the random starts: they are the same directions
    at every radius."""
    if classifier is None and ada.steps:
        raise InputError(f"{ada.steps} steps of ascent need a classifier to climb on; without one there are 0 steps")
    labels = torch.zeros(len(images), dtype=torch.int64) if labels is None else labels
    corrupted = ada(classifier or nn.Identity(), images, labels, torch.Generator().manual_seed(seed))
    pairs = zip(torch.split(images if origin is None else origin, 128), torch.split(corrupted, 128), strict=True)
    return torch.cat([1 - ssim(*pair) for pair in pairs]).double().cpu()


def gap(a: Tensor, b: Tensor) -> float:
    """The distance of two distributions, given as many samples of each: Wasserstein's first, the area between their
    cumulative distributions."""
    return float((a.sort().values - b.sort().values).abs().mean())


def matching_radius(
    distances_at: Callable[[float], Tensor], wanted: Tensor, report: Callable[[Match], None] | None = None
) -> Match:
    """The radius in [1e-4, 1], within 1%, whose distances are distributed most like `wanted`; `report` sees each trial.

    Distances grow with the radius, so that the gap first falls and then rises: a golden-section search of log(radius).
    """

    trials: list[Match] = []

    def gap_at(logarithm: float) -> float:
        distances = distances_at(math.exp(logarithm))
        trials.append(Match(math.exp(logarithm), distances, gap(distances, wanted)))
        if report:
            report(trials[-1])
        return trials[-1].gap

    low, high = math.log(LEAST), math.log(MOST)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    gap_left, gap_right = gap_at(left), gap_at(right)
    while high - low > TOLERANCE:
        if gap_left <= gap_right:
            high, right, gap_right = right, left, gap_left
            left = high - GOLDEN * (high - low)
            gap_left = gap_at(left)
        else:
            low, left, gap_left = left, right, gap_right
            right = low + GOLDEN * (high - low)
            gap_right = gap_at(right)
    return min(trials, key=lambda match: match.gap)
