"""How often a classifier errs under the common corruptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, GROUPS, SEVERITIES, corrupt, frost_in_use, scale_for
from ..data import Loader
from ..errors import InputError, did_you_mean
from ..measures import bootstrap_means, wilson
from .accuracy import measuring, observe
from .clean import accuracy_and_error
from .findings import Findings
from .metrics import expected_calibration_error, mean_corruption_error, relative_mean_corruption_error
from .official import made_with, official_batches
from .pictures import Album
from .result import Metric

Condition = tuple[str, int]  # a corruption at a severity
Progress = Callable[[int, int], None]  # images done, images in all
RESAMPLES = 2_000  # for the interval of a mean


class Corruptions:
    """Error on the images as they are, and under each corruption at each severity.

    The corruptions are made on the fly, or read in place from `folder`, an official CIFAR-10-C, CIFAR-100-C or
    ImageNet-C. Image i is corrupted the same way whatever else is measured with it.
    """

    def __init__(
        self,
        corruptions: Sequence[str] = CORRUPTIONS,
        severities: Sequence[int] = SEVERITIES,
        scale: str = "auto",
        corruption_seed: int = 0,
        frost: str = "auto",
        recompress: bool = False,
        folder: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.corruptions = known_corruptions(corruptions)
        self.severities = known_severities(severities)
        self.scale, self.seed, self.frost, self.recompress = scale, corruption_seed, frost, recompress
        self.folder = folder
        self._refuse_what_a_folder_has_settled()
        self.progress = progress or (lambda done, total: None)

    def _refuse_what_a_folder_has_settled(self) -> None:
        if not self.folder:
            return
        made = made_with(self.folder)
        settled = {
            "recompress": self.recompress,
            "frost": self.frost not in ("auto", made.get("frost")) and made.get("frost") != "none",
            "corruption_seed": self.seed not in (0, made.get("corruption_seed")),
        }
        given = next((name for name, differs in settled.items() if differs), None)
        if given:
            raise InputError(f"{self.folder} is measured as it was made; leave {given} out")

    @property
    def conditions(self) -> list[Condition]:
        """All corruptions at all severities that are measured."""
        return [(name, severity) for name in self.corruptions for severity in self.severities]

    def __call__(self, classifier: nn.Module, loader: Loader) -> Findings:
        scale = self._scale(loader)
        # What a folder lacks is said before anything is computed.
        official = official_batches(self.folder, self.conditions, loader) if self.folder else iter(())
        observed = _Observed(len(loader.images), [None, *self.conditions])
        album = Album(loader.images, self.conditions)
        total, done = len(loader.images) * (1 + len(self.conditions)), 0
        with measuring(classifier):
            for condition, images, labels, places in chain(self._batches(loader), official):
                hits, confidences, predicted = observe(classifier, images, labels)
                observed.add(condition, places, hits, confidences)
                album.offer(condition, images, places, labels, predicted, confidences)
                done += len(labels)
                self.progress(done, total)
        return Findings(
            _metrics(observed, self.conditions, scale),
            self._protocol(loader),
            {_name(condition): hits for condition, hits in observed.hits.items()},
            album.content(),
        )

    def _batches(self, loader: Loader) -> Iterator[tuple[Condition | None, Tensor, Tensor, Tensor]]:
        """Batches of every condition that is made here, `None` for the images as they are: condition, images, labels,
        places."""
        # Files are opened once: all conditions of a batch come before the next batch.
        for batch in loader.epoch():
            yield None, batch.images, batch.labels, batch.indices
            if self.folder:
                continue
            numbers = loader.images.numbers[batch.indices]
            bytes_ = _as_bytes(batch.images).cpu()
            for name, severity in self.conditions:
                changed = corrupt(
                    bytes_, name, severity, self._scale(loader), self.seed, numbers.tolist(), frost=self.frost,
                    recompress=self.recompress,
                )  # fmt: skip
                yield (name, severity), changed.permute(0, 3, 1, 2).to(loader.device), batch.labels, batch.indices

    def _scale(self, loader: Loader) -> str:
        """The scale that is asked for, that the folder was made on, or that images of this size go with."""
        used = made_with(self.folder).get("scale", self.scale) if self.folder else self.scale
        if self.scale not in ("auto", used):
            raise InputError(f"{self.folder} was made on the scale {used}; got a wish for {self.scale}")
        return scale_for(loader.size, loader.size) if used == "auto" else str(used)

    def _protocol(self, loader: Loader) -> dict[str, Any]:
        whole = set(CORRUPTIONS) <= set(self.corruptions) and set(SEVERITIES) <= set(self.severities)
        facts: dict[str, Any] = {
            "scale": self._scale(loader),
            "corruptions": list(self.corruptions),
            "severities": list(self.severities),
            "part": not whole,
        }
        if self.folder:
            made = made_with(self.folder)
            facts["frost"] = made.pop("frost", "as in the folder")
            if "frost" not in self.corruptions:
                del facts["frost"]
            return {**facts, **made, "corrupted": str(self.folder)}
        if "frost" in self.corruptions:
            facts["frost"] = frost_in_use(self.frost)
        return {**facts, "corruption_seed": self.seed, "recompressed": self.recompress}


class _Observed:
    """For each condition, which images were classified correctly and how sure the classifier was."""

    def __init__(self, count: int, conditions: Sequence[Condition | None]) -> None:
        self.hits = {condition: torch.zeros(count, dtype=torch.bool) for condition in conditions}
        self.confidences = {condition: torch.zeros(count) for condition in conditions}

    def add(self, condition: Condition | None, places: Tensor, hits: Tensor, confidences: Tensor) -> None:
        self.hits[condition][places] = hits.cpu()
        self.confidences[condition][places] = confidences.float().cpu()

    def error(self, conditions: Sequence[Condition]) -> Tensor:
        """The error of each image, averaged over conditions: (N,) in [0, 1]."""
        return torch.stack([~self.hits[condition] for condition in conditions]).double().mean(dim=0)


def _metrics(observed: _Observed, conditions: list[Condition], scale: str) -> list[Metric]:
    standard = standard_ones(conditions)
    means = _means(observed, conditions, standard)
    mean = means.pop("mean_error")
    low, high = mean.low or 0.0, mean.high or 0.0
    return [
        *accuracy_and_error(observed.hits[None]),
        mean,
        Metric("mean_accuracy", 100 - mean.value, 100 - high, 100 - low, mean.images),
        *_normalised(observed, conditions, scale),
        _calibration("calibration_error/clean", observed, [None]),
        _calibration("calibration_error", observed, standard),
        *means.values(),
        *(_single(condition, observed) for condition in conditions),
    ]


def standard_ones(conditions: Sequence[Condition]) -> list[Condition]:
    """Those that a mean over corruptions is taken over: of the 15; or all, where none of the 15 is among them."""
    return [condition for condition in conditions if condition[0] in CORRUPTIONS] or list(conditions)


def _means(observed: _Observed, conditions: list[Condition], standard: list[Condition]) -> dict[str, Metric]:
    """Means over conditions, by name. The intervals are over images: the versions of an image belong together."""
    names, severities = dict.fromkeys(name for name, _ in conditions), sorted({severity for _, severity in conditions})
    parts = {"mean_error": standard}
    parts |= {f"error/group/{group}": [c for c in conditions if c[0] in members] for group, members in GROUPS.items()}
    parts |= {f"error/severity/{severity}": [c for c in standard if c[1] == severity] for severity in severities}
    parts |= {f"error/{name}": [c for c in conditions if c[0] == name] for name in names}
    parts = {name: part for name, part in parts.items() if part}
    errors = 100 * torch.stack([observed.error(part) for part in parts.values()], dim=1)
    intervals = bootstrap_means(errors.numpy(), draws=RESAMPLES)
    return {
        name: Metric(name, found.value, found.low, found.high, len(errors))
        for name, found in zip(parts, intervals, strict=True)
    }


def _single(condition: Condition, observed: _Observed) -> Metric:
    hits = observed.hits[condition]
    counted = wilson(len(hits) - int(hits.sum()), len(hits))
    return Metric(_name(condition), 100 * counted.value, 100 * counted.low, 100 * counted.high, len(hits))


def _normalised(observed: _Observed, conditions: list[Condition], scale: str) -> list[Metric]:
    """mCE and relative mCE, which are defined for all 15 corruptions at all severities of the ImageNet scale."""
    if scale != "imagenet" or not {(n, s) for n in CORRUPTIONS for s in SEVERITIES} <= set(conditions):
        return []
    # Both are linear in the errors, so that each image has its own, and the mean over images is the number.
    errors = {name: observed.error([(name, severity) for severity in SEVERITIES]) for name in CORRUPTIONS}
    relative = relative_mean_corruption_error(errors, (~observed.hits[None]).double())
    found = bootstrap_means(
        100 * torch.stack([mean_corruption_error(errors), relative], dim=1).numpy(), draws=RESAMPLES
    )
    return [
        Metric(name, interval.value, interval.low, interval.high, len(relative))
        for name, interval in zip(("mce", "relative_mce"), found, strict=True)
    ]


def _calibration(name: str, observed: _Observed, conditions: Sequence[Condition | None]) -> Metric:
    hits = torch.cat([observed.hits[condition] for condition in conditions])
    confidences = torch.cat([observed.confidences[condition] for condition in conditions])
    return Metric(name, 100 * expected_calibration_error(confidences, hits), images=len(observed.hits[None]))


def known_corruptions(names: Sequence[str]) -> tuple[str, ...]:
    """The names, checked, in their usual order; "all" is the 15 and "extra" the 4, and a group's name its members."""
    groups = {"all": CORRUPTIONS, "extra": EXTRA_CORRUPTIONS, **GROUPS}
    found: set[str] = set()
    for name in names:
        if name not in groups and name not in (*CORRUPTIONS, *EXTRA_CORRUPTIONS):
            raise InputError(
                f"there is no corruption '{name}'{did_you_mean(name, (*CORRUPTIONS, *EXTRA_CORRUPTIONS, *groups))}"
            )
        found.update(groups.get(name, (name,)))
    if not found:
        raise InputError("name at least one corruption")
    return tuple(name for name in (*CORRUPTIONS, *EXTRA_CORRUPTIONS) if name in found)


def known_severities(severities: Sequence[int]) -> tuple[int, ...]:
    """The severities, checked and in order."""
    wrong = [severity for severity in severities if severity not in SEVERITIES]
    if wrong or not severities:
        raise InputError(f"severities are whole numbers from 1 to 5; got {wrong[0] if wrong else 'none'}")
    return tuple(sorted(set(severities)))


def _name(condition: Condition | None) -> str:
    return "clean" if condition is None else f"error/{condition[0]}/{condition[1]}"


def _as_bytes(images: Tensor) -> Tensor:
    """uint8 NHWC of uint8 or float NCHW."""
    if images.dtype != torch.uint8:
        images = (images.float() * 255).round().clamp(0, 255).to(torch.uint8)
    return images.permute(0, 2, 3, 1)
