"""What a report knows of a result: the JSON of ``weatherproof evaluate -o``, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

from ..corruptions.tables import CORRUPTIONS, EXTRA_CORRUPTIONS, SEVERITIES
from ..errors import InputError
from .pictures import checked_picture

CELL = re.compile(r"error/(?!group/|severity/)(.+)/([1-9][0-9]?)")  # error/fog/3
SEVERITY = re.compile("[1-9][0-9]?")
WANTED = "wanted a result that weatherproof evaluate -o wrote"
MOST = 16  # results on a page
LONGEST = 60  # characters of a name
SLACK = 1e-6  # percent; what rounding may add


@dataclass(frozen=True)
class Number:
    """A metric: in percent unless `unit` says otherwise; a 95% interval and a number of images where there are some."""

    value: float
    low: float | None = None
    high: float | None = None
    images: int | None = None
    unit: str = "%"


@dataclass(frozen=True)
class Failure:
    """An image that was taken for something else; `confidence` in percent."""

    picture: str
    corruption: str
    severity: int
    true: str
    predicted: str
    confidence: float


@dataclass(frozen=True)
class Record:
    """One result under the name that the page calls it by."""

    name: str
    suite: str
    numbers: dict[str, Number]
    protocol: dict[str, Any]
    samples: dict[str, dict[int, str]] = field(default_factory=dict)
    clean: str | None = None
    failures: tuple[Failure, ...] = ()

    @cached_property
    def corruptions(self) -> tuple[str, ...]:
        """Those with an error at some severity: the usual order first, a user's own after."""
        found = dict.fromkeys(name for name, _ in self._cells)
        usual = [name for name in (*CORRUPTIONS, *EXTRA_CORRUPTIONS) if name in found]
        return (*usual, *(name for name in found if name not in usual))

    @cached_property
    def severities(self) -> tuple[int, ...]:
        """Those with an error under some corruption, in order."""
        return tuple(sorted({severity for _, severity in self._cells}))

    def cell(self, corruption: str, severity: int) -> Number | None:
        """The error under a corruption at a severity."""
        return self._cells.get((corruption, severity))

    def error(self, corruption: str) -> Number | None:
        """The mean error under a corruption."""
        return self.numbers.get(f"error/{corruption}")

    @property
    def clean_error(self) -> Number | None:
        """The error on the images as they are."""
        return self.numbers.get("clean_error")

    @property
    def mean_error(self) -> Number | None:
        """The error over all corruptions."""
        return self.numbers.get("mean_error")

    @property
    def errors(self) -> list[Number]:
        """All errors under one corruption at one severity, and on the images as they are."""
        return [*self._cells.values(), *([self.clean_error] if self.clean_error else [])]

    @cached_property
    def _cells(self) -> dict[tuple[str, int], Number]:
        found = ((CELL.fullmatch(name), number) for name, number in self.numbers.items())
        return {(match[1], int(match[2])): number for match, number in found if match}

    @property
    def whole(self) -> bool:
        """Whether all of the 15 corruptions were measured at all five severities."""
        return all(self.cell(name, severity) for name in CORRUPTIONS for severity in SEVERITIES)

    @property
    def part(self) -> bool:
        """Whether corruptions were measured, but not all of them at all severities."""
        return bool(self.corruptions) and not self.whole

    @property
    def images(self) -> int | None:
        """On how many images."""
        images = self.protocol.get("images")
        return images if isinstance(images, int) and not isinstance(images, bool) else None


def records(
    results: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None, files: Sequence[str] | None = None
) -> list[Record]:
    """Checked results, each under a name of its own.

    Whatever cannot be shown is an `InputError`, which calls the result by its file where there is one.
    """
    if isinstance(results, Mapping | str) or not isinstance(results, Sequence):
        raise InputError(f"a report is made of a list of results; got a {type(results).__name__}")
    if not results:
        raise InputError("a report needs at least one result")
    if len(results) > MOST:
        raise InputError(f"there are {len(results)} results; a page that can be read holds at most {MOST}")
    if names is not None and len(names) != len(results):
        raise InputError(f"there are {len(results)} results, but {len(names)} names for them")
    found: list[Record] = []
    for i, result in enumerate(results):
        where = files[i] if files is not None else f"result {i + 1}" if len(results) > 1 else "the result"
        record = _record(result, where)
        name = names[i].strip() if names is not None else _name(record.protocol, where, i)
        if not name:
            raise InputError(f"the name for {where} is empty")
        taken = [other.name for other in found]
        number = next(n for n in range(1, len(taken) + 2) if _numbered(name, n) not in taken)
        found.append(replace(record, name=_numbered(name, number)))
    return found


