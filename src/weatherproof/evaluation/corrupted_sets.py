"""Writing a "-C" version of any data set, in the layouts of CIFAR-10-C and ImageNet-C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import __version__
from ..corruptions import corrupt, frost_in_use, scale_for
from ..data import CentreFrame, ImageSet, Split, fingerprint
from ..data.versions import Progress, Version, write_versions
from .corruptions import known_corruptions

CHUNK = 1_000  # images that are worked on, and written, at a time
Condition = tuple[str, int]  # a corruption at a severity


@dataclass(frozen=True)
class Plan:
    """What a corrupted set is made of; it lies beside the set as protocol.json, and a set of another plan is never
    mixed with it, but for more corruptions. `frost` is none where that is not among them."""

    data: str
    split: str
    images: int
    size: int
    channels: int
    corruptions: tuple[str, ...]
    severities: tuple[int, ...]
    scale: str
    seed: int
    frost: str
    weatherproof: str
    fingerprint: str

    def protocol(self) -> dict[str, Any]:
        """In plain values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def added_to(self, there: Mapping[str, Any]) -> dict[str, Any]:
        """What the protocol of a set comes to when these corruptions are added to those that it has."""
        names = {"corruptions": list(known_corruptions([*there.get("corruptions", []), *self.corruptions]))}
        frosts = {there.get("frost", self.frost), self.frost}
        if len(frosts) == 2 and "none" in frosts:
            return {**names, "frost": (frosts - {"none"}).pop()}
        return names

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


def plan_for(
    part: Split, corruptions: Sequence[str], severities: Sequence[int], scale: str, seed: int, frost: str
) -> Plan:
    """The plan for images of a data set; `scale` and `frost` may be auto."""
    return Plan(
        data=part.data,
        split=part.name,
        images=len(part.images),
        size=part.size,
        channels=part.images.images.channels,
        corruptions=tuple(corruptions),
        severities=tuple(severities),
        scale=scale_for(part.size, part.size) if scale == "auto" else scale,
        seed=seed,
        frost=frost_in_use(frost) if "frost" in corruptions else "none",
        weatherproof=__version__,
        fingerprint=fingerprint(part.images),
    )


def write_corrupted(
    images: ImageSet, out: Path, plan: Plan, jobs: int = 1, progress: Progress | None = None,
    begin: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Write the set that `plan` describes; whatever an interrupted call finished is kept.

    Images in memory become <corruption>.npy (severities one after the other, uint8 NHWC) and labels.npy; images in
    files become <corruption>/<severity>/<class>/<file>.JPEG, cropped to the plan's size. The bytes do not depend on
    `jobs`. `begin` is called when nothing was refused, before anything is made.
    """
    maker = Corrupting(plan)
    # Whatever a corruption has to complain of, it says before anything is written.
    pixels = torch.zeros(1, plan.size, plan.size, plan.channels, dtype=torch.uint8)
    for name in plan.corruptions:
        maker.make(pixels, (name, plan.severities[0]), [0])
    write_versions(images, out, plan, maker, CentreFrame(plan.size), "corrupted set", CHUNK, jobs, progress, begin)
