"""Evaluators: each measures a classifier on the images of a loader and hands over its findings.

A new one is a class with ``__call__(classifier, loader) -> Findings`` and settings for its ``__init__``, entered in
`SUITES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from torch import nn

from ..data import Loader, fingerprint
from ..errors import InputError, did_you_mean
from ..specs import construct
from .accuracy import accuracy, hits, measuring
from .clean import Clean
from .compare import Comparison, compare, compare_trainings
from .corruptions import Corruptions
from .findings import Findings
from .result import Metric, Result, pack_hits, unpack_hits


class Evaluator(Protocol):
    """Measures a classifier on the images of a loader; leaves the classifier as it was."""

    def __call__(self, classifier: nn.Module, loader: Loader) -> Findings: ...


SUITES: dict[str, Callable[..., Evaluator]] = {"clean": Clean, "corruptions": Corruptions}


def run_suite(
    suite: str, classifier: nn.Module, loader: Loader, protocol: Mapping[str, Any], options: Mapping[str, Any]
) -> Result:
    """All that a suite finds, with the protocol that it was found under; `options` are the suite's own settings."""
    if suite not in SUITES:
        raise InputError(f"there is no suite '{suite}'{did_you_mean(suite, SUITES)}")
    evaluator: Evaluator = construct(SUITES[suite], options, f"suite {suite}")
    if len(loader.images) == 0:
        raise InputError("there are no images to evaluate on")
    findings = evaluator(classifier, loader)
    return Result(
        suite,
        {metric.name: metric for metric in findings.metrics},
        {**protocol, "fingerprint": fingerprint(loader.images, times=False), **findings.protocol},
        {name: pack_hits(hit) for name, hit in findings.hits.items()},
        findings.pictures,
    )


__all__ = [
    "SUITES", "Clean", "Comparison", "Corruptions", "Evaluator", "Findings", "Metric", "Result", "accuracy", "compare",
    "compare_trainings", "hits", "measuring", "run_suite", "unpack_hits",
]  # fmt: skip
