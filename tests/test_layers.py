"""The rooms of the house, and that arrows point downwards only (docs/map.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import weatherproof

PACKAGE = Path(weatherproof.__file__).parent
FLOORS = [
    ["cli"],
    ["studies"],
    ["training", "evaluation", "report"],
    ["defences"],
    ["adversaries", "augment"],
    ["networks", "corruptions", "data"],
    ["measures"],
]
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
GROUND = {"errors", "files", "randomness", "images", "specs", "devices"}  # what every room stands on
ROOF = {"__init__", "__main__", "api", "probing"}  # what joins the rooms


def imported_rooms(path: Path) -> set[str]:
    """First-level names below the package that a module imports, lazily or not."""
    parts = ("weatherproof", *path.relative_to(PACKAGE).with_suffix("").parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            stem = list(parts[: -node.level]) if node.level else []
            base = [*stem, *(node.module.split(".") if node.module else [])]
            names = [[*base, alias.name] for alias in node.names] if base == ["weatherproof"] else [base]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        else:
            continue
        found |= {name[1] for name in names if name[0] == "weatherproof" and len(name) > 1}
    return found - {"__version__"}


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_point_downwards(path: Path) -> None:
    relative = path.relative_to(PACKAGE)
    room = relative.parts[0] if len(relative.parts) > 1 else relative.stem
    targets = imported_rooms(path) - {room}
    if room in GROUND:
        assert targets <= GROUND
    elif room in ROOF:
        return
    elif room == "cli":
        assert targets <= GROUND | set(FLOOR) | {"api", "probing"}
    else:
        assert room in FLOOR, f"{room} is a room that the map does not know"
        assert targets <= GROUND | {below for below, level in FLOOR.items() if level > FLOOR[room]}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 300
