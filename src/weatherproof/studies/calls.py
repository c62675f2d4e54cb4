"""What the command line and Python call: run a study, time its steps, write its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..data import default_workers
from ..data.download import user_cache
from ..devices import pick_device
from ..errors import InputError
from ..files import read_json, write_atomically, write_json
from ..report import write_report
from ..report.record import MOST
from .definition import Study, chosen_rows, chosen_seeds, load_study
from .machine import Machine
from .page import page
from .runner import Runner
from .selection import RowPlan
from .summary import StudyOutcome, summarise
from .timing import step_times
from .watch import choose_watch


def study(
    name: str | Path,
    *,
    size: str | None = None,
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    jobs: int = 1,
    results: str | Path = "results",
    overrides: dict[str, Any] | None = None,
    data_dir: str | Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    quiet: bool = False,
) -> StudyOutcome:
    """Run a study (a shipped name or a YAML file), or what is left to do of it; what ``weatherproof study`` does.

    Each row is trained and measured with each seed, in up to `jobs` processes, and kept in ``results/NAME/ROW/seed-S``;
    a row that fails does not stop the others. `rows` and `seeds` run a part of it; `overrides` of recipe keys hold for
    all rows. Returns the summary of all that is there, and what failed.
    """
    if jobs < 1:
        raise InputError(f"at least 1 job is needed; got {jobs}")
    chosen = load_study(name, size, overrides)
    parts, numbers = chosen_rows(chosen, rows), chosen_seeds(chosen, seeds)
    folder = Path(results).expanduser() / chosen.folder
    machine = _machine(device, data_dir, workers, jobs)
    failed = Runner(chosen, folder, machine, choose_watch(quiet)).run(parts, numbers)
    summary = summarise(folder, stale_cells(chosen, folder))
    write_json(folder / "summary.json", summary)
    return StudyOutcome(folder, summary, failed)


def study_times(
    name: str | Path,
    size: str | None = None,
    *,
    rows: Sequence[str] | None = None,
    results: str | Path = "results",
    data_dir: str | Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> Path:
    """Time some training steps of each row of a study, one row after the other with nothing beside; where it is noted.

    The page then says what a step costs, and how many times as much as the reference's.
    """
    chosen = load_study(name, size)
    folder = Path(results).expanduser() / chosen.folder
    plans = [RowPlan(chosen, row, folder / row, chosen.seeds) for row in chosen_rows(chosen, rows)]
    machine = _machine(device, data_dir, workers, 1)
    write_json(folder / "times.json", step_times({plan.row: plan.typical() for plan in plans}, machine, tell))
    return folder / "times.json"


def study_page(
    name: str | Path, size: str | None = None, *, results: str | Path = "results", file: str | Path | None = None
) -> Path:
    """Write the Markdown page of a study from the results that are there, without running anything; where it is.

    Beside the results goes report.html, with every condition of the first seed of each row.
    """
    chosen = load_study(name, size)
    folder = Path(results).expanduser() / chosen.folder
    summary = summarise(folder, stale_cells(chosen, folder))
    target = Path(file) if file and str(file) != "." else Path("docs/studies") / f"{chosen.folder}.md"
    write_json(folder / "summary.json", summary)
    write_atomically(target, page(summary))
    _report(folder, summary)
    return target


def stale_cells(study: Study, folder: Path) -> list[tuple[str, int]]:
    """Cells, by row and seed, that are there and were made by other recipes than the study's of today."""
    found = []
    for row in study.rows:
        there = [int(path.name.removeprefix("seed-")) for path in (folder / row).glob("seed-*")]
        plan = RowPlan(study, row, folder / row, there)
        if any(trial.stale() for trial in plan.trials()):
            found += [(row, seed) for seed in there]
        else:
            found += [(row, seed) for seed, cell in zip(there, plan.cells(), strict=True) if cell.stale()]
    return found


def _report(folder: Path, summary: dict[str, Any]) -> None:
    """report.html beside the results: every condition of the first seed of each row, row beside row."""
    name = next(iter(summary["study"]["evaluations"]))
    first = {row: found["seeds"][0] for row, found in summary["rows"].items() if found["seeds"]}
    files = [folder / row / f"seed-{seed}" / f"{name}.json" for row, seed in first.items()]
    if files:
        names = [f"{row} (seed {seed})" for row, seed in first.items()]
        write_report([read_json(file) for file in files[:MOST]], folder / "report.html", names[:MOST])


def _machine(device: str, data_dir: str | Path | None, workers: int | None, jobs: int) -> Machine:
    pick_device(device)  # refuses one that is not there
    workers = max(1, default_workers() // jobs) if workers is None else workers
    return Machine(device, Path(data_dir) if data_dir else None, workers, user_cache() / "corrupted", jobs)
