"""Training: recipes, the one loop, runs that can be resumed."""

from .loop import Interrupted, Loop
from .recipe import Recipe, load_recipe, recipe_names
from .run import Run
from .settings import TrainingSettings
from .train import Prepared, dry_run, reopen, start, train

__all__ = [
    "Interrupted", "Loop", "Prepared", "Recipe", "Run", "TrainingSettings", "dry_run", "load_recipe", "recipe_names",
    "reopen", "start", "train",
]  # fmt: skip
