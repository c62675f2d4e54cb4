"""A tour: trains photos10/nominal and photos10/ada, measures both under the 15 common corruptions, writes one report.

Takes some minutes on two processors, and needs no download. Called again, it shows the results again; interrupted, it
goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..evaluation import Result

#: What is trained: a name for the report and the run's folder, and the recipe.
ROWS = {"nominal": "photos10/nominal", "AdA": "photos10/ada"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path("runs/demo"), help="default: runs/demo"
    )
    parser.add_argument("--epochs", type=int, help="fewer for a quicker look")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    from rich.text import Text

    from ..report import write_report
    from ..training import Interrupted
    from .show import console, pairs

    results = {}
    for name, recipe in ROWS.items():
        folder = known.output / name.lower()
        if not known.quiet:
            console().print(Text(name, style="bold"), f": {recipe}", sep="")
        try:
            _train(recipe, folder, known.epochs, known.quiet)
        except Interrupted:
            print("weatherproof: saved; weatherproof demo goes on where it was", file=sys.stderr)
            return 130
        results[name] = _measure(folder, known.quiet)
    page = write_report([result.to_json() for result in results.values()], known.output / "report.html", [*results])
    if not known.quiet:
        console().print(_table(results))
        console().print(pairs({"look at it": f"{page}, in any browser", "weights": f"{known.output}/*/"}))
    return 0


def _train(recipe: str, folder: Path, epochs: int | None, quiet: bool) -> None:
    from .. import api
    from ..training import Run

    overrides = {} if epochs is None else {"training.epochs": epochs}
    if Run(folder).recipe_file.is_file():
        api.resume(folder, overrides=overrides, quiet=quiet)
    else:
        api.train(recipe, folder, overrides=overrides, quiet=quiet)


def _measure(folder: Path, quiet: bool) -> Result:
    """The result of a run's weights: the one at hand, or a new one."""
    from .. import api
    from ..evaluation import Result
    from .show import progress

    record, weights = folder / "result.json", folder / "model.safetensors"
    if not (record.is_file() and record.stat().st_mtime_ns > weights.stat().st_mtime_ns):
        with progress("measuring", quiet) as report:
            api.evaluate_on(folder, suite="corruptions", progress=report).save(record)
    return Result.load(record)


def _table(results: dict[str, Result]) -> object:
    """Clean error, mean error and errors by kind, a column for each."""
    from rich.table import Table

    first = next(iter(results.values()))
    kinds = [metric for metric in first.metrics if metric.startswith("error/group/")]
    table = Table("error in %", *results)
    for column in table.columns[1:]:
        column.justify = "right"
    for metric in ("clean_error", "mean_error", *kinds):
        name = metric.removeprefix("error/group/").replace("_", " ")
        table.add_row(name, *(f"{result[metric]:.1f}" for result in results.values()))
    return table
