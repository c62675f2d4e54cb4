"""How sure we are of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..errors import InputError
from ..randomness import seed_of


@dataclass(frozen=True)
class Interval:
    """An estimate and the bounds of its confidence interval, all in the unit of the estimate."""

    value: float
    low: float
    high: float


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a proportion; 0 <= low <= value <= high <= 1, also at 0 and at 1."""
    if not 0 <= successes <= trials or trials < 1:
        raise InputError(f"cannot take a proportion of {successes} successes in {trials} trials")
    z = _normal_quantile(confidence)
    p = successes / trials
    # (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    middle = p + z**2 / (2 * trials)
    reach = z * (p * (1 - p) / trials + z**2 / (4 * trials**2)) ** 0.5
    scale = 1 + z**2 / trials
    return Interval(p, max(0.0, min(p, (middle - reach) / scale)), min(1.0, max(p, (middle + reach) / scale)))


def paired_bootstrap(
    a: Sequence[float] | np.ndarray,
    b: Sequence[float] | np.ndarray,
    confidence: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> Interval:
    """The mean of a - b over pairs (the same images, say), with its percentile bootstrap interval."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or len(first) == 0:
        raise InputError(f"wanted two vectors of one length; got shapes {first.shape} and {second.shape}")
    if draws < 1 or not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError(f"a bootstrap wants finite numbers and at least 1 draw; got {draws} draws")
    _normal_quantile(confidence)  # refuses a confidence outside (0, 1)
    differences = first - second
    generator = np.random.default_rng(seed_of(seed, "paired bootstrap"))
    means = np.concatenate([_resampled_means(differences, part, generator) for part in _parts(draws, len(first))])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(differences.mean()), float(low), float(high))


def _resampled_means(values: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
    drawn: np.ndarray = values[generator.integers(0, len(values), size=(draws, len(values)))]
    return np.asarray(drawn.mean(axis=1))


def _parts(draws: int, size: int, limit: int = 4_000_000) -> list[int]:
    """Numbers of draws that add up to `draws`, each with at most `limit` values in memory."""
    step = max(1, limit // size)
    return [min(step, draws - start) for start in range(0, draws, step)]


def _normal_quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError(f"a confidence lies between 0 and 1; got {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)
