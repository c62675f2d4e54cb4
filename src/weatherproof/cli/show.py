"""Tables and summaries for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from ..evaluation import Result
from ..training import Recipe, Run
from ..training.recipe import CLASSIFIER
from ..training.watch import FORMATS, clock, formatted


def console() -> Console:
    """Standard output; as wide as the terminal, or as wide as needed when it is not one."""
    found = Console(highlight=False, markup=False)  # names of users' files may hold brackets
    return found if found.is_terminal else Console(highlight=False, markup=False, width=120)


def run_summary(run: Run) -> RenderableType:
    """What a finished run has come to, and what to do with it."""
    metrics = run.metrics()
    last = metrics[-1] if metrics else {}
    facts = {
        key.replace("_", " "): formatted(key, value) for key, value in last.items() if key.endswith(tuple(FORMATS))
    }
    facts["trained"] = f"{len(metrics)} epochs in {clock(sum(entry['seconds'] for entry in metrics))}"
    facts["weights"] = f"{run.folder / 'model.safetensors'}, with model.json beside them"
    if run.recipe().subject is CLASSIFIER:
        facts["measure it"] = f"weatherproof evaluate {run.folder}"
    return pairs(facts)


def result_view(result: Result) -> RenderableType:
    """Headline numbers, and a table of errors by corruption and severity where there are some."""
    severities = result.protocol.get("severities", [])
    names = result.protocol.get("corruptions", [])
    if not names:
        return result.table()
    table = Table("error in %", *(f"severity {severity}" for severity in severities), "mean", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for name in names:
        cells = [result[f"error/{name}/{severity}"] for severity in severities] + [result[f"error/{name}"]]
        table.add_row(name.replace("_", " "), *(f"{value:.1f}" for value in cells))
    headline = {k: m for k, m in result.metrics.items() if not k.startswith("error/") or k.startswith("error/group/")}
    return Group(table, replace(result, metrics=headline).table())


def teller(quiet: bool) -> Callable[[str], None]:
    """A function to be told what is going to be done."""
    return (lambda words: None) if quiet else lambda words: console().print(words, markup=False, soft_wrap=True)


@contextmanager
def progress(title: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Gives a function to be told (done, total): a bar with the time to go, where there is a terminal to draw it on."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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
        table.add_row(Text(name, style="bold"), Text(value))
    return table
