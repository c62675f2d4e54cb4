"""A study: one YAML file that lists rows, each a resolved recipe, and how every row is measured."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import InputError, did_you_mean
from ..specs import construct
from ..training import Recipe, load_recipe
from ..training.recipe import read_yaml
from .evaluations import Evaluation

NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+"
Values = dict[str, Any]  # dotted keys of a recipe, and what they are set to


@dataclass(frozen=True)
class Row:
    """What one line of the table is.

    text: what it is, for the page.
    recipe, overrides: instead of the study's recipe, and on top of the study's overrides.
    select: for some keys of the recipe the values to choose from, on images that are neither trained on nor tested on.
    cost: how long it takes, in units of the cheapest row; a guess will do, since it only decides what is begun first.
    """

    text: str = ""
    recipe: str | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    select: dict[str, list[Any]] = field(default_factory=dict)
    cost: float = 1.0

    @property
    def candidates(self) -> list[Values]:
        """All combinations of the values to choose from; one that is empty where there is nothing to choose."""
        return [dict(zip(self.select, values, strict=True)) for values in itertools.product(*self.select.values())]


@dataclass(frozen=True)
class Selection:
    """How values are chosen: by a training with `seed`, the metric (the lower the better) of an evaluation.

    overrides: what all trials change in their row's recipe, fewer epochs, say.
    """

    evaluation: dict[str, Any]
    metric: str = "mean_error"
    seed: int = 0
    overrides: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """The YAML file, typed. `sizes` maps a size to what it changes in the rest; the first one is the default."""

    title: str
    recipe: str
    rows: dict[str, dict[str, Any]]
    reference: str
    evaluations: dict[str, dict[str, Any]]
    seeds: list[int]
    text: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    selection: dict[str, Any] | None = None
    sizes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A study at one size, checked: every recipe that it can come to has been resolved.

    `changed` is what the user overrides in every row; a study that is changed is not the shipped one any more.
    """

    name: str
    size: str
    title: str
    text: str
    recipe: str
    overrides: Values
    rows: dict[str, Row]
    reference: str
    evaluations: tuple[Evaluation, ...]
    selection: Selection | None
    seeds: tuple[int, ...]
    changed: Values = field(default_factory=dict)
    usual: bool = True

    @property
    def folder(self) -> str:
        """What the folder of its results is called: its name, with the size where that is not the usual one."""
        return self.name if self.usual else f"{self.name}-{self.size}"

    def trial_of(self, row: str, values: Values) -> Recipe:
        """The recipe of a trial, by which `values` may be chosen."""
        assert self.selection is not None
        return self.recipe_of(row, {**self.selection.overrides, **values}, self.selection.seed)

    def recipe_of(self, row: str, values: Values, seed: int) -> Recipe:
        """The recipe of a row, with values chosen and a seed."""
        chosen = self.rows[row]
        overrides = {**self.overrides, **chosen.overrides, **values, **self.changed, "seed": seed}
        try:
            return load_recipe(chosen.recipe or self.recipe, overrides)
        except InputError as error:
            raise InputError(f"study {self.name}, row {row}: {error}") from error

    @property
    def selecting(self) -> Evaluation:
        """What the trials of a selection are measured by."""
        assert self.selection is not None
        return Evaluation.parse("holdout", self.selection.evaluation)

    def mapping(self) -> dict[str, Any]:
        """All of it in plain values, as the page needs it."""
        return {
            "name": self.name,
            "size": self.size,
            "title": self.title,
            "text": self.text,
            "recipe": self.recipe,
            "overrides": self.overrides,
            "changed": self.changed,
            "reference": self.reference,
            "seeds": list(self.seeds),
            "evaluations": {evaluation.name: evaluation.mapping() for evaluation in self.evaluations},
            "selection": asdict(self.selection) if self.selection else None,
            "rows": {name: asdict(row) for name, row in self.rows.items()},
        }


def study_names() -> list[str]:
    """The names of the shipped studies."""
    return sorted(file.name.removesuffix(".yaml") for file in _shipped().iterdir() if file.name.endswith(".yaml"))


def load_study(name_or_file: str | Path, size: str | None = None, changed: Mapping[str, Any] | None = None) -> Study:
    """A shipped study by name, or one from a file; everything wrong with it that can be known without data is found."""
    name, text = _find(str(name_or_file))
    return parse_study(name, read_yaml(text, str(name_or_file)), size, changed)


