"""How numbers and names are written on the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .record import Number

ACRONYMS = {"jpeg": "JPEG"}


def title(corruption: str) -> str:
    """gaussian_noise: Gaussian noise."""
    words = [ACRONYMS.get(word, word) for word in corruption.split("_")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def inside(title: str) -> str:
    """A title in the middle of a sentence: Glass blur becomes glass blur, JPEG compression stays."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def short(value: float) -> str:
    """With one digit after the point, and without it where that would be wide: 7.3, 100."""
    return "100" if value >= 99.95 else f"{value:.1f}"


def with_unit(number: Number, digits: int = 1) -> str:
    """26.4%, or 3.1 seconds."""
    return f"{number.value:.{digits}f}" + (number.unit if number.unit in ("%", "") else f" {number.unit}")


def interval(number: Number, digits: int = 1) -> str:
    """Its 95% interval, or nothing."""
    if number.low is None or number.high is None:
        return ""
    return f"{number.low:.{digits}f}\N{EN DASH}{number.high:.{digits}f}"


def explained(heading: str, number: Number, what: str = "wrong") -> str:
    """The lines of a tooltip."""
    lines = [heading, f"{with_unit(number, 2)} {what}"]
    if interval(number):
        lines.append(f"95% interval {interval(number, 2)}")
    if number.images is not None:
        lines.append(f"{number.images:,} images")
    return "\n".join(lines)


def listing(words: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def plain(value: Any) -> str:
    """A value of a protocol."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, list | tuple):
        return ", ".join(plain(entry) for entry in value)
    return value if isinstance(value, str) else json.dumps(value)


def severities(chosen: Sequence[int], dash: str = "\N{EN DASH}") -> str:
    """1 to 5 with a dash in between, or 1,3."""
    if len(chosen) > 2 and list(chosen) == list(range(chosen[0], chosen[-1] + 1)):
        return f"{chosen[0]}{dash}{chosen[-1]}"
    return ",".join(map(str, chosen))
