"""Side by side: the classifiers of a page and, where the protocol is theirs, those that others published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .heat import Cell, cell, grouped
from .published import Published, not_comparable, notable, published
from .record import Number, Record
from .words import inside, listing, title


@dataclass(frozen=True)
class SideRow:
    """A classifier. `number` is that of its colour on the page; `None` for a published one."""

    name: str
    source: str
    notes: tuple[str, ...]
    number: int | None
    clean: Cell
    mean: Cell
    cells: tuple[Cell, ...]
    landmark: bool


@dataclass(frozen=True)
class Side:
    """The table: corruptions by kind along the top, rows by mean error, and why rows are missing."""

    groups: list[tuple[str, list[str]]]
    rows: tuple[SideRow, ...]
    hidden: int
    left_out: str
    published: bool

    @property
    def columns(self) -> list[str]:
        """Corruptions in order, as they are called."""
        return [title(name) for _, names in self.groups for name in names]


def side_by_side(records: Sequence[tuple[int, Record]], largest: float) -> Side | None:
    """The table, or `None` where there is nothing to compare with; the darkest colour stands for `largest`."""
    measured = [(number, record) for number, record in records if record.corruptions]
    reasons = {record.name: not_comparable(record) for _, record in measured}
    others = beside([record for _, record in measured])
    if not others and len(measured) < 2:
        return None
    names = list(dict.fromkeys(name for _, record in measured for name in record.corruptions))
    notes = notable([record for _, record in measured], bool(others))
    rows = [_ours(number, record, names, largest, notes[i]) for i, (number, record) in enumerate(measured)]
    rows += [_theirs(row, names, largest) for row in others]
    rows.sort(key=lambda row: (row.mean.value is None, row.mean.value or 0.0))
    hidden = sum(not row.landmark for row in rows)
    return Side(grouped(names), tuple(rows), hidden, _left_out(reasons, bool(others)), bool(others))


def beside(records: Sequence[Record]) -> tuple[Published, ...]:
    """The published rows that may stand beside one of the records."""
    return published() if any(not_comparable(record) is None for record in records) else ()


def why_alone(record: Record) -> str:
    """Why no published rows stand beside the only result of a page."""
    return f"this result {not_comparable(record)}"


def _left_out(reasons: dict[str, str | None], shown: bool) -> str:
    """Who does not stand beside the published rows, those with the same reason together."""
    together: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason:
            together.setdefault(reason, []).append(name)
    if not together:
        return ""
    start = "Not under the protocol of the published rows: " if shown else "Published rows are left out: "
    if len(together) == 1 and not shown:
        return f"{start}each of these results {next(iter(together))}."
    return start + "; ".join(f"{listing(names)} {reason}" for reason, names in together.items()) + "."


def _ours(number: int, record: Record, names: Sequence[str], largest: float, notes: tuple[str, ...]) -> SideRow:
    return SideRow(
        record.name, "", notes, number,
        cell(record.clean_error, largest, f"{record.name}, clean"),
        cell(record.mean_error, largest, f"{record.name}, mean over corruptions"),
        tuple(cell(record.error(name), largest, f"{record.name}, {_called(name)}") for name in names), True,
    )  # fmt: skip


def _theirs(row: Published, names: Sequence[str], largest: float) -> SideRow:
    clean = None if row.clean is None else Number(row.clean)
    errors = [(name, Number(row.errors[name]) if name in row.errors else None) for name in names]
    return SideRow(
        row.name, row.source, (row.detail,) if row.detail else (), None,
        cell(clean, largest, f"{row.name}, clean"),
        cell(Number(row.mean), largest, f"{row.name}, mean over corruptions"),
        tuple(cell(error, largest, f"{row.name}, {_called(name)}") for name, error in errors), row.landmark,
    )  # fmt: skip


def _called(corruption: str) -> str:
    """Its title inside a sentence: JPEG stays as it is."""
    return inside(title(corruption))
