"""A run: the folder in which a training keeps everything that it knows."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import nn

from ..errors import InputError
from ..files import append_line, write_atomically, write_json
from ..networks.classifiers.saved import WEIGHTS, load_classifier
from .recipe import Recipe, find_recipe, parse_recipe, read_yaml


class Run:
    """A run folder: recipe.yaml, environment.json, metrics.jsonl, model.safetensors + model.json, last/."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()

    @property
    def recipe_file(self) -> Path:
        return self.folder / "recipe.yaml"

    @property
    def metrics_file(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def last_file(self) -> Path:
        """The state that the run is resumed from."""
        return self.folder / "last" / "state.safetensors"

    @staticmethod
    def create(folder: Path, recipe: Recipe, environment: dict[str, Any]) -> Run:
        """Start a run in a folder that is new or empty."""
        run = Run(folder)
        if run.recipe_file.exists():
            raise InputError(f"{folder} holds a run already; resume it with --resume {folder}, or name another with -o")
        if run.folder.exists() and not (run.folder.is_dir() and _empty(run.folder)):
            raise InputError(f"{folder} exists and is not an empty folder; name another with -o")
        # The recipe first: with it alone the run can be resumed already.
        write_atomically(run.recipe_file, yaml.safe_dump(recipe.mapping(), sort_keys=False, allow_unicode=True))
        write_json(run.folder / "environment.json", environment)
        return run

    def recipe(self) -> Recipe:
        """The resolved recipe that the run was started with."""
        if not self.recipe_file.is_file():
            raise InputError(f"{self.folder} is not a run folder: it has no recipe.yaml")
        _, text = find_recipe(self.recipe_file)
        try:
            return parse_recipe(self.folder.name, read_yaml(text, str(self.recipe_file)))
        except InputError as error:
            raise InputError(f"{self.recipe_file}: {error}") from error

    def metrics(self) -> list[dict[str, Any]]:
        """What was recorded so far, one entry per epoch."""
        if not self.metrics_file.exists():
            return []
        # A kill can cut the last line short; what is not a whole line was never recorded.
        whole = self.metrics_file.read_bytes().rpartition(b"\n")[0]
        return [self._entry(line) for line in whole.splitlines()]

    def _entry(self, line: bytes) -> dict[str, Any]:
        try:
            entry: dict[str, Any] = json.loads(line)
            int(entry["epoch"]), float(entry["seconds"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.metrics_file} was changed: it has a line that is not of an epoch") from error
        return entry

    def record(self, entry: dict[str, Any]) -> None:
        """Add one entry to the metrics."""
        append_line(self.metrics_file, json.dumps(entry))

    def forget_metrics_after(self, size: int) -> None:
        """Cut the metrics back to what they were at a checkpoint, `size` bytes long."""
        if self.metrics_file.exists() and self.metrics_file.stat().st_size > size:
            write_atomically(self.metrics_file, self.metrics_file.read_bytes()[:size])

    def classifier(self) -> nn.Module:
        """The classifier as of the last finished epoch, in eval mode."""
        return load_classifier(self.folder)

    @property
    def finished(self) -> bool:
        """Whether all epochs were trained."""
        metrics = self.metrics()
        trained = bool(metrics) and metrics[-1]["epoch"] == self.recipe().training.epochs
        return trained and (self.folder / WEIGHTS).is_file()


def free_folder(name: str, parent: Path) -> Path:
    """A folder below `parent`, named after a recipe, that does not exist yet."""
    stem = name.replace("/", "-")
    candidates = (parent / (stem if i == 1 else f"{stem}-{i}") for i in range(1, sys.maxsize))
    return next(folder for folder in candidates if not folder.exists())


def _empty(folder: Path) -> bool:
    """Whether nothing is there but what a killed writer left."""
    return all(path.name.endswith(".partial") for path in folder.iterdir())


def environment(device: str, command: list[str]) -> dict[str, Any]:
    """What a later reader needs to know about the machine and the versions."""
    from .. import __version__

    return {
        "command": command,
        "weatherproof": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "processor_count": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": device,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
