"""Small multiples: how the error grows with the severity, one panel for each corruption.

Coordinates are percent of a panel, x to the right and y downwards, so that a panel may have any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .heat import grouped
from .published import Published
from .record import Number, Record
from .words import interval, short, title


@dataclass(frozen=True)
class Line:
    """The errors of one classifier: a path, the band of its intervals, and its points as strokes of no length."""

    number: int
    path: str
    band: str
    dots: str


@dataclass(frozen=True)
class Stop:
    """Where a pointer or the keyboard stops: a severity, and what all classifiers came to at it."""

    x: float
    left: float
    width: float
    tip: str


@dataclass(frozen=True)
class Panel:
    """A corruption."""

    name: str
    lines: tuple[Line, ...]
    references: tuple[str, ...]
    stops: tuple[Stop, ...]
    summary: str


@dataclass(frozen=True)
class Axes:
    """What all panels share: severities along x, where 0 is the images as they are, and errors up to `largest`."""

    severities: tuple[int, ...]
    largest: float

    def x(self, severity: int) -> float:
        """Percent from the left, with a margin of half a step."""
        return 100 * (self.severities.index(severity) + 0.5) / len(self.severities)

    def y(self, error: float) -> float:
        """Percent from the top; above it, and cut off when drawn, what is larger than the axis."""
        return 100 * (1 - error / self.largest)

    @property
    def ticks(self) -> list[tuple[str, float]]:
        """Gridlines: label and y."""
        step = 25 if self.largest > 60 else 20 if self.largest > 30 else 10
        return [(f"{error}", self.y(error)) for error in range(step, int(self.largest) + 1, step)]


def axes(records: Sequence[Record], largest: float) -> Axes:
    """Axes that have room for all records."""
    found = {severity for record in records for severity in record.severities}
    return Axes((0, *sorted(found)), largest)


def panels(
    records: Sequence[tuple[int, Record]], references: Sequence[Published], shared: Axes
) -> list[tuple[str, list[Panel]]]:
    """Panels by kind of corruption; `records` with the number of the colour that each has on the page."""
    names = dict.fromkeys(name for _, record in records for name in record.corruptions)
    return [
        (kind.capitalize(), [_panel(name, records, references, shared) for name in members])
        for kind, members in grouped(names)
    ]


def _panel(name: str, records: Sequence[tuple[int, Record]], references: Sequence[Published], axes: Axes) -> Panel:
    lines = tuple(_line(number, _numbers(record, name, axes), axes) for number, record in records)
    drawn = tuple(_path(_published(row, name, axes), axes) for row in references)
    means = [f"{record.name} {short(error.value)}%" for _, record in records if (error := record.error(name))]
    stops = tuple(_stop(name, severity, [record for _, record in records], references, axes)
                  for severity in axes.severities)  # fmt: skip
    return Panel(title(name), lines, drawn, stops, f"{title(name)}: mean error {', '.join(means)}")


def _published(row: Published, name: str, axes: Axes) -> list[tuple[int, float]]:
    known = {severity: error for (other, severity), error in row.cells.items() if other == name}
    known |= {} if row.clean is None else {0: row.clean}
    return [(severity, known[severity]) for severity in axes.severities if severity in known]


def _numbers(record: Record, name: str, axes: Axes) -> list[tuple[int, Number]]:
    found = [(s, record.cell(name, s) if s else record.clean_error) for s in axes.severities]
    return [(severity, number) for severity, number in found if number is not None]


def _line(index: int, numbers: Sequence[tuple[int, Number]], axes: Axes) -> Line:
    dots = "".join(f"M{axes.x(severity):.2f} {axes.y(number.value):.2f}h0" for severity, number in numbers)
    sure = [(s, n.low, n.high) for s, n in numbers if n.low is not None and n.high is not None]
    edge = [(s, high) for s, _, high in sure] + [(s, low) for s, low, _ in reversed(sure)]
    return Line(index, _path([(s, n.value) for s, n in numbers], axes), _path(edge, axes), dots)


def _path(values: Sequence[tuple[int, float]], axes: Axes) -> str:
    return " ".join(f"{axes.x(severity):.2f},{axes.y(error):.2f}" for severity, error in values)


def _stop(name: str, severity: int, records: Sequence[Record], references: Sequence[Published], axes: Axes) -> Stop:
    lines = [f"{title(name)}, severity {severity}" if severity else "Images as they are"]
    for record in records:
        number = record.cell(name, severity) if severity else record.clean_error
        if number is not None:
            bounds = f" ({interval(number)})" if interval(number) else ""
            lines.append(f"{record.name}: {number.value:.1f}%{bounds}")
    known = [(row.name, dict(_published(row, name, axes))) for row in references]
    lines += [f"{who}: {errors[severity]:.1f}%" for who, errors in known if severity in errors]
    width = 100 / len(axes.severities)
    return Stop(axes.x(severity), axes.x(severity) - width / 2, width, "\n".join(lines))
