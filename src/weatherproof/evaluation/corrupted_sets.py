"""Writing a "-C" version of any data set, in the layouts of CIFAR-10-C and ImageNet-C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..corruptions import corrupt
from ..data import CentreFrame, ImageSet
from ..data.versions import Progress, Version, write_versions

CHUNK = 1_000  # images that are worked on, and written, at a time
Condition = tuple[str, int]  # a corruption at a severity


@dataclass(frozen=True)
class Plan:
    """What a corrupted set is made of; it lies beside the set as protocol.json, and a set of another plan is never
    mixed with it."""

    data: str
    split: str
    images: int
    corruptions: tuple[str, ...]
    severities: tuple[int, ...]
    scale: str
    seed: int
    frost: str
    weatherproof: str

    @property
    def conditions(self) -> list[Condition]:
        """All corruptions at all severities."""
        return [(name, severity) for name in self.corruptions for severity in self.severities]


@dataclass(frozen=True)
class Corrupting:
    """Makes the versions of a plan."""

    plan: Plan

    @property
    def versions(self) -> Sequence[Version]:
        return self.plan.conditions

    def make(self, pixels: Tensor, version: Version, numbers: Sequence[int]) -> np.ndarray:
        plan, (name, severity) = self.plan, version
        changed = corrupt(pixels, str(name), int(severity), plan.scale, plan.seed, numbers, frost=plan.frost)
        return changed.numpy()


def write_corrupted(
    images: ImageSet, size: int, out: Path, plan: Plan, jobs: int = 1, progress: Progress | None = None
) -> None:
    """Write the set that `plan` describes; whatever an interrupted call finished is kept.

    Images in memory become <corruption>.npy (severities one after the other, uint8 NHWC) and labels.npy; images in
    files become <corruption>/<severity>/<class>/<file>.JPEG, cropped to `size`. The bytes do not depend on `jobs`.
    """
    maker = Corrupting(plan)
    # Whatever a corruption has to complain of, it says before anything is written.
    pixels = torch.zeros(1, size, size, images.images.channels, dtype=torch.uint8)
    for name in plan.corruptions:
        maker.make(pixels, (name, plan.severities[0]), [0])
    protocol = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(plan).items()}
    write_versions(images, out, protocol, maker, CentreFrame(size), "corrupted set", CHUNK, jobs, progress)
