"""What a training step of each row costs: each row alone on the machine, in turns, so that none has the better hour."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import training
from ..training import Prepared, Recipe
from ..training.recipe import parse_recipe
from .machine import Machine

ROUNDS = 3
STEPS = 6  # in an epoch
EPOCHS = 3  # in a round; the first one warms up and does not count
Tell = Callable[[str], None]


def step_times(recipes: dict[str, Recipe], machine: Machine, tell: Tell) -> dict[str, Any]:
    """Seconds per training step of each recipe, epoch by epoch through several rounds, and on what machine."""
    found: dict[str, list[float]] = {row: [] for row in recipes}
    for number in range(ROUNDS):
        for row, recipe in recipes.items():
            tell(f"round {number + 1} of {ROUNDS}: {row}")
            found[row] += _timed(recipe, machine)
    return {"seconds": found, "rounds": ROUNDS, "steps": STEPS * (EPOCHS - 1), "machine": machine.facts()}


def _timed(recipe: Recipe, machine: Machine) -> list[float]:
    """Seconds per step, epoch by epoch, of a training that is cut to few steps which are as they were."""
    short = parse_recipe(recipe.name, recipe.mapping(), {"training.epochs": EPOCHS, "training.warmup_epochs": 0})
    prepared = Prepared(short, data_dir=machine.data_dir, device=machine.device, workers=machine.workers)
    images = prepared.data.train
    some = min(len(images), STEPS * short.training.batch_size)
    prepared.loader = prepared.loader.of(images.take(range(some)))
    with tempfile.TemporaryDirectory() as folder:
        run = training.start(prepared, Path(folder) / "run")
        training.train(prepared, run, lambda classifier, loader: 0.0)
        return [round(entry["seconds"] / len(prepared.loader), 6) for entry in run.metrics()[1:]]
