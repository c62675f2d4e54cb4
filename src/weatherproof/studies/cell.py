"""A cell: one recipe trained and measured, in a folder that remembers what it was made of."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from .. import __version__, training
from ..data import open_data
from ..devices import pick_device
from ..errors import InputError
from ..evaluation import Result, accuracy
from ..files import load_tensors, locked, read_json, save_tensors, write_json
from ..networks.classifiers.saved import CARD, WEIGHTS, load_with_card
from ..specs import construct
from ..training import Prepared, Recipe, Run
from ..training.recipe import DataSettings, differences, parse_recipe
from ..training.watch import Lines, Moment
from .evaluations import Evaluation
from .ingredients import ingredients
from .machine import Machine

Tell = Callable[[str], None]
"""Told in a few words how far a cell has come."""

IRRELEVANT = {"training": {"checkpoint_minutes"}}  # settings that change nothing about the weights


@dataclass(frozen=True)
class Cell:
    """What is to be trained and measured, and where it is kept.

    `folder` ends up with record.json (what it was made of, and how), EVALUATION.json, model.safetensors (16 bits) with
    model.json, log.txt; run/ is there while the training is under way. `twin` is the folder of another cell that may
    hold the same training.
    """

    row: str
    label: str
    folder: Path
    recipe: Recipe
    evaluations: tuple[Evaluation, ...]
    about: dict[str, Any]  # what else the record keeps: row, seed, what was chosen
    cost: float = 1.0
    twin: Path | None = None

    # A recipe travels to another process as its file would: its parts know each other by identity.
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "recipe": (self.recipe.name, self.recipe.mapping())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, recipe=parse_recipe(*state["recipe"]))

    @property
    def name(self) -> str:
        """What it is called on the screen."""
        return f"{self.row} {self.label}"

    @property
    def record_file(self) -> Path:
        return self.folder / "record.json"

    def record(self) -> dict[str, Any]:
        """What the folder remembers; nothing in a new one."""
        return read_record(self.folder)

    def result(self, evaluation: str) -> Result:
        """What an evaluation found."""
        return Result.load(self.folder / f"{evaluation}.json")

    def stale(self) -> str | None:
        """Why there is something left to do, or None: all is there and was made of just this."""
        record = self.record()
        changes = self._changes(record.get("training"))
        if changes:
            return changes
        for evaluation in self.evaluations:
            changes = self._evaluation_changes(evaluation, record)
            if changes:
                return changes
        return None

    def perform(self, machine: Machine, tell: Tell) -> None:
        """Do what is left to do. Whenever it is killed, the next call goes on from the last checkpoint."""
        with locked(self.folder / ".lock"), _logged(self.folder / "log.txt"):
            to_train = self._changes(self.record().get("training")) or self._lacks_weights()
            if to_train and not self._copy_twin():
                self._train(machine, tell)
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            missing = [e for e in self.evaluations if self._evaluation_changes(e, self.record())]
            if missing:
                self._measure(missing, machine, tell)
            write_json(self.record_file, {**self.record(), **self.about})

    def _changes(self, made: dict[str, Any] | None) -> str | None:
        """Why the training has to be done, or done again."""
        if made is None:
            return "new"
        try:
            # Read as of today, so that a setting that did not exist then has its default.
            before = training_inputs(parse_recipe(self.recipe.name, made["inputs"]["recipe"]))
        except InputError:
            return "its recipe is no longer valid"
        before |= {"networks": made["inputs"].get("networks", {}), "weatherproof": made["inputs"].get("weatherproof")}
        changed = differences(before, training_inputs(self.recipe))
        return "; ".join(changed) or None

    def _evaluation_changes(self, evaluation: Evaluation, record: dict[str, Any]) -> str | None:
        """Why an evaluation has to be done, or done again."""
        made = record.get("evaluations", {}).get(evaluation.name)
        if made is None or not (self.folder / f"{evaluation.name}.json").is_file():
            return "not measured yet"
        # Read as of today, as the recipe is.
        made = {**made, "data": asdict(construct(DataSettings, made["data"], "data"))}
        return "; ".join(differences(made, evaluation.inputs(self.recipe))) or None

    def _lacks_weights(self) -> bool:
        """Whether something is left to measure, and nothing there to measure it on."""
        missing = any(self._evaluation_changes(evaluation, self.record()) for evaluation in self.evaluations)
        return missing and not (self.folder / WEIGHTS).is_file()

    def _train(self, machine: Machine, tell: Tell) -> None:
        run = self._begun(machine)
        prepared = Prepared(self.recipe, data_dir=machine.data_dir, device=machine.device, workers=machine.workers)
        run = run or training.start(prepared, self.folder / "run")
        tell("training")
        training.train(prepared, run, accuracy, Told(tell))
        made = {
            "inputs": training_inputs(self.recipe),
            "seconds": round(sum(entry["seconds"] for entry in run.metrics()), 3),
            "epochs": run.metrics(),
            "machine": machine.facts(),
        }
        self._keep(run.folder, made)

    def _begun(self, machine: Machine) -> Run | None:
        """The run to go on with, if one was begun with this recipe."""
        folder = self.folder / "run"
        if not folder.exists():
            return None
        try:
            run, recipe = training.reopen(folder)
            if not differences(recipe.mapping(), self.recipe.mapping()):
                return run
            why = "; ".join(differences(recipe.mapping(), self.recipe.mapping()))
        except InputError as error:  # cut short before it had a recipe, or of another version
            why = str(error)
        print(f"begun anew, since what had been begun was another training: {why}")
        shutil.rmtree(folder)
        return None

    def _copy_twin(self) -> bool:
        """Take the weights of a cell that was trained by the same recipe, if there is one."""
        if self.twin is None or not (self.twin / WEIGHTS).is_file():
            return False
        made = read_record(self.twin).get("training")
        if self._changes(made) is not None:
            return False
        print(f"the weights are those of {self.twin.parent.name}/{self.twin.name}, trained by the same recipe")
        self._keep(self.twin, {**made, "copied_from": self.twin.name} if made else {})
        return True

    def _keep(self, source: Path, made: dict[str, Any]) -> None:
        """Weights first, the record last: a record is the promise that the weights are there."""
        write_json(self.record_file, {**self.about, "evaluations": {}})
        save_tensors(self.folder / WEIGHTS, {n: _half(t) for n, t in load_tensors(source / WEIGHTS)[0].items()})
        write_json(self.folder / CARD, read_json(source / CARD))
        write_json(self.record_file, {**self.about, "training": made, "evaluations": {}})

    def _measure(self, missing: list[Evaluation], machine: Machine, tell: Tell) -> None:
        device = pick_device(machine.device)
        data = open_data(**asdict(self.recipe.data), data_dir=machine.data_dir, workers=machine.workers)
        classifier, card = load_with_card(self.folder, device)
        against = {"trained_against": card.origin["against"]} if card.origin.get("against") else {}
        for evaluation in missing:
            folder = evaluation.prepare(data, machine.cache, 1)
            report = lambda done, total: tell(f"measuring {100 * done // total}%")  # noqa: E731
            result = evaluation.measure(classifier, data, device, folder, machine.workers, report)
            protocol = {"model": self._model, **against, **result.protocol}
            named = Result(result.suite, result.metrics, protocol, result.hits)
            named.save(self.folder / f"{evaluation.name}.json")
            record = self.record()
            done = {**record.get("evaluations", {}), evaluation.name: evaluation.inputs(self.recipe)}
            write_json(self.record_file, {**record, "evaluations": done})

    @property
    def _model(self) -> str:
        """The folder as seen from the one that holds the results: no path of this machine."""
        parts = self.folder.parts
        return "/".join(parts[-4 if self.folder.parent.name != "trials" else -5 :])


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a cell's folder; empty where there is none."""
    file = folder / "record.json"
    content = read_json(file) if file.is_file() else {}
    if not isinstance(content, dict):
        raise InputError(f"{file} is not the record of a study's cell; remove it")
    return content


