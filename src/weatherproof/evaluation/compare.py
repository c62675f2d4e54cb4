"""Two results of the same protocol, image by image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..measures import Interval, paired_bootstrap
from .corruptions import standard_ones
from .result import Result, unpack_hits

FREE = {"model", "weatherproof", "command"}  # what two results about the same images may differ in


@dataclass(frozen=True)
class Comparison:
    """Errors of two classifiers in percent, and their paired difference a - b with its 95% interval."""

    name: str
    a: float
    b: float
    difference: Interval

    @property
    def verdict(self) -> str:
        """Which error is lower, when the interval leaves zero out; else undecided."""
        if self.difference.low <= 0 <= self.difference.high:
            return "undecided"
        return "a is better" if self.difference.high < 0 else "b is better"


def compare(a: Result, b: Result, draws: int = 2_000) -> list[Comparison]:
    """Paired differences of each corruption that both results hold, of their mean, and on clean images; results that
    were not measured on the same images in the same way are refused."""
    changed = [key for key in sorted({*a.protocol, *b.protocol} - FREE) if a.protocol.get(key) != b.protocol.get(key)]
    if changed:
        ours, theirs = a.protocol.get(changed[0]), b.protocol.get(changed[0])
        raise InputError(f"the results cannot be compared: they differ in {changed[0]} ({ours} and {theirs})")
    errors = {name: (_errors(a.hits[name]), _errors(b.hits[name])) for name in a.hits if name in b.hits}
    if not errors:
        raise InputError("the results have nothing in common that is kept image by image")
    conditions = {(name.split("/")[1], int(name.split("/")[2])): name for name in errors if name != "clean"}
    standard = [conditions[condition] for condition in standard_ones(list(conditions))]
    groups = {"clean_error": [name for name in errors if name == "clean"], "mean_error": standard}
    for (corruption, _), name in conditions.items():
        groups.setdefault(f"error/{corruption}", []).append(name)
    return [_compared(name, [errors[key] for key in keys], draws) for name, keys in groups.items() if keys]


def _errors(packed: str) -> NDArray[np.float64]:
    return np.where(unpack_hits(packed), 0.0, 100.0)


def _compared(name: str, pairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]], draws: int) -> Comparison:
    a, b = (np.stack([pair[side] for pair in pairs]).mean(axis=0) for side in (0, 1))
    difference = paired_bootstrap(a.tolist(), b.tolist(), draws=draws)
    return Comparison(name, float(a.mean()), float(b.mean()), difference)
