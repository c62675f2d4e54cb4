"""Two results of the same protocol, image by image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..measures import Interval, paired_over_seeds
from .corruptions import standard_ones
from .result import Result, unpack_hits

FREE = {"model", "trained_against", "weatherproof", "command"}  # what two results about the same images may differ in
# What is named by a path, and the entry that says what lies there: a set may be named in many ways.
NAMED = {"data": "fingerprint", "corrupted": "corrupted_from"}


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
    return compare_trainings([(a, b)], draws)


def compare_trainings(pairs: Sequence[tuple[Result, Result]], draws: int = 2_000) -> list[Comparison]:
    """As `compare`, of two methods that were trained several times each: one pair of results for each seed.

    The intervals then are over trainings and images.
    """
    results = [result for pair in pairs for result in pair]
    for result in results[1:]:
        _check_alike(results[0], result)
    groups = _groups([name for name in results[0].hits if all(name in result.hits for result in results)])
    ours, theirs = (np.stack([_errors(pair[side], groups) for pair in pairs]) for side in (0, 1))  # (S, N, groups)
    intervals = paired_over_seeds(ours - theirs, draws=draws)
    means = zip(groups, ours.mean(axis=(0, 1)).tolist(), theirs.mean(axis=(0, 1)).tolist(), intervals, strict=True)
    return [Comparison(*entry) for entry in means]


def _check_alike(a: Result, b: Result) -> None:
    keys = sorted({*a.protocol, *b.protocol} - FREE - set(NAMED.values()))
    changed = next((key for key in keys if _said(a, b, key) != _said(b, a, key)), None)
    if changed:
        ours, theirs = _said(a, b, changed), _said(b, a, changed)
        raise InputError(f"the results cannot be compared: they differ in {changed} ({ours} and {theirs})")


def _said(result: Result, other: Result, key: str) -> object:
    """What a result says about how it came about: not what the data are called where both know what they are."""
    proof = NAMED.get(key, key)
    if all(each.protocol.get(proof) is not None for each in (result, other)):
        return result.protocol[proof]
    return result.protocol.get(key)


def _groups(names: list[str]) -> dict[str, list[str]]:
    """What is compared, and the conditions that it is a mean over."""
    if not names:
        raise InputError("the results have nothing in common that is kept image by image")
    conditions = {(name.split("/")[1], int(name.split("/")[2])): name for name in names if name != "clean"}
    standard = [conditions[condition] for condition in standard_ones(list(conditions))]
    groups = {"clean_error": [name for name in names if name == "clean"], "mean_error": standard}
    for (corruption, _), name in conditions.items():
        groups.setdefault(f"error/{corruption}", []).append(name)
    return {name: members for name, members in groups.items() if members}


def _errors(result: Result, groups: Mapping[str, list[str]]) -> NDArray[np.float64]:
    """For each image, in percent, its error in each group: (N, groups)."""
    wrong = {name: np.where(unpack_hits(packed), 0.0, 100.0) for name, packed in result.hits.items()}
    return np.stack([np.mean([wrong[name] for name in members], axis=0) for members in groups.values()], axis=1)
