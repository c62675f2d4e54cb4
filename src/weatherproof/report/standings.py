"""The headline numbers of the classifiers of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..corruptions.tables import GROUPS
from .answer import worst
from .heat import Cell, cell
from .published import notable
from .record import Number, Record
from .words import interval, title

LABELS = {
    "clean_accuracy": ("Clean accuracy", "images as they are, classified correctly"),
    "mean_accuracy": ("Corrupted accuracy", "100 minus the corrupted error, as RobustBench counts"),
    "mce": ("mCE", "error under each corruption over AlexNet's, averaged; AlexNet is 100"),
    "relative_mce": ("Relative mCE", "what corruption adds to the error over what it adds to AlexNet's"),
    "calibration_error/clean": ("Calibration error, clean", "how far confidence and accuracy lie apart, 15 bins"),
    "calibration_error": ("Calibration error, corrupted", "the same over all corrupted images"),
}
SHOWN = ("clean_error", "mean_error")  # in larger type than a table


@dataclass(frozen=True)
class Standing:
    """A classifier: the errors that matter most. `number` is that of its colour on the page."""

    number: int
    name: str
    notes: tuple[str, ...]
    clean: Cell
    mean: Cell
    clean_interval: str
    mean_interval: str
    low: float | None
    high: float | None
    groups: tuple[Cell, ...]
    worst: str
    worst_error: Cell


@dataclass(frozen=True)
class Value:
    """A number and its 95% interval, as written."""

    text: str
    brief: str
    unit: str
    bounds: str


@dataclass(frozen=True)
class Line:
    """A metric, and what each classifier came to; `headline` where papers report it first."""

    name: str
    meaning: str
    headline: bool
    values: tuple[Value, ...]


def standings(records: Sequence[tuple[int, Record]], largest: float) -> list[Standing]:
    """By mean error, or by clean error where no other was measured."""
    groups = kinds([record for _, record in records])
    notes = notable([record for _, record in records])
    found = [_standing(number, record, groups, largest, notes[i]) for i, (number, record) in enumerate(records)]
    return sorted(found, key=lambda entry: (*_key(entry.mean), *_key(entry.clean)))


def kinds(records: Sequence[Record]) -> list[str]:
    """The kinds of corruption that some record has a mean for."""
    return [kind for kind in GROUPS if any(f"error/group/{kind}" in record.numbers for record in records)]


def means(records: Sequence[Record]) -> list[float]:
    """All that is drawn along an axis: clean and mean errors up to the ends of their intervals, errors by kind."""
    names = ["clean_error", "mean_error", *(f"error/group/{kind}" for kind in GROUPS)]
    found = [record.numbers[name] for record in records for name in names if name in record.numbers]
    return [number.value if number.high is None else max(number.value, number.high) for number in found]


def numbers(records: Sequence[Record]) -> list[Line]:
    """All metrics that are shown nowhere else."""
    names = dict.fromkeys(name for record in records for name in record.numbers)
    rest = [name for name in names if not name.startswith("error/") and name not in SHOWN]
    return [_line(name, records) for name in rest]


def _line(name: str, records: Sequence[Record]) -> Line:
    return Line(*_label(name), name == "mce", tuple(_value(record.numbers.get(name)) for record in records))


def _standing(number: int, record: Record, groups: Sequence[str], largest: float, notes: tuple[str, ...]) -> Standing:
    clean, mean, hardest = record.clean_error, record.mean_error, worst(record)
    means = [(kind, record.numbers.get(f"error/group/{kind}")) for kind in groups]
    return Standing(
        number, record.name, notes,
        cell(clean, largest, f"{record.name}, clean"), cell(mean, largest, f"{record.name}, corrupted"),
        interval(clean) if clean else "", interval(mean) if mean else "",
        mean.low if mean else None, mean.high if mean else None,
        tuple(cell(error, largest, f"{record.name}, {kind}") for kind, error in means),
        title(hardest[0]) if hardest else "", cell(hardest[1] if hardest else None, largest, _worst_heading(record)),
    )  # fmt: skip


def _worst_heading(record: Record) -> str:
    hardest = worst(record)
    return f"{record.name}, {title(hardest[0])}" if hardest else record.name


def _key(cell: Cell) -> tuple[bool, float]:
    return cell.value is None, cell.value or 0.0


def _label(name: str) -> tuple[str, str]:
    return LABELS.get(name) or (name.replace("_", " "), "")


def _value(number: Number | None) -> Value:
    if number is None:
        return Value("\N{EN DASH}", "\N{EN DASH}", "", "")
    return Value(f"{number.value:.2f}", f"{number.value:.1f}", number.unit, interval(number, 2))
