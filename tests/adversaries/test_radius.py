"""Radii that match, on distributions whose answer is known."""

from __future__ import annotations

import pytest
import torch
from adversaries.small_networks import batch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from weatherproof import AdversarialAugment, InputError, corruption_network
from weatherproof.adversaries.radius import Match, gap, matching_radius, ssim_distances


@given(st.integers(1, 50), st.integers(0, 1000))
def test_the_gap_is_wassersteins(count: int, seed: int) -> None:
    a, b = torch.rand(2, count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert gap(a, b) == pytest.approx(wasserstein_distance(a.numpy(), b.numpy()), abs=1e-12)


@given(st.floats(2e-4, 0.5), st.floats(0.5, 2))
def test_the_radius_is_found_within_a_percent(radius: float, power: float) -> None:
    spread = torch.linspace(0.5, 1.5, 101, dtype=torch.float64)

    def distances(at: float) -> torch.Tensor:
        return (spread * at) ** power

    trials: list[Match] = []
    found = matching_radius(distances, distances(radius), trials.append)
    assert found.radius == pytest.approx(radius, rel=0.011)
    assert found.gap == min(trial.gap for trial in trials) and len(trials) < 20


def test_distances_are_those_of_the_same_directions_at_every_radius() -> None:
    network, images = corruption_network("edsr_desk"), batch(8)[0]
    small, large, again = (
        ssim_distances(AdversarialAugment(network, radius, steps=0, guard=None), images) for radius in (0.02, 0.1, 0.02)
    )
    assert torch.equal(small, again) and small.shape == (8,) and (large > small).all()
    with pytest.raises(InputError, match="3 steps of ascent need a classifier"):
        ssim_distances(AdversarialAugment(network, 0.1, steps=3), images)
