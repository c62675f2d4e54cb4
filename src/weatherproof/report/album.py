"""Which pictures a page shows: each corruption at each severity, and the surest mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .heat import grouped
from .pictures import Shown, lighter
from .record import Failure, Record
from .words import inside, listing, short, title

FEWER = ((1, 24), (3, 12), (8, 8), (16, 4))  # up to so many classifiers: how many mistakes of each
SHEETS = 4  # classifiers usually share one; more than a few make a page heavy


@dataclass(frozen=True)
class Frame:
    """A picture at a severity; `key` is what cells of a heat map call it by, `error` what is known to come of it."""

    key: str
    severity: int
    picture: Shown
    about: str
    error: str


@dataclass(frozen=True)
class Strip:
    """A corruption, mildest first."""

    name: str
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Sheet:
    """One image under all corruptions; several classifiers that were shown the same one share a sheet."""

    number: int
    names: str
    clean: Shown | None
    strips: tuple[tuple[str, tuple[Strip, ...]], ...]


@dataclass(frozen=True)
class Mistake:
    """A failure with the picture as the page has it."""

    failure: Failure
    picture: Shown
    condition: str


@dataclass(frozen=True)
class Album:
    """All pictures of a page. `sheet_of` has for each record the number of its sheet; some may be left out."""

    sheets: tuple[Sheet, ...]
    left_out: str
    sheet_of: tuple[int | None, ...]
    mistakes: tuple[tuple[Mistake, ...], ...]


def album(records: Sequence[Record]) -> Album:
    """The pictures, light enough for one page."""
    most = next(count for classifiers, count in FEWER if len(records) <= classifiers)
    failures = [record.failures[:most] for record in records]
    groups = _sharing(records)
    sharing = groups[:SHEETS]
    shown = lighter([*(uri for group in sharing for uri in _pictures(records[group[0]])),
                     *(failure.picture for found in failures for failure in found)])  # fmt: skip
    sheet_of = {i: number for number, group in enumerate(sharing) for i in group}
    return Album(
        tuple(_sheet(number, [records[i] for i in group], shown) for number, group in enumerate(sharing)),
        listing([records[i].name for group in groups[SHEETS:] for i in group]),
        tuple(sheet_of.get(i) for i in range(len(records))),
        tuple(tuple(_mistake(failure, shown) for failure in found) for found in failures),
    )


def _sharing(records: Sequence[Record]) -> list[list[int]]:
    """Places of records whose samples are the same."""
    groups: dict[str, list[int]] = {}
    for i, record in enumerate(records):
        if record.samples:
            strips = sorted((name, *sorted(strip.items())) for name, strip in record.samples.items())
            groups.setdefault(repr((record.clean, strips)), []).append(i)
    return list(groups.values())


def _pictures(record: Record) -> list[str]:
    clean = [record.clean] if record.clean else []
    return clean + [uri for strip in record.samples.values() for uri in strip.values()]


def _sheet(number: int, records: Sequence[Record], shown: dict[str, Shown]) -> Sheet:
    first = records[0]
    strips = tuple(
        (kind.capitalize(), tuple(_strip(number, name, records, shown) for name in members))
        for kind, members in grouped(first.samples)
    )
    clean = shown[first.clean] if first.clean else None
    return Sheet(number, listing([record.name for record in records]), clean, strips)


def _strip(number: int, name: str, records: Sequence[Record], shown: dict[str, Shown]) -> Strip:
    frames = []
    for severity, uri in sorted(records[0].samples[name].items()):
        found = [(record.name, error) for record in records if (error := record.cell(name, severity))]
        errors = (f"{who}: {short(error.value)}% wrong" for who, error in found)
        about = "\n".join([f"{title(name)}, severity {severity}", *errors])
        alone = f"{short(found[0][1].value)}%" if len(records) == 1 and found else ""
        frames.append(Frame(f"{number}/{name}/{severity}", severity, shown[uri], about, alone))
    return Strip(title(name), tuple(frames))


def _mistake(failure: Failure, shown: dict[str, Shown]) -> Mistake:
    condition = f"{inside(title(failure.corruption))}, severity {failure.severity}"
    return Mistake(failure, shown[failure.picture], condition)
