"""Evaluators: each yields named metrics for a classifier and the images of a loader.

A new one is a class with ``__call__(classifier, loader) -> Iterator[Metric]``, entered in `SUITES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from torch import nn

from ..data import Loader
from ..errors import InputError, did_you_mean
from .accuracy import accuracy, hits, measuring
from .clean import Clean
from .result import Metric, Result


class Evaluator(Protocol):
    """Measures a classifier on the images of a loader; leaves the classifier as it was."""

    def __call__(self, classifier: nn.Module, loader: Loader) -> Iterator[Metric]: ...


SUITES: dict[str, Callable[..., Evaluator]] = {"clean": Clean}


def run_suite(suite: str, classifier: nn.Module, loader: Loader, protocol: dict[str, Any]) -> Result:
    """All metrics of a suite, with the protocol that they were measured under."""
    if suite not in SUITES:
        raise InputError(f"there is no suite '{suite}'{did_you_mean(suite, SUITES)}")
    if len(loader.images) == 0:
        raise InputError("there are no images to evaluate on")
    metrics = {metric.name: metric for metric in SUITES[suite]()(classifier, loader)}
    return Result(suite, metrics, protocol)


__all__ = ["SUITES", "Clean", "Evaluator", "Metric", "Result", "accuracy", "hits", "measuring", "run_suite"]
