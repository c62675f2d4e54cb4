"""A study of a task that trains in a second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from tiny import write_tiny_recipe

CORRUPTED = {"suite": "corruptions", "corruptions": ["contrast", "impulse_noise"], "severities": [1, 4]}
HOLDOUT = {"suite": "corruptions", "split": "validation", "corruptions": ["extra"], "severities": [3]}


def tiny_study(folder: Path, **changes: Any) -> dict[str, Any]:
    """A study in plain values; its data and recipe are written to `folder`."""
    return {
        "title": "Crops on bars",
        "text": "Whether crops\nhelp.",
        "recipe": str(write_tiny_recipe(folder)),
        "overrides": {"data.holdout": 30, "data.subset": 60, "training.epochs": 1},
        "reference": "plain",
        "seeds": [0, 1],
        "evaluations": {"corrupted": CORRUPTED},
        "selection": {"evaluation": HOLDOUT},
        "rows": {
            "plain": {"overrides": {"augment.standard": "none"}},
            "crops": {"text": "as the recipe has it", "cost": 2},
            "tuned": {"select": {"training.learning_rate": [0.0001, 0.05]}, "cost": 3},
        },
        **changes,
    }


def write_tiny_study(folder: Path, **changes: Any) -> Path:
    """The study as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "bars.yaml"
    file.write_text(yaml.safe_dump(tiny_study(folder, **changes), sort_keys=False), encoding="utf-8")
    return file


def launch(*arguments: object, cwd: Path) -> subprocess.Popen[str]:
    """``weatherproof study ARGUMENTS`` with one thread, in a process of its own that sees the helpers of tests."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parent)])
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": f"{paths}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, "-m", "weatherproof", "study", *map(str, arguments), "--device", "cpu"]
    return subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for the end, which must be a good one; what it wrote to standard error."""
    errors = process.communicate(timeout=240)[1]
    assert process.returncode == 0, errors
    return errors
