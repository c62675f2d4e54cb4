"""Under which conditions results came about, how they differ in that, and the command that makes them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..corruptions.tables import CORRUPTIONS, SEVERITIES
from .record import Record
from .words import plain, severities, title

# Results that differ in one of these cannot be ranked.
DECISIVE = (
    "data", "split", "images", "size", "limit", "seed", "scale", "corruptions", "severities", "corrupted", "frost",
    "corruption_seed", "recompressed",
)  # fmt: skip
# What clean images have no part in.
OF_CORRUPTIONS = {
    "scale", "corruptions", "severities", "part", "corrupted", "corrupted_from", "frost", "corruption_seed",
    "recompressed",
}  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """A line of the protocol: values, each with the places of the results that have it."""

    name: str
    values: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def shared(self) -> str | None:
        """The value, when one stands for all results that it can apply to."""
        return self.values[0][0] if len(self.values) == 1 else None


def facts(records: Sequence[Record]) -> list[Fact]:
    """All that the results say about how they came about."""
    keys = dict.fromkeys(key for record in records for key in record.protocol)
    found = [_fact("suite", enumerate(record.suite for record in records))]
    for key in keys:
        concerned = [(i, record) for i, record in enumerate(records) if record.corruptions or key not in OF_CORRUPTIONS]
        found.append(_fact(key, ((i, _value(key, record.protocol.get(key))) for i, record in concerned)))
    return [fact for fact in found if fact.values]


def _fact(key: str, values: Iterable[tuple[int, str]]) -> Fact:
    places: dict[str, list[int]] = {}
    for i, value in values:
        places.setdefault(value, []).append(i)
    return Fact(_label(key), tuple((value, tuple(found)) for value, found in places.items()))


def differences(records: Sequence[Record]) -> list[str]:
    """In what the results that hold corruptions differ so that their numbers do not rank the classifiers."""
    measured = [record for record in records if record.corruptions] or records
    found = [key for key in DECISIVE if len({plain(record.protocol.get(key)) for record in measured}) > 1]
    follow = ("images", "seed") if "limit" in found else ()  # a limit brings them along
    return [_label(key) for key in found if key not in follow]


def subject(records: Sequence[Record]) -> list[str]:
    """What was measured, in a few words, as far as all results agree."""
    shared = {fact.name: fact.shared for fact in facts(records) if fact.shared not in (None, _NONE)}
    images = records[0].images if "images" in shared else None
    found = [
        shared.get("data"),
        f"{shared['split']} split" if "split" in shared else None,
        f"{images:,} images" if images else None,
        _side(shared.get("size")),
        _extent(records),
        f"{shared['scale']} scale" if "scale" in shared else None,
    ]
    return [words for words in found if words]


def extent(record: Record) -> str:
    """15 corruptions at severities 1-5."""
    count = len(record.corruptions)
    what = f"{count} corruptions" if count != 1 else title(record.corruptions[0])
    return f"{what} at severit{'y' if len(record.severities) == 1 else 'ies'} {severities(record.severities)}"


def command(record: Record, corrupted: bool | None = None) -> str:
    """What to type, or to call, to measure the same again; `corrupted` says whether under corruptions, or as it was."""
    protocol = record.protocol
    if not isinstance(protocol.get("model"), str):
        return _call(record)
    words = ["weatherproof", "evaluate", protocol["model"]]
    words += _option(protocol, "data") + _option(protocol, "split", usual="test")
    words += _option(protocol, "limit") + (_option(protocol, "seed", usual=0) if "limit" in protocol else [])
    if record.corruptions or corrupted:
        words += ["--suite", "corruptions", *_part(record), *_option(protocol, "scale"), *_origin(protocol)]
    return f"{shlex.join([*words, '-o'])} result.json"


def _part(record: Record) -> list[str]:
    if not record.corruptions:
        return []
    words = []
    if set(record.corruptions) != set(CORRUPTIONS):
        words += ["--corruptions", ",".join(record.corruptions)]
    if record.severities != SEVERITIES:
        words += ["--severities", severities(record.severities, "-")]
    return words


def _origin(protocol: dict[str, Any]) -> list[str]:
    """Where the corrupted images came from: a folder, or our own hand."""
    if "corrupted" in protocol:
        return ["--corrupted", str(protocol["corrupted"])]
    words = _option(protocol, "frost") + _option(protocol, "corruption_seed", usual=0)
    return [*words, *(["--recompress"] if protocol.get("recompressed") is True else [])]


def _option(protocol: dict[str, Any], key: str, usual: object = None) -> list[str]:
    value = protocol.get(key, usual)
    return [] if value is None or value == usual else [f"--{key.replace('_', '-')}", str(value)]


def _call(record: Record) -> str:
    if not record.corruptions:
        return "weatherproof.evaluate(classifier, images, labels)"
    words = ['suite="corruptions"']
    if set(record.corruptions) != set(CORRUPTIONS):
        words.append(f"corruptions={list(record.corruptions)}")
    if record.severities != SEVERITIES:
        words.append(f"severities={list(record.severities)}")
    for key, option, usual in (("scale", "scale", None), ("frost", "frost", None), ("corruption_seed", "seed", 0),
                               ("recompressed", "recompress", False)):  # fmt: skip
        value = record.protocol.get(key, usual)
        if value != usual:
            words.append(f"{option}={json.dumps(value) if isinstance(value, str) else value}")
    if "corrupted" in record.protocol:
        words.append(f"folder=Path({json.dumps(str(record.protocol['corrupted']))})")
    return f"weatherproof.evaluate(classifier, images, labels, {', '.join(words)})"


def _extent(records: Sequence[Record]) -> str | None:
    found = {extent(record) for record in records if record.corruptions}
    return found.pop() if len(found) == 1 else None


def _side(size: str | None) -> str | None:
    return f"{size} px" if size else None


_NONE = "\N{EN DASH}"


def _value(key: str, value: Any) -> str:
    if value is None:
        return _NONE
    if key == "corruptions" and isinstance(value, list) and value == list(CORRUPTIONS):
        return "all 15"
    if key == "severities" and isinstance(value, list) and all(isinstance(entry, int) for entry in value):
        return severities(value)
    return plain(value)


def _label(key: str) -> str:
    return {"weatherproof": "Weatherproof version", "part": "a part only"}.get(key, key.replace("_", " "))
