"""Heat maps: the error under each corruption at each severity, in figures on colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..corruptions.tables import EXTRA_CORRUPTIONS, GROUPS
from . import colours
from .record import Number, Record
from .words import explained, short, title


@dataclass(frozen=True)
class Cell:
    """A figure on its colour; `tip` says more, `picture` is the key of a sample to show with it."""

    text: str
    value: float | None
    level: int | None
    tip: str = ""
    picture: str = ""


@dataclass(frozen=True)
class Row:
    """A corruption: a cell for each severity, and their mean."""

    name: str
    cells: tuple[Cell, ...]
    mean: Cell


@dataclass(frozen=True)
class Group:
    """Corruptions of a kind, and the mean over them."""

    name: str
    rows: tuple[Row, ...]
    mean: str


@dataclass(frozen=True)
class HeatMap:
    """All of a record."""

    record: Record
    severities: tuple[int, ...]
    groups: tuple[Group, ...]
    total: Row


def heat_map(record: Record, largest: float) -> HeatMap:
    """The map of a record; the darkest colour stands for an error of `largest`."""
    groups = []
    for name, members in grouped(record.corruptions):
        mean = record.numbers.get(f"error/group/{name}")
        rows = tuple(_row(record, member, largest) for member in members)
        groups.append(Group(name.capitalize(), rows, short(mean.value) if mean else ""))
    return HeatMap(record, record.severities, tuple(groups), _total(record, largest))


def grouped(corruptions: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Corruptions by kind: the four usual ones, the extra four, and any others."""
    kinds = {name: kind for kind, members in GROUPS.items() for name in members}
    kinds |= dict.fromkeys(EXTRA_CORRUPTIONS, "extra")
    found: dict[str, list[str]] = {}
    for name in corruptions:
        found.setdefault(kinds.get(name, "other"), []).append(name)
    return list(found.items())


def ceiling(records: Sequence[Record], others: Iterable[float] = ()) -> float:
    """The end of the one scale of a page: the largest error of its records and of `others`, rounded up to a ten."""
    values = [*(number.value for record in records for number in record.errors), *others]
    return min(100.0, max(20.0, 10 * math.ceil(max(values, default=0.0) / 10)))


def cell(number: Number | None, largest: float, heading: str, picture: str = "") -> Cell:
    """One cell; without a number an empty one."""
    if number is None:
        return Cell("\N{EN DASH}", None, None, f"{heading}\nnot measured")
    level = colours.level(number.value, largest)
    return Cell(short(number.value), number.value, level, explained(heading, number), picture)


def _total(record: Record, largest: float) -> Row:
    name = "Mean of the 15" if record.whole else "Mean"
    cells = tuple(cell(record.numbers.get(f"error/severity/{severity}"), largest, f"{name}, severity {severity}")
                  for severity in record.severities)  # fmt: skip
    return Row(name, cells, cell(record.mean_error, largest, f"{name}, all severities"))


def _row(record: Record, name: str, largest: float) -> Row:
    cells = []
    for severity in record.severities:
        heading = f"{title(name)}, severity {severity}"
        picture = f"{name}/{severity}" if severity in record.samples.get(name, {}) else ""
        cells.append(cell(record.cell(name, severity), largest, heading, picture))
    return Row(title(name), tuple(cells), cell(record.error(name), largest, f"{title(name)}, mean over severities"))
