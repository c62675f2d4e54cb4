"""Paired differences of two results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_evaluate import Brightest, bars
from torch import Tensor, nn

import weatherproof
from weatherproof import InputError, Result, compare
from weatherproof.api import corrupt_data
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


def test_data_are_the_same_by_what_they_are() -> None:
    a, b = measured(Brightest()), measured(Worse())
    proof = a.protocol["fingerprint"]
    assert proof == b.protocol["fingerprint"]

    def called(data: str, fingerprint: str | None) -> Result:
        rest = {key: value for key, value in b.protocol.items() if key != "fingerprint"}
        return replace(b, protocol={**rest, "data": data} | ({"fingerprint": fingerprint} if fingerprint else {}))

    ours = replace(a, protocol={**a.protocol, "data": "c.npz"})
    for same in (called("./c.npz", proof), called("c.npz", proof), called("c.npz", None)):
        assert compare(ours, same) == compare(a, b)
    for other in (called("./c.npz", None), called("c.npz", "0123456789abcdef")):
        with pytest.raises(InputError, match="they differ in data"):
            compare(ours, other)


def test_other_images_of_the_same_labels_are_refused() -> None:
    b = weatherproof.evaluate(
        Brightest(), bars(LABELS, 12) ^ 1, LABELS, suite="corruptions", corruptions=["contrast"], severities=[1]
    )
    with pytest.raises(InputError, match="they differ in data"):
        compare(measured(Brightest(), corruptions=["contrast"], severities=[1]), b)


def test_a_corrupted_set_may_be_named_by_any_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("c.npz", x_test=bars(LABELS, 12), y_test=LABELS)
    corrupt_data("c.npz", "c-C", corruptions=["contrast", "spatter"], severities=[1, 3])
    corrupt_data("c.npz", "other-C", corruptions=["contrast", "spatter"], severities=[1, 3])
    a = measured(Brightest(), folder=Path("c-C"))
    for folder in (Path("./c-C"), tmp_path / "c-C", Path("other-C")):
        assert len(compare(a, measured(Worse(), folder=folder))) == 4
    with pytest.raises(InputError, match="they differ in corrupted"):
        compare(a, measured(Worse()))


def test_results_without_hits_are_refused() -> None:
    a = measured(Brightest())
    with pytest.raises(InputError, match="nothing in common"):
        compare(replace(a, hits={}), a)
