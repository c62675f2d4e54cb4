"""What a training step minimises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor, nn


@dataclass(frozen=True)
class Outcome:
    """What an objective found: the scalar to minimise, and detached scalars worth logging (averaged over an epoch)."""

    loss: Tensor
    metrics: dict[str, Tensor] = field(default_factory=dict)


class Objective(Protocol):
    """``(model, images, labels) -> Outcome``; images are float (B, C, H, W) in [0, 1], labels int64 (B,).

    The objective of a classifier is a defence.
    """

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome: ...
