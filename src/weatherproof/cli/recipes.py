"""Recipes: YAML files that name everything a training needs.

weatherproof recipes list
weatherproof recipes show cifar10/nominal
weatherproof recipes copy cifar10/nominal mine.yaml
weatherproof recipes validate mine.yaml
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="list | show | copy | validate")
    actions.add_parser("list", help="all shipped recipes").set_defaults(action=_list)
    show = actions.add_parser("show", help="the text of a recipe")
    show.set_defaults(action=_show)
    copy = actions.add_parser("copy", help="copy a shipped recipe to a file of yours")
    copy.set_defaults(action=_copy)
    validate = actions.add_parser("validate", help="check a recipe without opening its data")
    validate.set_defaults(action=_validate)
    for action in (show, copy, validate):
        action.add_argument("name", help="a shipped recipe, or a file")
    copy.add_argument("file", help="where to; ends in .yaml")


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    known.action(known)
    return 0


def _list(known: argparse.Namespace) -> None:
    from rich.table import Table

    from ..training.recipe import find_recipe, read_yaml, recipe_names
    from .show import console

    table = Table("recipe", "row", "what to expect", box=None, pad_edge=False)
    for name in recipe_names():
        text = find_recipe(name)[1]
        heading = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
        table.add_row(name, str(read_yaml(text, name).get("row", "")), " ".join(heading[1:]))
    console().print(table)
    console().print("row: of the paper's main table for that data set", style="dim")


def _show(known: argparse.Namespace) -> None:
    from ..training.recipe import find_recipe

    print(find_recipe(known.name)[1], end="")


def _copy(known: argparse.Namespace) -> None:
    from ..files import write_atomically
    from ..training.recipe import find_recipe

    path = Path(known.file).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(f"a recipe's file ends in .yaml; got {known.file}")
    if path.exists():
        raise InputError(f"{known.file} exists; remove it or copy to another name")
    write_atomically(path, find_recipe(known.name)[1])
    print(f"copied to {known.file}; train it with: weatherproof train {known.file}")


def _validate(known: argparse.Namespace) -> None:
    from ..training.recipe import load_recipe

    recipe = load_recipe(known.name)
    network, data, epochs = recipe.module.class_path, recipe.data.source, recipe.training.epochs
    print(f"{known.name} is a valid recipe: {network} on {data}, {epochs} epochs")
