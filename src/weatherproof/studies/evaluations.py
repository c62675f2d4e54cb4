"""How the rows of a study are measured: a suite on a split, and corrupted sets that are made once per machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .. import __version__
from ..data import ArrayImages, Data, ImageSet, Loader, Split, stratified
from ..errors import InputError, did_you_mean
from ..evaluation import SUITES, Corruptions, Result, run_suite
from ..evaluation.corrupted_sets import plan_for, write_corrupted
from ..files import locked
from ..specs import construct
from ..training import Recipe

SPLITS = ("validation", "test")
# On a processor a batch of 100 takes little more than a third of the time of 500: its memory comes from the heap, and
# not from the system anew for every layer.
BATCH = {"cpu": 100, "cuda": 1000}
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Evaluation:
    """A suite with its options, on a split; `limit` takes only so many of its images, every class in proportion."""

    name: str
    suite: str
    split: str = "test"
    limit: int | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def parse(name: str, content: Mapping[str, Any]) -> Evaluation:
        """From what the study's file says; options of the suite stand beside `suite` and `split`."""
        own = {key: value for key, value in content.items() if key in ("suite", "split", "limit")}
        options = {key: value for key, value in content.items() if key not in own}
        evaluation: Evaluation = construct(Evaluation, {"name": name, **own, "options": options}, f"evaluation {name}")
        return evaluation

    def check(self, recipe: Recipe, where: str) -> None:
        """Refuse what cannot be measured on a classifier of that recipe."""
        if self.split not in SPLITS:
            raise InputError(
                f"{where}, evaluation {self.name}: no split '{self.split}'{did_you_mean(self.split, SPLITS)}"
            )
        if self.split == "validation" and not recipe.data.holdout and recipe.data.source in ("cifar10", "photos10"):
            raise InputError(f"{where}, evaluation {self.name}: there are no images to choose by; set data.holdout")
        if self.suite not in SUITES:
            raise InputError(
                f"{where}, evaluation {self.name}: no suite '{self.suite}'{did_you_mean(self.suite, SUITES)}"
            )
        construct(SUITES[self.suite], self.options, f"{where}, evaluation {self.name}")

    def mapping(self) -> dict[str, Any]:
        """In plain values, as `parse` takes it."""
        return {"suite": self.suite, "split": self.split, "limit": self.limit, **self.options}

    def inputs(self, recipe: Recipe) -> dict[str, Any]:
        """All that the result depends on beside the weights."""
        return {**self.mapping(), "data": asdict(recipe.data), "weatherproof": __version__}

    def images(self, data: Data) -> ImageSet:
        """The images to measure on."""
        images = data.split(self.split)
        if self.limit is None or self.limit >= len(images):
            return images
        return images.take(stratified(images.labels, self.limit, 0)[0])

    def measure(
        self,
        classifier: nn.Module,
        data: Data,
        device: torch.device,
        folder: Path | None,
        workers: int,
        progress: Progress,
    ) -> Result:
        """Measure; corrupted images are read from `folder`, where there is one, and else made on the way."""
        options = dict(self.options)
        if self.suite == "corruptions":
            options |= {"progress": progress} | ({"folder": folder} if folder else {})
        loader = Loader(self.images(data), BATCH[device.type], data.size, device=device, workers=workers)
        protocol = {"data": data.name, "split": self.split, "images": len(loader.images), "size": data.size}
        if self.limit is not None:
            protocol["limit"] = self.limit
        result = run_suite(self.suite, classifier, loader, {**protocol, "weatherproof": __version__}, options)
        return replace(result, protocol=self._told(result.protocol), pictures={})

    @staticmethod
    def _told(protocol: dict[str, Any]) -> dict[str, Any]:
        """The protocol as if the corrupted images had been made on the way: the same bytes, and no machine's folder."""
        if "corrupted" not in protocol:
            return protocol
        of_a_folder = ("corrupted", "corrupted_from")
        return {**{key: value for key, value in protocol.items() if key not in of_a_folder}, "recompressed": False}

    def prepare(self, data: Data, cache: Path, jobs: int, progress: Progress | None = None) -> Path | None:
        """The folder with the corrupted images, written first where it is missing; None where there is none to keep."""
        images = data.split(self.split)
        kept = self.suite == "corruptions" and not self.options.get("recompress") and "folder" not in self.options
        if not kept or not isinstance(images.images, ArrayImages):
            return None
        suite = self._suite()
        part = Split(data.name, self.split, images, data.size, {})
        plan = plan_for(part, suite.corruptions, suite.severities, suite.scale, suite.seed, suite.frost)
        # The plan holds the images' fingerprint: sets of the same name whose pixels differ have folders of their own.
        folder = cache / f"{data.name.replace('/', '-')[-40:]}-{self.split}-{_digest(plan.protocol())}"
        with locked(folder.parent / f".{folder.name}.lock", wait=True):
            write_corrupted(images, folder, plan, jobs, progress)
        return folder

    def _suite(self) -> Corruptions:
        suite: Corruptions = construct(Corruptions, self.options, f"evaluation {self.name}")
        return suite


def _digest(protocol: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(protocol, sort_keys=True).encode()).hexdigest()[:16]
