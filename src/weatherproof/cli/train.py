"""Train a classifier by recipe.

  weatherproof train photos10/nominal
  weatherproof train my.yaml -o runs/mine --epochs 20 --training.learning_rate 0.05
  weatherproof train --resume runs/mine

Any key of a recipe can be overridden by its dotted name. A run that was stopped, by Ctrl-C or by force, is resumed
exactly where its last checkpoint was.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import InputError
from .options import add_machine_options, parse_with_overrides


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", nargs="?", help="a shipped recipe (see: weatherproof recipes list) or a YAML file")
    parser.add_argument("-o", "--output", metavar="RUN", type=Path, help="the run folder; default: runs/NAME")
    parser.add_argument("--resume", metavar="RUN", type=Path, help="go on with this run instead of starting one")
    parser.add_argument("--epochs", type=int, help="short for --training.epochs")
    parser.add_argument("--seed", type=int, help="the training's seed")
    parser.add_argument(
        "--dry-run", action="store_true", help="open the data, try one step, show the plan, write nothing"
    )
    add_machine_options(parser)


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known, overrides = parse_with_overrides(parser, arguments)
    if known.epochs is not None:
        overrides["training.epochs"] = known.epochs
    if known.seed is not None:
        overrides["seed"] = known.seed
    if bool(known.recipe) == bool(known.resume):
        raise InputError("name a recipe to train or a run to --resume, one of the two (see: weatherproof recipes list)")
    if known.resume and known.output:
        raise InputError("a resumed run stays in its folder; leave -o out")
    machine = {"data_dir": known.data_dir, "device": known.device, "workers": known.workers}
    return _dry_run(known, overrides, machine) if known.dry_run else _train(known, overrides, machine)


def _train(known: argparse.Namespace, overrides: dict[str, Any], machine: dict[str, Any]) -> int:
    import sys

    from .. import api
    from ..training import Interrupted, Run
    from ..training.recipe import load_recipe
    from ..training.run import free_folder
    from .show import console, run_summary

    if known.resume:
        folder = known.resume
        finished = Run(folder).recipe_file.is_file() and Run(folder).finished
    else:
        recipe = load_recipe(known.recipe, overrides)
        folder, finished = known.output or free_folder(recipe.name, Path("runs")), False
    try:
        if known.resume:
            run = api.resume(folder, overrides=overrides, quiet=known.quiet, **machine)
        else:
            run = api.train(recipe, folder, quiet=known.quiet, **machine)
    except Interrupted:
        print(f"weatherproof: saved; go on with: weatherproof train --resume {folder}", file=sys.stderr)
        return 130
    if not known.quiet:
        if finished:
            console().print(f"{folder} was finished already")
        console().print(run_summary(run))
    return 0


def _dry_run(known: argparse.Namespace, overrides: dict[str, Any], machine: dict[str, Any]) -> int:
    from ..training import Prepared, dry_run, load_recipe, reopen
    from .show import console, plan

    recipe = reopen(known.resume, overrides)[1] if known.resume else load_recipe(known.recipe, overrides)
    console().print(plan(recipe, dry_run(Prepared(recipe, **machine))))
    return 0
