"""A recipe: one YAML file that names data, what is trained, augmentation, objective and training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from ..adversaries import ADVERSARIES, Adversary
from ..augment import AUGMENTATIONS, Augmentation
from ..defences import DEFENCES, Objective
from ..errors import InputError, did_you_mean
from ..networks.building import module_target
from ..networks.classifiers import CLASSIFIERS
from ..networks.corruption import NETWORKS
from ..specs import Spec, accepts, check_names, checked, construct
from .settings import TrainingSettings
from .tasks import TASKS


@dataclass(frozen=True)
class Subject:
    """What a recipe can train: the section that names it, its modules by name, and what its objective is called."""

    name: str
    modules: Mapping[str, Any]
    goal: str
    goals: Mapping[str, Any]
    default_goal: str = ""


CLASSIFIER = Subject("classifier", CLASSIFIERS, "defence", DEFENCES, "nominal")
NETWORK = Subject("network", NETWORKS, "task", TASKS)
SUBJECTS = {subject.name: subject for subject in (CLASSIFIER, NETWORK)}
STAGES = ("sample", "standard", "adversary", "last")
SECTIONS = ("row", "data", "classifier", "network", "augment", "defence", "task", "training", "seed")


@dataclass(frozen=True)
class DataSettings:
    """Which images: the arguments of `open_data`, save for where they lie on a machine.

    Their seed is not the training's: runs that differ in the training seed alone are compared on the same images.
    """

    source: str
    size: int | None = None
    channels: int = 3
    subset: int | None = None
    holdout: float = 0
    seed: int = 0
    copies: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Recipe:
    """A checked recipe. `name` is the shipped name or the file's stem; `goal` is the defence or the task; `row` is the
    one of the paper's main table for its data that it reproduces, at full size or at a desk's.
    """

    name: str
    data: DataSettings
    subject: Subject
    module: Spec
    stages: dict[str, Spec]  # of augment, by name; standard is always there
    goal: Spec
    training: TrainingSettings
    seed: int = 0
    row: int | None = None

    def mapping(self) -> dict[str, Any]:
        """All that is trained by in plain values, defaults included: what recipe.yaml in a run folder holds."""
        return {
            "name": self.name,
            "data": asdict(self.data),
            self.subject.name: self.module.mapping(),
            "augment": {name: stage.mapping() for name, stage in self.stages.items()},
            self.subject.goal: self.goal.mapping(),
            "training": asdict(self.training),
            "seed": self.seed,
        }

    def augmentation(self, stage: str = "standard") -> Augmentation | None:
        """The augmentation of a stage, built; None where the recipe names none."""
        if stage not in self.stages:
            return None
        return _callable(self.stages[stage], AUGMENTATIONS, f"augment.{stage}")  # type: ignore[no-any-return]

    def networks(self) -> list[str]:
        """The corruption networks that the adversary takes, as the recipe names them."""
        given = self.stages["adversary"].init_args.get("networks", []) if "adversary" in self.stages else []
        return [entry for entry in ([given] if isinstance(given, str) else given) if isinstance(entry, str)]

    def build_adversary(self) -> Adversary | None:
        """The adversary, built, with its networks loaded; None where the recipe names none."""
        if "adversary" not in self.stages:
            return None
        adversary = self.stages["adversary"]
        built = construct(adversary.target(ADVERSARIES, "augment.adversary"), adversary.init_args, "augment.adversary")
        if not isinstance(built, Adversary):
            raise InputError(f"augment.adversary: {adversary.class_path} gave a {type(built).__name__}, which has "
                             f"no attack(classifier, images, labels, generator)")  # fmt: skip
        return built

    def objective(self) -> Objective:
        """The defence or the task, built."""
        return _callable(self.goal, self.subject.goals, self.subject.goal)  # type: ignore[no-any-return]


def load_recipe(name_or_file: str | Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """A shipped recipe by name, or one from a file; `overrides` maps dotted keys to values."""
    name, text = find_recipe(name_or_file)
    content = read_yaml(text, str(name_or_file))
    return parse_recipe(name, _mapping(content, str(name_or_file)), overrides)


def parse_recipe(name: str, content: Any, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """A recipe from parsed YAML. Everything that can be wrong without touching data is found here."""
    content = _mapping(content, name)
    if NETWORK.name not in content:
        content.setdefault(CLASSIFIER.goal, CLASSIFIER.default_goal)
    for key, value in (overrides or {}).items():
        _override(content, key, value)
    name = str(content.pop("name", name))
    for key in content:
        if key not in SECTIONS:
            raise InputError(f"{name}: unknown key '{key}'{did_you_mean(str(key), SECTIONS)}")
    augment = _mapping(content.get("augment") or {}, "augment")
    for key in augment:
        if key not in STAGES:
            raise InputError(f"augment: unknown key '{key}'{did_you_mean(str(key), STAGES)}")
    subject = _subject(content)
    given = {"standard": "none", **{name: stage for name, stage in augment.items() if stage is not None}}
    stages = {name: Spec.parse(given[name], f"augment.{name}") for name in STAGES if name in given}
    if "adversary" in stages and subject is not CLASSIFIER:
        raise InputError(f"augment.adversary attacks a classifier; this recipe trains a {subject.name}")
    _whole(_mapping(content.get("data"), "data").get("seed", 0), "data.seed", 0)
    recipe = Recipe(
        name,
        construct(DataSettings, _mapping(content.get("data"), "data"), "data"),
        subject,
        Spec.parse(content.get(subject.name), subject.name),
        stages,
        Spec.parse(content.get(subject.goal), subject.goal),
        construct(TrainingSettings, _mapping(content.get("training"), "training"), "training"),
        _whole(content.get("seed", 0), "seed", 0),
        _whole(content["row"], "row", 1) if content.get("row") is not None else None,
    )
    for name, stage in stages.items():
        # What may take networks is built for a training only: they have weights to load.
        check_names(stage.target(ADVERSARIES if name == "adversary" else AUGMENTATIONS, f"augment.{name}"),
                    stage.init_args, f"augment.{name}")  # fmt: skip
    _check_module(recipe)
    recipe.augmentation(), recipe.objective()
    return recipe


def _check_module(recipe: Recipe) -> None:
    """Finds a module that is not there, and arguments that it does not take. What the data fill in is guessed."""
    name = recipe.subject.name
    target = module_target(recipe.module, recipe.subject.modules, name)
    guesses = {"classes": 2, "channels": 3, "mean": [0.5] * 3, "std": [0.5] * 3}
    filled = {key: value for key, value in guesses.items() if accepts(target, key)} if name == "classifier" else {}
    checked(target, {**filled, **recipe.module.init_args}, f"{name} {recipe.module.class_path}")


def _subject(content: Mapping[str, Any]) -> Subject:
    """What the recipe trains; refuses one that names both, or the objective of the other."""
    if "classifier" in content and "network" in content:
        raise InputError("a recipe trains a classifier or a network; this one names both")
    subject = NETWORK if "network" in content else CLASSIFIER
    for other in SUBJECTS.values():
        if other is not subject and other.goal in content:
            raise InputError(f"'{other.goal}' belongs to the training of a {other.name}; this recipe trains a "
                             f"{subject.name}, whose objective is its {subject.goal}")  # fmt: skip
    return subject


def recipe_names() -> list[str]:
    """The names of the shipped recipes."""
    root = resources.files("weatherproof") / "recipes"
    return sorted(
        f"{group.name}/{file.name.removesuffix('.yaml')}"
        for group in root.iterdir()
        if group.is_dir()
        for file in group.iterdir()
        if file.name.endswith(".yaml")
    )


def find_recipe(name_or_file: str | Path) -> tuple[str, str]:
    """Name and text of a shipped recipe or of a file."""
    name = str(name_or_file)
    if name in recipe_names():
        return name, (resources.files("weatherproof") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml"):
        try:
            return path.stem, path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    raise InputError(f"there is no recipe '{name}'{did_you_mean(name, recipe_names())}")


def read_yaml(text: str, name: str) -> Any:
    """Parsed YAML, or an `InputError` that says where it is malformed."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{name} is not YAML: {' '.join(str(error).split())}") from error