def parse_study(name: str, content: Any, size: str | None = None, changed: Mapping[str, Any] | None = None) -> Study:
    """A study from parsed YAML."""
    where = f"study {name}"
    if not isinstance(content, Mapping):
        raise InputError(f"{where}: wanted a mapping of keys to values; got {content!r}")
    sizes = content.get("sizes") or {"desk": {}}
    if not isinstance(sizes, Mapping):
        raise InputError(f"{where}.sizes: wanted a mapping of sizes to what they change; got {sizes!r}")
    size = size or next(iter(sizes))
    if size not in sizes:
        raise InputError(f"{where} has no size '{size}'{did_you_mean(size, sizes)}")
    definition: Definition = construct(Definition, _merged(content, sizes[size] or {}), where)
    study = Study(
        name,
        size,
        definition.title,
        " ".join(definition.text.split()),
        definition.recipe,
        definition.overrides,
        {_name(row, f"{where}.rows"): _row(row, value, where) for row, value in definition.rows.items()},
        definition.reference,
        tuple(
            Evaluation.parse(_name(key, f"{where}.evaluations"), value) for key, value in definition.evaluations.items()
        ),
        construct(Selection, definition.selection, f"{where}.selection") if definition.selection else None,
        tuple(_seeds(definition.seeds, where)),
        dict(changed or {}),
        size == next(iter(sizes)),
    )
    _check(study, where)
    return study


def chosen_rows(study: Study, rows: Sequence[str] | None) -> list[str]:
    """The rows that are meant, in the study's order; all of them without a word."""
    for row in rows or ():
        if row not in study.rows:
            raise InputError(f"study {study.name} has no row '{row}'{did_you_mean(row, study.rows)}")
    return [row for row in study.rows if rows is None or row in rows]


def chosen_seeds(study: Study, seeds: Sequence[int] | None) -> list[int]:
    """The seeds that are meant; the study's own without a word."""
    return list(study.seeds) if seeds is None else _seeds(list(seeds), f"study {study.name}")


def trial_name(values: Values) -> str:
    """What the folder of a trial is called: the last word of each key, and its value."""
    return "-".join(f"{key.rpartition('.')[2]}-{_as_name(value)}" for key, value in values.items())


def _as_name(value: Any) -> str:
    return "".join(c if c.isalnum() or c in "._+" else "-" for c in str(value)) or "empty"


def _check(study: Study, where: str) -> None:
    if study.reference not in study.rows:
        raise InputError(
            f"{where}: the reference is no row: '{study.reference}'{did_you_mean(study.reference, study.rows)}"
        )
    if not study.evaluations:
        raise InputError(f"{where}: name at least one evaluation")
    for name, row in study.rows.items():
        if row.select and study.selection is None:
            raise InputError(f"{where}, row {name}: select needs a selection, which says what to choose by")
        names = [trial_name(values) for values in row.candidates]
        if len(set(names)) < len(names):
            raise InputError(f"{where}, row {name}: select names the same values twice")
        if not row.candidates:
            raise InputError(f"{where}, row {name}: select wants a list of values for each key, and none of them empty")
        for values in row.candidates:
            for evaluation in study.evaluations:
                evaluation.check(study.recipe_of(name, values, 0), f"{where}, row {name}")
            if row.select:
                study.selecting.check(study.trial_of(name, values), f"{where}, row {name}")


def _row(name: str, value: Any, where: str) -> Row:
    row: Row = construct(Row, value or {}, f"{where}, row {name}")
    return row


def _name(name: Any, where: str) -> str:
    """Names become folders."""
    if not isinstance(name, str) or not name or name[0] in ".-" or set(name) - set(NAME_CHARACTERS):
        raise InputError(
            f"{where}: a name has letters, digits and .-_+, and begins with a letter or a digit; got {name!r}"
        )
    return name


def _seeds(seeds: list[Any], where: str) -> list[int]:
    wrong = [seed for seed in seeds if type(seed) is not int or seed < 0]
    if wrong or not seeds or len(set(seeds)) < len(seeds):
        got = wrong[0] if wrong else seeds
        raise InputError(f"{where}: seeds are different whole numbers from 0 on, at least one; got {got!r}")
    return seeds


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top, mapping by mapping."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _find(name: str) -> tuple[str, str]:
    if name in study_names():
        return name, (_shipped() / f"{name}.yaml").read_text(encoding="utf-8")
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml"):
        try:
            return path.stem, path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    raise InputError(f"there is no study '{name}'{did_you_mean(name, study_names())}")


def _shipped() -> Any:
    return resources.files("weatherproof") / "studies" / "shipped"
