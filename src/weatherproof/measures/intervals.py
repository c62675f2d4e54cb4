"""How sure we are of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..errors import InputError
from ..randomness import seed_of

T_DRAWS = 50_000  # of Student's t, whose tails are long where trainings are few


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
    return bootstrap_means((first - second)[:, None], confidence, draws, seed)[0]


def bootstrap_means(values: np.ndarray, confidence: float = 0.95, draws: int = 10_000, seed: int = 0) -> list[Interval]:
    """The mean of each column of (N, M) with its percentile bootstrap interval; all columns are resampled alike."""
    values = np.asarray(values, dtype=np.float64)
    return _bounded(values.mean(axis=0), _bootstrapped(values, confidence, draws, seed), confidence)


def paired_over_seeds(
    differences: np.ndarray, confidence: float = 0.95, draws: int = 10_000, seed: int = 0
) -> list[Interval]:
    """The means of (S, N, M) over S trainings and N images, with an interval that both of them widen.

    An entry is what two methods differ by, trained with one seed, on one image; each of the M columns is a quantity of
    its own. Images are resampled, as in `bootstrap_means`; trainings come in by Student's t of their means,

        mean + (bootstrapped mean - mean) + s / sqrt(S) * t_(S-1),   s^2 = sum_s (mean_s - mean)^2 / (S - 1),

    since of two to five trainings resampling makes far too little: its interval of three holds the truth four times
    out of five, not 19 out of 20. With S = 1 the interval is about that one training, and says nothing of others.
    """
    differences = np.asarray(differences, dtype=np.float64)
    if differences.ndim != 3 or 0 in differences.shape:
        raise InputError(f"wanted differences (trainings, images, quantities); got shape {differences.shape}")
    trainings = len(differences)
    means = differences.mean(axis=1)
    drawn = _bootstrapped(differences.mean(axis=0), confidence, draws, seed)
    if trainings > 1:
        drawn = np.tile(drawn, (-(-T_DRAWS // draws), 1))
        noise = np.random.default_rng(seed_of(seed, "trainings")).standard_t(trainings - 1, size=(len(drawn), 1))
        drawn += noise * means.std(axis=0, ddof=1) / trainings**0.5
    return _bounded(means.mean(axis=0), drawn, confidence)


def _bootstrapped(values: np.ndarray, confidence: float, draws: int, seed: int) -> np.ndarray:
    """(draws, M): means of the columns of (N, M) over images that are drawn with replacement."""
    if draws < 1 or len(values) == 0 or not np.isfinite(values).all():
        raise InputError(f"a bootstrap wants finite numbers and at least 1 draw; got {draws} draws")
    _normal_quantile(confidence)  # refuses a confidence outside (0, 1)
    generator = np.random.default_rng(seed_of(seed, "paired bootstrap"))
    return np.concatenate([_resampled_means(values, part, generator) for part in _parts(draws, len(values))])


def _bounded(values: np.ndarray, drawn: np.ndarray, confidence: float) -> list[Interval]:
    bounds = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return [Interval(*map(float, entry)) for entry in zip(values, *bounds, strict=True)]


def _resampled_means(values: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
    """(draws, M): a resampled mean is a product with how often each row was drawn."""
    count = len(values)
    times = np.stack([np.bincount(generator.integers(0, count, size=count), minlength=count) for _ in range(draws)])
    means: np.ndarray = times.astype(np.float64) @ values / count
    return means


def _parts(draws: int, size: int, limit: int = 2_000_000) -> list[int]:
    """Numbers of draws that add up to `draws`, each with at most `limit` values in memory."""
    step = max(1, limit // size)
    return [min(step, draws - start) for start in range(0, draws, step)]


def _normal_quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError(f"a confidence lies between 0 and 1; got {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)
