"""The cells of a row: trials to choose values by, then one cell per seed with what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..training import Recipe
from .cell import Cell
from .definition import Study, Values, trial_name


@dataclass(frozen=True)
class RowPlan:
    """One row of a study, in the folder that holds its cells."""

    study: Study
    row: str
    folder: Path
    seeds: Sequence[int]

    def trials(self) -> list[Cell]:
        """What has to be done before the values can be chosen; nothing where there are none to choose."""
        if not self.study.rows[self.row].select or self.study.selection is None:
            return []
        return [self._trial(values) for values in self.study.rows[self.row].candidates]

    def cells(self) -> list[Cell]:
        """One cell per seed; the trials must be done."""
        trials = self.trials()
        if not trials:
            return [self._cell(seed, {}, None, None) for seed in self.seeds]
        scores = [self._score(trial) for trial in trials]
        best = min(range(len(scores)), key=lambda i: scores[i]["score"])  # of equals the first
        selection = {"chosen": scores[best]["values"], "trials": scores, **self._by()}
        return [self._cell(seed, scores[best]["values"], selection, trials[best].folder) for seed in self.seeds]

    def typical(self) -> Recipe:
        """The recipe of the first seed with what was chosen, or could be: every candidate takes the same time."""
        trials = self.trials()
        if all(trial.stale() is None for trial in trials):
            return self.cells()[0].recipe
        return trials[0].recipe

    def _by(self) -> dict[str, Any]:
        assert self.study.selection is not None
        return {"metric": self.study.selection.metric, "seed": self.study.selection.seed}

    def _score(self, trial: Cell) -> dict[str, Any]:
        assert self.study.selection is not None
        result = trial.result(self.study.selecting.name)
        score = result[self.study.selection.metric]
        return {"values": trial.about["values"], "score": score, "clean_accuracy": result["clean_accuracy"]}

    def _trial(self, values: Values) -> Cell:
        assert self.study.selection is not None
        label = trial_name(values)
        return Cell(
            self.row,
            f"trial {label}",
            self.folder / "trials" / label,
            self.study.trial_of(self.row, values),
            (self.study.selecting,),
            {"row": self.row, "seed": self.study.selection.seed, "values": values},
            self.study.rows[self.row].cost,
        )

    def _cell(self, seed: int, values: Values, selection: dict[str, Any] | None, twin: Path | None) -> Cell:
        return Cell(
            self.row,
            f"seed {seed}",
            self.folder / f"seed-{seed}",
            self.study.recipe_of(self.row, values, seed),
            self.study.evaluations,
            {"row": self.row, "seed": seed, "values": values, "selection": selection},
            self.study.rows[self.row].cost,
            twin,
        )
