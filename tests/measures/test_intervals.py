"""Confidence intervals against scipy, and by their promise: they cover the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap, ttest_1samp

from weatherproof.errors import InputError
from weatherproof.measures import Interval, paired_bootstrap, paired_over_seeds, wilson


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 1), (1, 1), (0, 10), (10, 10), (1, 10), (5, 10), (99, 100), (9123, 10_000)]
)
def test_wilson_is_scipys(successes: int, trials: int, confidence: float) -> None:
    interval = wilson(successes, trials, confidence)
    expected = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert interval.value == successes / trials
    assert interval.low == pytest.approx(expected.low, abs=1e-12)
    assert interval.high == pytest.approx(expected.high, abs=1e-12)


def test_wilson_takes_95_percent() -> None:
    assert wilson(3, 7) == wilson(3, 7, 0.95) != wilson(3, 7, 0.9)


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.01, 0.999))
def test_wilson_is_ordered(counts: tuple[int, int], confidence: float) -> None:
    interval = wilson(*counts, confidence)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high


@pytest.mark.parametrize(("successes", "trials"), [(-1, 10), (11, 10), (0, 0), (1, 0), (0, -3)])
def test_wilson_refuses_what_is_no_proportion(successes: int, trials: int) -> None:
    with pytest.raises(InputError, match=f"a proportion of {successes} successes in {trials} trials"):
        wilson(successes, trials)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95, float("nan")])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    for measure in (lambda: wilson(1, 2, confidence), lambda: paired_bootstrap([1], [2], confidence)):
        with pytest.raises(InputError, match="a confidence lies between 0 and 1"):
            measure()


def outcomes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classifiers' right (1) and wrong (0) answers on the same images; the second is right a bit less often."""
    generator = np.random.default_rng(seed)
    first = (generator.random(count) < 0.9).astype(float)
    return first, first * (generator.random(count) < 0.95)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("count", [50, 400])
def test_paired_bootstrap_is_scipys(count: int, confidence: float) -> None:
    a, b = outcomes(count)
    interval = paired_bootstrap(a.tolist(), b.tolist(), confidence, draws=20_000)
    expected = bootstrap(
        (a - b,), np.mean, confidence_level=confidence, n_resamples=20_000, method="percentile", random_state=1
    ).confidence_interval
    width = expected.high - expected.low
    assert interval.value == pytest.approx((a - b).mean())
    assert interval.low == pytest.approx(expected.low, abs=0.05 * width)
    assert interval.high == pytest.approx(expected.high, abs=0.05 * width)


def test_pairs_stay_together() -> None:
    """Two classifiers whose answers vary a lot but always differ by the same: of the difference there is no doubt."""
    a = np.random.default_rng(0).normal(0, 10, 200)
    interval = paired_bootstrap(a, a - 1.0, draws=500)
    assert (interval.value, interval.low, interval.high) == pytest.approx((1, 1, 1))


def test_paired_bootstrap_is_the_same_for_the_same_seed() -> None:
    a, b = outcomes(100)
    a += np.random.default_rng(1).random(100)  # means of zeros and ones would often be equal by chance
    assert paired_bootstrap(a, b, draws=1000) == paired_bootstrap(a, b, draws=1000, seed=0)
    assert paired_bootstrap(a, b, draws=1000, seed=1) != paired_bootstrap(a, b, draws=1000, seed=2)


def test_paired_bootstrap_leaves_the_global_generators() -> None:
    np.random.seed(0)
    expected = np.random.random()
    np.random.seed(0)
    paired_bootstrap(*outcomes(10), draws=100)
    assert np.random.random() == expected


def test_swapping_the_two_turns_the_interval_round() -> None:
    a, b = outcomes(200)
    one, other = paired_bootstrap(a, b, draws=2000), paired_bootstrap(b, a, draws=2000)
    assert (other.value, other.low, other.high) == pytest.approx((-one.value, -one.high, -one.low))


def test_memory_is_bounded_and_parts_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 draws of 10,000 images come in parts; the parts are all used."""
    from weatherproof.measures import intervals

    sizes = []
    original = intervals._resampled_means

    def note(values: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
        sizes.append(draws)
        return original(values, draws, generator)

    monkeypatch.setattr(intervals, "_resampled_means", note)
    paired_bootstrap(np.zeros(1_000_000), np.zeros(1_000_000), draws=9)
    assert sizes == [2, 2, 2, 2, 1]


def test_the_interval_covers_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(200):
        a = np.random.default_rng(seed).normal(0.3, 1, 60)
        interval = paired_bootstrap(a, np.zeros(60), 0.9, draws=300, seed=seed)
        covered += interval.low <= 0.3 <= interval.high
    assert 160 <= covered <= 195  # 180 expected; 4 standard deviations are 17


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ([1, 2], [1], r"got shapes \(2,\) and \(1,\)"),
        ([], [], r"got shapes \(0,\) and \(0,\)"),
        ([[1, 2]], [[1, 2]], r"got shapes \(1, 2\)"),
        ([1, float("nan")], [1, 2], "finite numbers"),
        ([1, 2], [1, float("inf")], "finite numbers"),
    ],
)
def test_paired_bootstrap_refuses(a: list[float], b: list[float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        paired_bootstrap(a, b)


def test_at_least_one_draw() -> None:
    with pytest.raises(InputError, match="at least 1 draw; got 0"):
        paired_bootstrap([1], [2], draws=0)
    assert paired_bootstrap([1], [2], draws=1) == Interval(-1, -1, -1)


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_over_trainings_without_images_to_doubt_it_is_students_t(trainings: int, seed: int) -> None:
    """Every image says the same: what is left is the t interval of the trainings' means."""
    means = np.random.default_rng(seed).normal(1, 2, trainings)
    (interval,) = paired_over_seeds(np.repeat(means, 5).reshape(trainings, 5, 1), draws=100)
    expected = ttest_1samp(means, 0).confidence_interval(0.95)
    assert interval.value == pytest.approx(means.mean())
    width = expected.high - expected.low
    assert interval.low == pytest.approx(expected.low, abs=0.05 * width)
    assert interval.high == pytest.approx(expected.high, abs=0.05 * width)


def test_over_one_training_it_is_the_paired_bootstrap() -> None:
    a, b = outcomes(200)
    assert paired_over_seeds((a - b)[None, :, None], draws=500) == [paired_bootstrap(a, b, draws=500)]


def test_over_trainings_and_images_it_covers_the_truth_and_resampling_trainings_would_not() -> None:
    """Three trainings that differ more than images do, a true difference of 0: the interval should leave it out once in
    20 times. Resampling the three leaves it out four times as often, and more."""
    generator = np.random.default_rng(0)
    trials, covered, covered_by_resampling = 500, 0, 0
    for trial in range(trials):
        differences = generator.normal(0, 1, (3, 1, 1)) + generator.normal(0, 2, (1, 40, 1))
        (interval,) = paired_over_seeds(differences, draws=300, seed=trial)
        covered += interval.low <= 0 <= interval.high
        seeds, images = generator.integers(0, 3, (300, 3)), generator.integers(0, 40, (300, 40))
        drawn = [differences[np.ix_(s, i)].mean() for s, i in zip(seeds, images, strict=True)]
        low, high = np.quantile(drawn, [0.025, 0.975])
        covered_by_resampling += low <= 0 <= high
    assert 0.925 <= covered / trials <= 0.975
    assert covered_by_resampling / trials < 0.85


@pytest.mark.parametrize("shape", [(3, 4), (0, 4, 1), (3, 0, 1), (3, 4, 0)])
def test_differences_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="wanted differences"):
        paired_over_seeds(np.zeros(shape))
