"""Tables and summaries for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.syntax import Syntax
from rich.table import Table

from ..training import Recipe, Run
from ..training.watch import clock


def console() -> Console:
    """Standard output; as wide as the terminal, or as wide as needed when it is not one."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=120)


def run_summary(run: Run) -> RenderableType:
    """What a finished run has come to, and what to do with it."""
    metrics = run.metrics()
    last = metrics[-1]
    facts = {key.replace("_", " "): f"{value:.2f}%" for key, value in last.items() if key.endswith("_accuracy")}
    facts["trained"] = f"{len(metrics)} epochs in {clock(sum(entry['seconds'] for entry in metrics))}"
    facts["weights"] = f"{run.folder / 'model.safetensors'}, with model.json beside them"
    facts["measure it"] = f"weatherproof evaluate {run.folder}"
    return pairs(facts)


def plan(recipe: Recipe, facts: dict[str, Any]) -> RenderableType:
    """The resolved recipe and what a dry run found."""
    import yaml

    text = yaml.safe_dump(recipe.mapping(), sort_keys=False)
    shown = {
        key.replace("_", " "): f"{value:,}" if isinstance(value, int) else str(value) for key, value in facts.items()
    }
    return Group(Syntax(text, "yaml", background_color="default"), pairs(shown))


def pairs(facts: dict[str, str]) -> Table:
    """Names and values, two columns."""
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        table.add_row(f"[bold]{name}[/bold]", value)
    return table
