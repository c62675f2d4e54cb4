"""The page of an attack: images beside what an adversary makes of them, over several radii."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .. import __version__
from ..files import write_atomically
from .pictures import FEW_PIXELS

TEMPLATE = Path(__file__).parent / "template"


@dataclass(frozen=True)
class Seen:
    """A picture (a data URI), and what a classifier takes it for, with a confidence in [0, 1]."""

    picture: str
    label: str
    confidence: float


@dataclass(frozen=True)
class Corrupted:
    """An image at one radius: what it became, its exaggerated difference, its SSIM to the original."""

    seen: Seen
    difference: str
    similarity: float
    fooled: bool
    guarded: bool


@dataclass(frozen=True)
class Subject:
    """An image: its name, itself, and what it became at each radius."""

    name: str
    original: Seen
    corrupted: tuple[Corrupted, ...]


def write_attack_sheet(
    path: Path, radii: Sequence[float], subjects: Sequence[Subject], side: int, protocol: Mapping[str, Any]
) -> None:
    """Write one HTML page that stands for itself; `side` is that of the images, in pixels."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    fooled = [sum(subject.corrupted[i].fooled for subject in subjects) for i in range(len(radii))]
    page = environment.get_template("attack.html.j2").render(
        version=__version__,
        css=(TEMPLATE / "page.css").read_text(encoding="utf-8"),
        radii=[f"{radius:g}" for radius in radii],
        subjects=subjects,
        fooled=fooled,
        few_pixels=side <= FEW_PIXELS,
        protocol={name: value for name, value in protocol.items() if value is not None},
    )
    write_atomically(path, page.encode("utf-8", "replace"))
