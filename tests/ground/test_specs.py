"""From what a recipe or a checkpoint says to an object, with a sentence for everything that does not fit."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from weatherproof.errors import InputError
from weatherproof.specs import Spec, accepts, construct, returns


def paint(
    colour: str,
    layers: int = 1,
    thinned: float = 0.0,
    glossy: bool = False,
    areas: Sequence[int] | None = None,
    tool: Literal["brush", "roller"] = "brush",
) -> dict[str, Any]:
    return dict(locals())


@dataclass(frozen=True)
class Room:
    name: str
    size: tuple[float, float]
    notes: dict[str, Any] = field(default_factory=dict)


class Old:
    def __init__(self, anything, number: int = 3) -> None:  # type: ignore[no-untyped-def]
        self.anything, self.number = anything, number


def wide(**options: Any) -> Mapping[str, Any]:
    return options


def nonsense() -> NotThere:  # type: ignore[name-defined]  # noqa: F821
    return None


NUMBER = 3


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        ("fog", Spec("fog")),
        ({"class_path": "a.B"}, Spec("a.B")),
        ({"class_path": "a.B", "init_args": None}, Spec("a.B")),
        ({"class_path": "a.B", "init_args": {"x": 1}}, Spec("a.B", {"x": 1})),
    ],
)
def test_parse(value: Any, spec: Spec) -> None:
    assert Spec.parse(value, "part") == spec
    assert Spec.parse(spec.mapping(), "part") == spec


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "part: wanted a name, or a mapping with class_path and init_args; got None"),
        (3, "part: wanted a name"),
        ({}, "part: wanted a name"),
        ({"class_path": 3}, "part: wanted a name"),
        ({"init_args": {}}, "part: wanted a name"),
        ({"class_path": "a.B", "width": 3}, "part: unknown key 'width'; arguments go below init_args"),
        ({"class_path": "a.B", "init_args": [1]}, "part.init_args: wanted a mapping; got [1]"),
    ],
)
def test_parse_refuses(value: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        Spec.parse(value, "part")


def test_target_by_name_and_by_path() -> None:
    assert Spec("paint").target({"paint": paint}, "part") is paint
    assert Spec("collections.OrderedDict").target({}, "part") is OrderedDict


@pytest.mark.parametrize(
    ("class_path", "sentence"),
    [
        ("pant", "there is no 'pant'; did you mean 'paint'?"),
        ("zzz", "there is no 'zzz'; known: paint"),
        ("", "there is no ''; known: paint"),
        (".paint", "there is no '.paint'"),
        ("no_such_package.Thing", "cannot import no_such_package.Thing (No module named 'no_such_package')"),
        ("collections.NoSuchThing", "cannot import collections.NoSuchThing (module 'collections' has no attribute"),
        ("collections.", "cannot import collections."),
        ("..relative.Thing", "cannot import ..relative.Thing"),
        ("math.pi", "math.pi is a float, not a class or function"),
        ("broken_module.Thing", "cannot import broken_module.Thing (division by zero)"),
    ],
)
def test_target_refuses(class_path: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=f"^part: {re.escape(sentence)}"):
        Spec(class_path).target({"paint": paint}, "part")


@pytest.mark.parametrize(
    ("given", "arrived"),
    [
        ({"colour": "red", "layers": "2"}, {"layers": 2}),
        ({"colour": "red", "layers": 2}, {"layers": 2}),
        ({"colour": "red", "thinned": "1e-3"}, {"thinned": 0.001}),
        ({"colour": "red", "thinned": 1}, {"thinned": 1.0}),
        ({"colour": "red", "glossy": "true"}, {"glossy": True}),
        ({"colour": "red", "areas": "[1, 2]"}, {"areas": [1, 2]}),
        ({"colour": "red", "areas": None}, {"areas": None}),
        ({"colour": "red", "tool": "roller"}, {"tool": "roller"}),
        ({"colour": "007"}, {"colour": "007"}),
    ],
)
def test_text_becomes_what_the_annotation_asks_for(given: dict[str, Any], arrived: dict[str, Any]) -> None:
    painted = construct(paint, given, "part")
    for name, value in arrived.items():
        assert painted[name] == value and type(painted[name]) is type(value)
    assert painted.keys() == {"colour", "layers", "thinned", "glossy", "areas", "tool"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "part: 'colour' is missing"),
        ({"layers": 2}, "part: 'colour' is missing"),
        ({"color": "red"}, "part: unknown key 'color'; did you mean 'colour'?"),
        ({"colour": "red", "zzzz": 1}, "part: unknown key 'zzzz'; known: areas, colour, glossy, layers, thinned, tool"),
        ({"colour": "red", 3: 1}, "part: unknown key '3'"),
        ({"colour": "red", "layers": "two"}, "part.layers: "),
        ({"colour": "red", "layers": 1.5}, "part.layers: wanted int; got 1.5"),
        ({"colour": "red", "layers": True}, "part.layers: "),
        ({"colour": "red", "layers": None}, "part.layers: wanted a value; got none"),
        ({"colour": "red", "thinned": [1]}, "part.thinned: "),
        ({"colour": "red", "glossy": "shiny"}, "part.glossy: "),
        ({"colour": 3}, "part.colour: "),
        ({"colour": "red", "areas": 5}, "part.areas: "),
        ({"colour": "red", "areas": ["a"]}, "part.areas: "),
        ({"colour": "red", "tool": "knife"}, "part.tool: wanted one of 'brush', 'roller'; got knife"),
    ],
)
def test_arguments_that_do_not_fit(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}") as caught:
        construct(paint, given, "part")
    assert "\n" not in str(caught.value) and "<class" not in str(caught.value)


def test_construct_builds_dataclasses_and_classes() -> None:
    room = construct(Room, {"name": "3", "size": ["1", 2], "notes": {"a": "1"}}, "room")
    assert room == Room("3", (1.0, 2.0), {"a": "1"})
    with pytest.raises(InputError, match=r"^room\.size: "):
        construct(Room, {"name": "x", "size": [1, 2, 3]}, "room")
    with pytest.raises(InputError, match=r"^room\.notes: wanted a dict; got 3"):
        construct(Room, {"name": "x", "size": [1, 2], "notes": 3}, "room")
    assert construct(Old, {"anything": "12", "number": "4"}, "old").number == 4


@pytest.mark.parametrize("value", ["007", "1e3", "null", "[1]", "{a: 1}", "2020-01-01", None, 3, ["12"], {"a": "1"}])
def test_what_is_annotated_with_any_arrives_as_it_was_given(value: Any) -> None:
    """A note such as the commit 0012345 must not come back as a number."""
    room = construct(Room, {"name": "x", "size": [1, 2], "notes": {"note": value}}, "room")
    assert room.notes == {"note": value} and type(room.notes["note"]) is type(value)
    assert construct(Old, {"anything": value}, "old").anything == value


@pytest.mark.parametrize("deep", [False, True])
def test_a_class_path_among_the_arguments_is_not_run(tmp_path: Path, deep: bool) -> None:
    trap = {"class_path": "os.mkdir", "init_args": {"path": str(tmp_path / "trap")}}
    notes = {"note": [{"x": trap}] if deep else trap}
    assert construct(Room, {"name": "x", "size": [1, 2], "notes": notes}, "room").notes == notes
    assert construct(Old, {"anything": trap}, "old").anything == trap
    assert list(tmp_path.iterdir()) == []


def test_errors_of_the_target_pass() -> None:
    def fussy(number: int) -> int:
        raise InputError(f"{number} is not to my taste")

    with pytest.raises(InputError, match=r"^3 is not to my taste$"):
        construct(fussy, {"number": "3"}, "part")


@pytest.mark.parametrize(
    ("target", "kind", "yes"),
    [
        (OrderedDict, dict, True),
        (dict, OrderedDict, False),
        (Room, Room, True),
        (wide, dict, False),
        (paint, dict, False),
        (os.system, dict, False),
        (os.system, object, False),
        (nonsense, object, False),
        (len, int, False),
        (returns, int, True),
        (returns, str, False),
    ],
)
def test_returns(target: Callable[..., Any], kind: type, yes: bool) -> None:
    assert returns(target, kind) is yes


def test_accepts() -> None:
    assert accepts(paint, "colour") and not accepts(paint, "color")
    assert accepts(Room, "size") and not accepts(wide, "anything")
