"""Results of others, shipped with the package, and when a result of ours may stand beside them.

`reference/` holds the tables of the AdA paper and RobustBench's accuracies, as published; all of them are errors on
CIFAR-10-C: CIFAR-10's 10,000 test images under 15 corruptions at 5 severities.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..corruptions.tables import CORRUPTIONS, SEVERITIES
from .record import Record

REFERENCE = Path(__file__).parent / "reference"
IMAGES = 10_000
PAPER, ROBUSTBENCH = "AdA paper", "RobustBench"
WITH = {
    "none": "", "augmix": " + AugMix", "deepaugment": " + DeepAugment", "augmix+deepaugment": " + AugMix + DeepAugment",
}  # fmt: skip
# What is shown before anyone asks for all rows, besides RobustBench's.
LANDMARKS = {
    "Nominal", "Nominal + AugMix", "AT (L2)", "AdA (EDSR)", "AdA (EDSR) + AugMix + DeepAugment", "PAT-self",
}  # fmt: skip


@dataclass(frozen=True)
class Published:
    """Errors in percent; `cells` by corruption and severity where they were published."""

    name: str
    source: str
    mean: float
    clean: float | None
    errors: dict[str, float]
    detail: str = ""
    landmark: bool = True
    cells: dict[tuple[str, int], float] = field(default_factory=dict)


@lru_cache(maxsize=1)
def published() -> tuple[Published, ...]:
    """All rows, RobustBench's first."""
    return (*_robustbench(), *_paper(), *_perceptual())


def not_comparable(record: Record) -> str | None:
    """Why a result must not stand beside the published rows; `None` when it may."""
    protocol = record.protocol
    if not record.corruptions:
        return "holds clean images only"
    if protocol.get("data") != "cifar10":
        return f"is about {protocol.get('data', 'other data')}"
    if protocol.get("split", "test") != "test":
        return f"is about the {protocol['split']} split"
    if protocol.get("scale", "cifar") != "cifar":
        return f"was measured at the {protocol['scale']} scale"
    if protocol.get("recompressed"):
        return "went through one more JPEG pass"
    if not record.whole:
        return "is about a part of the corruptions"
    return None


def limits(record: Record) -> list[str]:
    """What was left out."""
    found = ["part of the corruptions only"] if record.part else []
    if isinstance(record.protocol.get("limit"), int) and record.images != IMAGES:
        found.append(f"{record.images:,} images only" if record.images else "some of the images only")
    return found


def remarks(record: Record) -> list[str]:
    """What a reader must know who compares a result with the published rows, or with other results."""
    protocol, found = record.protocol, limits(record)
    if protocol.get("data") not in (None, "cifar10"):
        found.append(f"data: {protocol['data']}")
    if protocol.get("frost") == "procedural":
        found.append("procedural frost")
    return found


def notable(records: Sequence[Record], beside_others: bool = False) -> list[tuple[str, ...]]:
    """Remarks for each record; what is true of all of them only where they stand beside the published rows."""
    found = [remarks(record) for record in records]
    shared = set.intersection(*map(set, found)) if found and not beside_others else set()
    return [tuple(remark for remark in own if remark not in shared) for own in found]


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (REFERENCE / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _robustbench() -> Iterator[Published]:
    accuracies: dict[str, dict[tuple[str, int], float]] = {}
    for row in _rows("robustbench_cifar10c_accuracy.csv"):
        cells = accuracies.setdefault(row["model"], {})
        cells[row["corruption"], int(row["severity"])] = 100 - 100 * float(row["accuracy"])
    for row in _rows("robustbench_models.csv"):
        cells = accuracies[row["model"]]
        errors = {name: sum(cells[name, s] for s in SEVERITIES) / len(SEVERITIES) for name in CORRUPTIONS}
        yield Published(
            row["name"], ROBUSTBENCH, sum(errors.values()) / len(errors), 100 - float(row["clean_accuracy"]), errors,
            "; ".join(filter(None, (row["network"], row["note"]))), cells=cells,
        )  # fmt: skip


def _paper() -> Iterator[Published]:
    clean = {
        (row["combined_with"], row["setup"]): 100 - float(row["clean_cifar10"]) for row in _rows("cifar10_main.csv")
    }
    for row in _rows("cifar10_corruptions.csv"):
        name = row["setup"] + WITH[row["combined_with"]]
        found = clean.get((row["combined_with"], row["setup"]))
        yield Published(name, PAPER, float(row["mce"]), found, _errors(row), landmark=name in LANDMARKS)


def _perceptual() -> Iterator[Published]:
    """Others' classifiers, measured by the authors of the AdA paper."""
    for row in _rows("cifar10_pat.csv"):
        if row["combined_with"] == "pat models":
            name, detail = row["setup"], "a model of Laidlaw 2021"
            clean = float(row["clean_error"])
            yield Published(name, PAPER, float(row["mce"]), clean, _errors(row), detail, name in LANDMARKS)


def _errors(row: dict[str, str]) -> dict[str, float]:
    return {name: float(row[name]) for name in CORRUPTIONS}
