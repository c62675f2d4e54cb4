"""The page itself: everything that it shows, poured into one template."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .. import __version__
from ..errors import InputError
from ..files import write_atomically
from . import colours
from .album import Album, album
from .answer import answer
from .curves import axes, panels
from .heat import ceiling, heat_map
from .protocol import command, facts, subject
from .published import Published, limits
from .record import Record, records
from .side import Side, beside, side_by_side, why_alone
from .standings import kinds, means, numbers, standings
from .words import listing

TEMPLATE = Path(__file__).parent / "template"
Numbered = Sequence[tuple[int, Record]]


def write_report(
    results: Sequence[Mapping[str, Any]],
    path: str | Path,
    names: Sequence[str] | None = None,
    files: Sequence[str] | None = None,
) -> Path:
    """Write one HTML page about up to 16 results, each as ``Result.to_json()`` gives it; returns where it is.

    `names` is what the page calls the classifiers, by default their run's folder; `files` is what errors call the
    results. The page stands for itself: it needs no network and stays below 2 MB. The same results give the same bytes.
    Whatever cannot be shown is an `InputError`, and then nothing is written.
    """
    page = render(records(results, names, files))
    target = Path(path).expanduser()
    if target.is_dir():
        raise InputError(f"{target} is a folder; wanted the name of a file for the page")
    write_atomically(target, page.encode("utf-8", "replace"))  # JSON can hold halves of characters, UTF-8 cannot
    return target


def render(found: Sequence[Record]) -> str:
    """The page as text."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"exact": _exact, "place": _place, "left": _left, "ticks": _ticks}
    return environment.get_template("page.html.j2").render(**_content(found))


def _content(found: Sequence[Record]) -> dict[str, Any]:
    numbered = list(enumerate(found))
    measured = [(i, record) for i, record in numbered if record.corruptions]
    others = beside([record for _, record in measured])
    largest = ceiling(found, [error for row in others for error in row.errors.values()])
    references = [row for row in others if row.cells]
    side, pictures = side_by_side(numbered, largest), album(found)
    shared = axes([record for _, record in measured], ceiling(found))
    script = (TEMPLATE / "page.js").read_text(encoding="utf-8")
    return {
        "version": __version__,
        "css": colours.styles() + (TEMPLATE / "page.css").read_text(encoding="utf-8"),
        "script": script,
        "digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "heading": _heading(found),
        "records": found,
        "numbered": numbered,
        "whole": all(record.whole for _, record in measured),
        "largest": largest,
        "reach": ceiling((), [*means(found), *(row.mean for row in others)]),
        "subject": subject(found),
        "answer": answer(found),
        "standings": standings(numbered, largest),
        "kinds": kinds(found),
        "maps": [(i, heat_map(record, largest)) for i, record in measured],
        "prefixes": ["" if sheet is None else f"p{sheet}/" for sheet in pictures.sheet_of],
        "axes": shared,
        "panels": panels(measured, references, shared),
        "references": _named(references),
        "side": side,
        "album": pictures,
        "failing": [(i, record, pictures.mistakes[i]) for i, record in numbered if pictures.mistakes[i]],
        "numbers": numbers(found),
        "facts": facts(found),
        "commands": list(dict.fromkeys(command(record) for record in found)),
        "alone": _alone(found, side),
        "sections": _sections(found, side, pictures),
    }


def _heading(found: Sequence[Record]) -> str:
    names = [record.name for record in found]
    return listing(names) if len(names) <= 3 else f"{len(names)} classifiers"


def _named(references: Sequence[Published]) -> str:
    return listing([row.name for row in references])


def _alone(found: Sequence[Record], side: Side | None) -> list[str]:
    """What to mind about the only result of a page."""
    if len(found) > 1:
        return []
    left_out = "; ".join(limits(found[0]))
    said = [f"{left_out[:1].upper()}{left_out[1:]}."] if left_out else []
    if side is None and found[0].corruptions:
        said.append(f"No published results stand beside it: {why_alone(found[0])}.")
    return said


def _sections(found: Sequence[Record], side: Side | None, pictures: Album) -> list[tuple[str, str]]:
    """Links to the parts that the page has."""
    measured = any(record.corruptions for record in found)
    parts = [
        ("standings", "Headline numbers", len(found) > 1),
        ("map", "Under each corruption", measured),
        ("curves", "As it gets stronger", measured),
        ("side", "Side by side", side is not None),
        ("samples", "What it was shown", bool(pictures.sheets)),
        ("failures", "Wrong, and sure of it", any(pictures.mistakes)),
        ("protocol", "How it was measured", True),
    ]
    return [(part, name) for part, name, there in parts if there]


def _exact(value: float) -> str:
    """For sorting; shorter than all digits."""
    return f"{value:.8g}"


def _place(value: float, largest: float) -> str:
    """Percent along an axis that ends at `largest`."""
    return f"{100 * min(max(value, 0.0), largest) / largest:.2f}"


def _left(value: float, largest: float) -> str:
    """Percent from there to the end of the axis."""
    return f"{100 - 100 * min(max(value, 0.0), largest) / largest:.2f}"


def _ticks(largest: float) -> list[int]:
    """Few enough for a narrow axis."""
    return list(range(0, int(largest) + 1, 10 if largest <= 30 else 20 if largest <= 60 else 40))
