"""Measuring two things side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """Seconds, or another unit, of ours and of what it is held against; what was promised of ``ours / theirs``."""

    name: str
    ours: float
    theirs: float
    at_most: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def shown(self) -> list[str]:
        """Both, as written; seconds in thousandths."""
        factor, unit = (1000, "ms") if self.unit == "s" else (1, self.unit)
        return [f"{factor * value:,.{1 if self.unit == 's' else 2}f} {unit}" for value in (self.ours, self.theirs)]

    @property
    def holds(self) -> bool:
        return self.ratio <= self.at_most


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def side_by_side(ours: Callable[[], object], theirs: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Medians of both, called in turns so that a busy moment of the machine hits both; the first turn warms up."""
    times = [(seconds(ours), seconds(theirs)) for _ in range(repeats + 1)][1:]
    return median(a for a, _ in times), median(b for _, b in times)
