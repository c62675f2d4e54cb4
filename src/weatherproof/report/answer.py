"""What the page says first: how the classifiers hold up, in one plain sentence, and what to mind about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .protocol import command, differences, extent
from .record import Number, Record
from .words import inside, listing, short, title

Sentence = tuple[tuple[str, bool], ...]  # words, and whether they stand out


@dataclass(frozen=True)
class Answer:
    """The sentence; what follows from it; a command that would tell more."""

    lead: Sentence
    more: tuple[str, ...] = ()
    command: str = ""


def answer(records: Sequence[Record]) -> Answer:
    """The answer to "how does it hold up?" """
    if len(records) == 1:
        return _corrupted(records[0]) if records[0].corruptions else _clean(records[0])
    return _ranked(records)


def worst(record: Record) -> tuple[str, Number] | None:
    """The corruption with the largest mean error."""
    found = _by_corruption(record)
    return max(found, key=lambda entry: entry[1].value) if found else None


def _corrupted(record: Record) -> Answer:
    lead: list[tuple[str, bool]] = []
    for number, what in ((record.clean_error, "of clean images"), (record.mean_error, _of_what(record))):
        if number is not None:
            lead += [(" and on " if lead else "Wrong on ", False), (_percent(number), True), (f" {what}", False)]
    hardest = worst(record)
    if hardest is not None and len(record.corruptions) > 1:
        name, number = hardest
        lead += [("; worst under " if lead else "Worst under ", False),
                 (f"{inside(title(name))} ({_percent(number)})", True)]  # fmt: skip
    return Answer((*lead, (".", False)), tuple(filter(None, (_range(record), _easiest(record)))))


def _of_what(record: Record) -> str:
    if record.whole:
        return "of corrupted ones"
    names = [inside(title(name)) for name in record.corruptions]
    return f"of those under {listing(names)}" if len(names) <= 2 else f"of those under {extent(record)}"


def _range(record: Record) -> str:
    ends = [(severity, record.numbers.get(f"error/severity/{severity}")) for severity in record.severities]
    known = [(severity, number) for severity, number in ends if number is not None]
    if len(known) < 2:
        return ""
    (mildest, low), (strongest, high) = known[0], known[-1]
    return f"From {_percent(low)} at severity {mildest} to {_percent(high)} at severity {strongest}."


def _easiest(record: Record) -> str:
    found = _by_corruption(record)
    if len(found) < 3:
        return ""
    name, number = min(found, key=lambda entry: entry[1].value)
    return f"Least troubled by {inside(title(name))} ({_percent(number)})."


def _clean(record: Record) -> Answer:
    error = record.clean_error
    if error is None:
        name = record.suite.strip() or "?"
        return Answer(((f"{len(record.numbers)} numbers of the suite {name}.", False),))
    images = f" {record.images:,}" if record.images else ""
    lead = (("Wrong on ", False), (_percent(error), True), (f" of{images} clean images.", False))
    more = "What noise, blur, weather and lossy files do to it has not been measured"
    if not isinstance(record.protocol.get("model"), str):
        return Answer(lead, (f"{more}.",))
    return Answer(lead, (f"{more} yet; this would:",), command(record, corrupted=True))


def _ranked(records: Sequence[Record]) -> Answer:
    measured = [(record.mean_error, record) for record in records if record.mean_error is not None]
    kind = "corrupted"
    if not measured:
        measured, kind = [(r.clean_error, r) for r in records if r.clean_error is not None], "clean"
    if len(measured) < 2:
        return _only(records, measured, kind)
    measured.sort(key=lambda entry: entry[0].value)
    first, last = measured[0][0], measured[-1][0]
    differ = differences([record for _, record in measured])
    if differ:
        between = f"{short(first.value)} to {_percent(last)}"
        lead = ((f"{len(measured)} classifiers, wrong on ", False), (between, True), (f" of {kind} images.", False))
        unlike = f"They were not measured alike ({listing(differ)}), so the numbers do not rank them."
        return Answer(lead, tuple(filter(None, (unlike, _left_out(records, measured)))))
    more = _spread(measured), _chance(measured), _left_out(records, measured)
    return Answer(_best(measured, kind), tuple(filter(None, more)))


Measured = list[tuple[Number, Record]]


def _best(measured: Measured, kind: str) -> Sentence:
    first, best = measured[0]
    close = _close(measured)
    if len(close) == 1:
        second, other = close[0]
        return (
            (best.name, True), (" and ", False), (other.name, True), (" are too close to call: wrong on ", False),
            (_percent(first), True), (" and ", False), (_percent(second), True), (f" of {kind} images.", False),
        )  # fmt: skip
    found = (_percent(first), True), (f" of {kind} images", False)
    lead = ((best.name, True), (" errs least: wrong on ", False), *found)
    if close:
        others = listing([record.name for _, record in close]) if len(close) < 3 else f"{len(close)} others"
        return (*lead, (f", with {others} too close to call.", False))
    second, other = measured[1]
    whose = f"{other.name} ({_percent(second)})" if len(measured) == 2 else f"the next, {other.name}"
    gap = f"{short(second.value - first.value)} points"
    return (*lead, (", ", False), (gap, True), (f" fewer than {whose}.", False))


def _close(measured: Measured) -> Measured:
    """Those whose interval overlaps with that of the first."""
    first = measured[0][0]
    bound = first.value if first.high is None else first.high
    return [(number, record) for number, record in measured[1:] if _low(number) <= bound]


def _low(number: Number) -> float:
    return number.value if number.low is None else number.low


def _spread(measured: Measured) -> str:
    last, worst = measured[-1]
    return f"The last, {worst.name}, is wrong on {_percent(last)}." if len(measured) > 2 else ""


def _chance(measured: Measured) -> str:
    if not _close(measured):
        return ""
    return "Intervals overlap; weatherproof compare tells, image by image, whether a difference is more than chance."


def _left_out(records: Sequence[Record], measured: Measured) -> str:
    known = [id(record) for _, record in measured]
    missing = [record.name for record in records if id(record) not in known]
    return f"Measured on clean images only: {listing(missing)}." if missing else ""


def _only(records: Sequence[Record], measured: Measured, kind: str) -> Answer:
    if not measured:
        return Answer(((f"{len(records)} results without a common number.", False),))
    number, record = measured[0]
    lead = ((record.name, True), (" is wrong on ", False), (_percent(number), True), (f" of {kind} images.", False))
    return Answer(lead, tuple(filter(None, (_left_out(records, measured),))))


def _by_corruption(record: Record) -> list[tuple[str, Number]]:
    found = ((name, record.error(name)) for name in record.corruptions)
    return [(name, number) for name, number in found if number is not None]


def _percent(number: Number) -> str:
    return f"{short(number.value)}%"
