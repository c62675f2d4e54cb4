"""The Jensen-Shannon divergence of predictions, against scipy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.spatial.distance import jensenshannon

from weatherproof.defences.divergence import jensen_shannon


def random_logits(views: int, scale: float = 2.0) -> torch.Tensor:
    return scale * torch.randn(views, 7, 5, generator=torch.Generator().manual_seed(views))


def test_two_views_are_scipys_distance_squared() -> None:
    logits = random_logits(2)
    first, second = logits.double().softmax(dim=2).numpy()
    expected = np.mean(jensenshannon(first, second, axis=1) ** 2)
    assert float(jensen_shannon(logits)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("views", [1, 2, 3, 5])
def test_any_number_of_views(views: int) -> None:
    logits = random_logits(views)
    p = logits.double().softmax(dim=2).numpy()
    expected = np.mean([stats.entropy(view, p.mean(axis=0), axis=1) for view in p])
    assert float(jensen_shannon(logits)) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_views_that_exclude_each_other_are_log_v_apart() -> None:
    logits = 200.0 * torch.eye(3).repeat_interleave(4, dim=0).view(3, 4, 3)
    logits.requires_grad_()
    apart = jensen_shannon(logits)
    assert apart.item() == pytest.approx(math.log(3), rel=1e-6)
    apart.backward()
    assert logits.grad is not None and bool(logits.grad.isfinite().all())


@pytest.mark.parametrize("autocast", [False, True])
def test_low_precision_ends_here(autocast: bool) -> None:
    logits = random_logits(3).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        apart = jensen_shannon(logits)
    assert apart.dtype == torch.float32
    assert torch.equal(apart, jensen_shannon(logits.float()))


def test_a_gradient_brings_views_together() -> None:
    logits = random_logits(3).requires_grad_()
    before = jensen_shannon(logits)
    (slope,) = torch.autograd.grad(before, logits)
    assert jensen_shannon(logits - slope).item() < before.item()
    step = torch.zeros_like(logits)
    step[1, 2, 3] = 1e-2
    numeric = (jensen_shannon(logits + step) - jensen_shannon(logits - step)) / 2e-2
    assert float(slope[1, 2, 3]) == pytest.approx(numeric.item(), rel=0.02)