def training_inputs(recipe: Recipe) -> dict[str, Any]:
    """All that the weights depend on."""
    content = {key: value for key, value in recipe.mapping().items() if key != "name"}
    for section, keys in IRRELEVANT.items():
        content[section] = {key: value for key, value in content[section].items() if key not in keys}
    return {"recipe": content, "networks": ingredients(recipe), "weatherproof": __version__}


class Told:
    """A watch that writes a line per epoch to the log, and tells how far the training is."""

    pause = 1.0

    def __init__(self, tell: Tell) -> None:
        self.tell, self.lines = tell, Lines()

    def step(self, moment: Moment) -> None:
        done = moment.epoch - 1 + moment.step / moment.steps
        self.tell(f"training {100 * done / moment.epochs:.0f}%")

    def epoch(self, entry: dict[str, Any], moment: Moment) -> None:
        self.lines.epoch(entry, moment)

    def close(self) -> None: ...


@contextlib.contextmanager
def _logged(file: Path) -> Iterator[None]:
    """What is printed meanwhile ends up in a file."""
    with (
        file.open("a", encoding="utf-8", buffering=1) as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        yield


def _half(tensor: torch.Tensor) -> torch.Tensor:
    """In 16 bits, unless a value is too large for that."""
    if not tensor.is_floating_point():
        return tensor
    half = tensor.half()
    return half if bool(half.isfinite().all()) else tensor
