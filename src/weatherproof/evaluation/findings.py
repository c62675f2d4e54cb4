"""What an evaluator hands over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from .result import Metric


@dataclass(frozen=True)
class Findings:
    """Metrics; what the protocol must say about them; which images were classified correctly (bool (N,), by condition)
    for paired comparisons; and pictures for the report."""

    metrics: list[Metric]
    protocol: dict[str, Any] = field(default_factory=dict)
    hits: dict[str, Tensor] = field(default_factory=dict)
    pictures: dict[str, Any] = field(default_factory=dict)