def parse_overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """``--training.epochs 3 --data.subset=100`` as a mapping of dotted keys to values."""
    overrides: dict[str, Any] = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise InputError(f"unexpected argument '{word}'; overrides look like --training.epochs 3")
        key, has_value, value = word[2:].partition("=")
        if not has_value:
            if not words or words[0].startswith("--"):
                raise InputError(f"--{key} needs a value")
            value = words.pop(0)
        overrides[key] = read_yaml(value, f"the value of --{key}")
    return overrides


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What changed between two recipe mappings, one ``key: old -> new`` each."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [*old, *(key for key in new if key not in old)]
        return [d for key in keys for d in differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)]
    return [] if old == new else [f"{where}: {old} -> {new}"]


def _override(content: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    if not path and last not in SECTIONS:
        raise InputError(f"unknown option --{key}; recipe keys are dotted, like --training.epochs")
    section = content
    for i, part in enumerate(path):
        below = section.get(part)
        if isinstance(below, str) and i + 1 <= len(path):
            below = {"class_path": below}  # a short name that now gets arguments
        section[part] = _mapping(below or {}, ".".join(path[: i + 1]))
        section = section[part]
    section[last] = value


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: wanted a mapping of keys to values; got {value!r}")
    return dict(value)


def _whole(value: Any, name: str, least: int) -> int:
    if type(value) is not int or value < least:
        raise InputError(f"{name}: wanted a whole number from {least} on; got {value!r}")
    return value


def _callable(spec: Spec, known: Mapping[str, Any], where: str) -> Any:
    built = construct(spec.target(known, where), spec.init_args, where)
    if not callable(built):
        raise InputError(f"{where}: {spec.class_path} gave a {type(built).__name__}, which cannot be called")
    return built
