"""The numbers of others agree with each other, and with what their sources print."""

from __future__ import annotations

import pytest

from weatherproof.corruptions.tables import CORRUPTIONS
from weatherproof.report.published import PAPER, ROBUSTBENCH, published


def test_means_fit_their_parts() -> None:
    assert len(published()) == 5 + 31 + 5
    for row in published():
        assert set(row.errors) == set(CORRUPTIONS)
        # The paper prints one digit of the parts and two of their mean.
        assert row.mean == pytest.approx(sum(row.errors.values()) / 15, abs=0.06), row.name


@pytest.mark.parametrize(("name", "accuracy"), [
    ("Standard", 73.46), ("CARD-Deck (Diffenderfer 2021)", 92.78), ("NoisyMix (Erichson 2022)", 92.78),
    ("AdA + DeepAugment + AugMix (Calian 2021)", 92.17), ("PRIME (Modas 2021)", 89.05),
])  # fmt: skip
def test_accuracies_are_those_of_the_leaderboard(name: str, accuracy: float) -> None:
    (row,) = (row for row in published() if row.name == name and row.source == ROBUSTBENCH)
    assert 100 - row.mean == pytest.approx(accuracy, abs=0.011)


def test_one_classifier_was_measured_by_both() -> None:
    theirs, ours = (row for row in published() if row.name in (
        "AdA + DeepAugment + AugMix (Calian 2021)", "AdA (EDSR) + AugMix + DeepAugment"))  # fmt: skip
    assert (theirs.source, ours.source) == (ROBUSTBENCH, PAPER)
    for name in CORRUPTIONS:
        assert theirs.errors[name] == pytest.approx(ours.errors[name], abs=0.15)
