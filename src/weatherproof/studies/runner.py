"""Running a study: which cells there are to do, in which order, and what becomes of them."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from ..data import open_data
from ..files import write_json
from .cell import Cell
from .definition import Study
from .evaluations import Evaluation
from .machine import Machine
from .selection import RowPlan
from .workers import Here, Processes, Workers


class Watch(Protocol):
    """Told what becomes of cells."""

    def planned(self, cells: Sequence[Cell], later: int) -> None:
        """What there is to do now, and how many cells more when rows have chosen their values."""

    def preparing(self, what: str, done: int, total: int) -> None: ...

    def told(self, cell: Cell, words: str) -> None: ...

    def cached(self, cell: Cell) -> None: ...

    def finished(self, cell: Cell, failure: str | None) -> None: ...

    def close(self) -> None: ...


class Runner:
    """Runs rows of a study; whatever is there already and was made of just the same is not done again.

    A row that fails does not stop the others.
    """

    def __init__(self, study: Study, folder: Path, machine: Machine, watch: Watch) -> None:
        self.study, self.folder, self.machine, self.watch = study, folder, machine, watch
        self.workers: Workers = (Processes if machine.jobs > 1 else Here)(machine, watch.told)
        self.failed: dict[str, str] = {}  # cells and rows, and why
        self._waiting: dict[str, tuple[RowPlan, set[str]]] = {}  # rows, and the trials that they wait for
        self._ready: list[Cell] = []

    def run(self, rows: Sequence[str], seeds: Sequence[int]) -> dict[str, str]:
        """Do what is left to do; returns what failed, and why."""
        write_json(self.folder / "study.json", self.study.mapping())
        before = _stop_on_sigterm()
        try:
            for row in rows:
                self._enter(RowPlan(self.study, row, self.folder / row, seeds))
            self._plan(self._ready)
            self._prepare()
            self._work()
        finally:
            self.workers.stop()
            self.watch.close()
            if before is not None:
                signal.signal(signal.SIGTERM, before)
        return self.failed

    def _work(self) -> None:
        while self._ready or self.workers.busy:
            while self._ready and self.workers.free:
                self.workers.begin(self._next())
            for cell, failure in self.workers.wait():
                self._end(cell, failure)

    def _next(self) -> Cell:
        """The longest first, so that none of them is what everybody waits for in the end; trials before cells."""
        cell = max(self._ready, key=lambda cell: cell.cost * (2 if cell.row in self._waiting else 1))
        self._ready.remove(cell)
        return cell

    def _enter(self, plan: RowPlan) -> None:
        """Put a row's trials in line, or its cells when all of its trials are there."""
        trials = self._left(plan.trials())
        if trials:
            self._waiting[plan.row] = (plan, {trial.name for trial in trials})
        self._ready += trials or self._left(plan.cells())

    def _left(self, cells: list[Cell]) -> list[Cell]:
        left = [cell for cell in cells if cell.stale() is not None]
        for cell in cells:
            if cell not in left:
                self.watch.cached(cell)
        return left

    def _end(self, cell: Cell, failure: str | None) -> None:
        self.watch.finished(cell, failure)
        if failure is not None:
            self.failed[cell.name] = failure
        if cell.row not in self._waiting:
            return
        plan, trials = self._waiting[cell.row]
        trials.discard(cell.name)
        if trials:
            return
        del self._waiting[cell.row]
        if any(trial.name in self.failed for trial in plan.trials()):
            self.failed[cell.row] = "nothing could be chosen, since a trial failed"
        else:
            left = self._left(plan.cells())
            self._ready += left
            self._plan(left)

    def _plan(self, cells: list[Cell]) -> None:
        self.watch.planned(cells, sum(len(plan.seeds) for plan, _ in self._waiting.values()))

    def _prepare(self) -> None:
        """Make the corrupted sets that are still to be measured on: once, with all hands, before anything else."""
        wanted: dict[str, tuple[Evaluation, Cell]] = {}
        for cell in self._ready:
            for evaluation in cell.evaluations + (self.study.evaluations if cell.row in self._waiting else ()):
                wanted.setdefault(json.dumps(evaluation.inputs(cell.recipe)), (evaluation, cell))
        for evaluation, cell in wanted.values():
            self._prepare_one(evaluation, cell)

    def _prepare_one(self, evaluation: Evaluation, cell: Cell) -> None:
        settings = asdict(cell.recipe.data)
        data = open_data(**settings, data_dir=self.machine.data_dir, workers=self.machine.workers)
        what = f"corrupted images of {data.name} ({evaluation.split})"
        evaluation.prepare(
            data, self.machine.cache, self.machine.jobs, lambda done, total: self.watch.preparing(what, done, total)
        )


def _stop_on_sigterm() -> Any:
    """What ends jobs on machines that many share is Ctrl-C to us; returns the handler that gave way, if one did."""
    if threading.current_thread() is not threading.main_thread():  # only there can handlers be set
        return None
    return signal.signal(signal.SIGTERM, signal.default_int_handler)
