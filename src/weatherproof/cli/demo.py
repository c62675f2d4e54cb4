"""A tour: trains photos10/nominal, measures it under the 15 common corruptions and writes a report to look at.

Takes about two minutes on two processors, and needs no download. Called again, it shows the result again; interrupted,
it goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

RECIPE = "photos10/nominal"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="RUN", type=Path, default=Path("runs/demo"), help="default: runs/demo"
    )
    parser.add_argument("--epochs", type=int, help="fewer for a quicker look")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    from .. import api
    from ..evaluation import Result
    from ..report import write_report
    from ..training import Interrupted, Run
    from .show import console, pairs, progress, result_view, run_summary

    overrides = {} if known.epochs is None else {"training.epochs": known.epochs}
    try:
        if Run(known.output).recipe_file.is_file():
            run = api.resume(known.output, overrides=overrides, quiet=known.quiet)
        else:
            run = api.train(RECIPE, known.output, overrides=overrides, quiet=known.quiet)
    except Interrupted:
        print("weatherproof: saved; weatherproof demo goes on where it was", file=sys.stderr)
        return 130
    record = run.folder / "result.json"
    if not _measured(record, run.folder / "model.safetensors"):
        with progress("measuring", known.quiet) as report:
            api.evaluate_on(run.folder, suite="corruptions", progress=report).save(record)
    result = Result.load(record)
    page = write_report([result.to_json()], run.folder / "report.html")
    if not known.quiet:
        for view in (result_view(result), run_summary(run), pairs({"look at it": f"{page}, in any browser"})):
            console().print(view)
    return 0


def _measured(record: Path, weights: Path) -> bool:
    """Whether the record is of these weights."""
    return record.is_file() and record.stat().st_mtime_ns > weights.stat().st_mtime_ns