def _numbered(name: str, number: int) -> str:
    name = name if len(name) <= LONGEST else f"{name[:LONGEST]}\N{HORIZONTAL ELLIPSIS}"
    return name if number == 1 else f"{name} ({number})"


def _name(protocol: Mapping[str, Any], where: str, i: int) -> str:
    """The folder of the run that was measured, a study's with its row; failing that the name of the result's file, or a
    number."""
    path = PurePath(str(protocol.get("model", "")))
    folder = path.parent if path.suffix == ".safetensors" else path
    named = f"{folder.parent.name} {folder.name}" if folder.name.startswith("seed-") else folder.name
    file = PurePath(where)
    return named.strip() or (file.stem.strip() if file.suffix == ".json" else "") or f"classifier {i + 1}"


def _record(result: Any, where: str) -> Record:
    if not isinstance(result, Mapping):
        raise InputError(f"{where} is a {type(result).__name__}; {WANTED}")
    if "comparisons" in result:
        raise InputError(f"{where} is what weatherproof compare wrote; {WANTED}")
    missing = [key for key in ("suite", "metrics", "protocol") if key not in result]
    if missing:
        raise InputError(f"{where} has no '{missing[0]}'; {WANTED}")
    metrics, protocol = _mapping(result, "metrics", where), _mapping(result, "protocol", where)
    if not metrics:
        raise InputError(f"{where} holds no metrics; there is nothing to show")
    pictures = _mapping(result, "pictures", where)
    clean = pictures.get("clean") or []
    return Record(
        "",
        str(result["suite"]),
        {name: _number(metric, f"{where}, metric {name}", name) for name, metric in metrics.items()},
        dict(protocol),
        _samples(_mapping(pictures, "samples", where), where),
        checked_picture(clean[0], f"{where}, the clean picture") if isinstance(clean, list) and clean else None,
        tuple(_failures(pictures.get("failures") or [], where)),
    )


def _mapping(content: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    found = content.get(key) or {}
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: '{key}' is a {type(found).__name__}, not a mapping; {WANTED}")
    return found


def _number(metric: Any, where: str, name: str) -> Number:
    if not isinstance(metric, Mapping) or not _finite(metric.get("value")):
        raise InputError(f"{where} has no finite value; {WANTED}")
    number = Number(
        float(metric["value"]),
        _bound(metric.get("low"), where),
        _bound(metric.get("high"), where),
        metric["images"] if isinstance(metric.get("images"), int) else None,
        str(metric.get("unit", "%")),
    )
    if _is_error(name) and not -SLACK <= number.value <= 100 + SLACK:
        raise InputError(f"{where} is {number.value:g}; an error lies between 0 and 100%")
    return number


def _is_error(name: str) -> bool:
    return name.startswith("error/") or name in ("clean_error", "mean_error")


def _bound(value: Any, where: str) -> float | None:
    if value is not None and not _finite(value):
        raise InputError(f"{where} has an interval that is not finite; {WANTED}")
    return None if value is None else float(value)


def _finite(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _samples(samples: Mapping[str, Any], where: str) -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    for name, pictures in samples.items():
        if not isinstance(pictures, Mapping) or not all(SEVERITY.fullmatch(str(severity)) for severity in pictures):
            raise InputError(f"{where}: the samples of {name} are not pictures by severity; {WANTED}")
        found[name] = {
            int(severity): checked_picture(uri, f"{where}, the sample of {name} at severity {severity}")
            for severity, uri in pictures.items()
        }
    return found


def _failures(failures: Any, where: str) -> list[Failure]:
    if not isinstance(failures, list):
        raise InputError(f"{where}: 'failures' is a {type(failures).__name__}, not a list; {WANTED}")
    found = []
    for i, entry in enumerate(failures):
        place = f"{where}, failure {i + 1}"
        if not isinstance(entry, Mapping) or not _finite(entry.get("confidence")) or not _finite(entry.get("severity")):
            raise InputError(f"{place} lacks a confidence or a severity; {WANTED}")
        corruption, true, predicted = (str(entry.get(key, "")) for key in ("corruption", "true", "predicted"))
        picture = checked_picture(entry.get("image"), f"{place}, the picture")
        confidence = float(entry["confidence"])
        found.append(Failure(picture, corruption, int(entry["severity"]), true, predicted, confidence))
    return found
