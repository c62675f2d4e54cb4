"""A tour: trains photos10/nominal (about a minute on two processors) and measures it. Needs no download.

Called again, it shows the result again; interrupted, it goes on where it was.
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
    from ..training import Interrupted, Run
    from .show import console, run_summary

    overrides = {} if known.epochs is None else {"training.epochs": known.epochs}
    try:
        if Run(known.output).recipe_file.is_file():
            run = api.resume(known.output, overrides=overrides, quiet=known.quiet)
        else:
            run = api.train(RECIPE, known.output, overrides=overrides, quiet=known.quiet)
    except Interrupted:
        print("weatherproof: saved; weatherproof demo goes on where it was", file=sys.stderr)
        return 130
    result = api.evaluate_on(run.folder)
    result.save(run.folder / "result.json")
    if not known.quiet:
        console().print(result.table())
        console().print(run_summary(run))
    return 0
