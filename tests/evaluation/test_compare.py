"""Paired differences of two results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_evaluate import Brightest, bars
from torch import Tensor, nn

import weatherproof
from weatherproof import InputError, Result, compare
from weatherproof.measures import paired_bootstrap

LABELS = np.arange(60) % 3


class Worse(nn.Module):
    """Errs on every image that is dark in its first row."""

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = Brightest()(images)
        return torch.where((images[:, :, 0].mean(dim=(1, 2)) < 0.5)[:, None], -logits, logits)


def measured(classifier: nn.Module, **options: object) -> Result:
    chosen = {"corruptions": ["contrast", "spatter"], "severities": [1, 3], **options}
    return weatherproof.evaluate(classifier, bars(LABELS, 12), LABELS, suite="corruptions", **chosen)


def test_differences_are_those_of_the_errors_and_paired() -> None:
    a, b = measured(Brightest()), measured(Worse())
    found = {entry.name: entry for entry in compare(a, b)}
    assert set(found) == {"clean_error", "mean_error", "error/contrast", "error/spatter"}
    for name, entry in found.items():
        assert entry.a == pytest.approx(a[name]) and entry.b == pytest.approx(b[name])
        assert entry.difference.value == pytest.approx(a[name] - b[name])
    assert found["clean_error"].verdict == "a is better"


def test_the_interval_is_the_paired_bootstraps() -> None:
    a, b = measured(Brightest(), corruptions=["contrast"]), measured(Worse(), corruptions=["contrast"])
    from weatherproof.evaluation import unpack_hits

    errors = [
        100 - 50.0 * sum(unpack_hits(result.hits[f"error/contrast/{s}"]).astype(float) for s in (1, 3))
        for result in (a, b)
    ]
    expected = paired_bootstrap(errors[0], errors[1], draws=2_000)
    found = next(entry for entry in compare(a, b) if entry.name == "error/contrast")
    assert found.difference.low == pytest.approx(expected.low)
    assert found.difference.high == pytest.approx(expected.high)


def test_a_result_against_itself_is_undecided() -> None:
    a = measured(Brightest())
    assert {entry.verdict for entry in compare(a, a)} == {"undecided"}


@pytest.mark.parametrize("changed", [{"severities": [1, 2]}, {"scale": "imagenet"}, {"corruption_seed": 1}])
def test_other_protocols_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"they differ in {next(iter(changed))}"):
        compare(measured(Brightest()), measured(Brightest(), **changed))


def test_what_a_classifier_was_trained_against_is_no_difference_of_protocol() -> None:
    a, b = measured(Brightest()), measured(Worse())
    against = replace(b, protocol={**b.protocol, "trained_against": ["edsr_desk (ours-cifar10 at 32 px)"]})
    assert compare(a, against) == compare(a, b)


def test_results_without_hits_are_refused() -> None:
    a = measured(Brightest())
    with pytest.raises(InputError, match="nothing in common"):
        compare(replace(a, hits={}), a)
