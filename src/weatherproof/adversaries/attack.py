"""What an adversary is, and what it hands back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ..images import ImagesLike


@dataclass(frozen=True)
class Attack:
    """Images (B, C, H, W), and what was measured of each example, (B,) each: the classifier's loss at the random
    start (`loss_before`) and at `images` (`loss_after`), whether it is wrong about them (`fooled`), how far they are
    from the clean ones (`ssim_distance`, 1 - SSIM) and whether the guard pulled them back (`guarded`). `seconds` says
    how long each part took."""

    images: Tensor
    examples: dict[str, Tensor]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, Tensor]:
        """Means over the examples, and the 95th percentile of the distances: scalars worth logging."""
        if len(self.images) == 0:
            return {}
        means = {name: values.float().mean() for name, values in self.examples.items()}
        if "ssim_distance" in self.examples:
            means["ssim_distance_p95"] = self.examples["ssim_distance"].float().quantile(0.95)
        return means


@runtime_checkable
class Adversary(Protocol):
    """``attack(classifier, images, labels, generator) -> Attack``; leaves the classifier as it found it."""

    def attack(
        self, classifier: nn.Module, images: ImagesLike, labels: Any, generator: torch.Generator | None = None
    ) -> Attack: ...


class Stopwatch:
    """Seconds of one part after the other, on a device that may still be at work when a call returns."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.seconds = device, dict[str, float]()
        self._last = self._now()

    def lap(self, part: str) -> None:
        """The part that just ended."""
        now = self._now()
        self.seconds[part], self._last = now - self._last, now

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()
