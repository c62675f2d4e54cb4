"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ..errors import InputError


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Where data lie, how much to say."""
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="where data sets lie; else $WEATHERPROOF_DATA")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Where data lie, what to compute on, how much to say."""
    add_data_options(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--workers", type=int, help="processes that open image files; default: one per core, up to 8")


def parse_with_overrides(
    parser: argparse.ArgumentParser, arguments: list[str]
) -> tuple[argparse.Namespace, dict[str, Any]]:
    """What the parser knows, and keys of a recipe wherever they stand among it: ``--training.epochs 3``.

    They are taken out beforehand. To argparse, which does not know them, the 3 would be the first positional argument.
    """
    from ..training.recipe import SECTIONS, parse_overrides

    taken, own, words = list[str](), list[str](), list(arguments)
    options = {option for action in parser._actions for option in action.option_strings}
    while words:
        word = words.pop(0)
        option, has_value, _ = word.partition("=")
        key = option.removeprefix("--")
        if not word.startswith("--") or option in options or not ("." in key or key in SECTIONS):
            own.append(word)
            continue
        taken.append(word)
        if not has_value and words and not words[0].startswith("--"):
            taken.append(words.pop(0))
    known, rest = parser.parse_known_args(own)
    return known, parse_overrides(taken + rest)


def add_corruption_options(parser: argparse._ActionsContainer) -> None:
    """Which corruptions, how strong."""
    parser.add_argument(
        "--corruptions", type=words, metavar="NAMES", default=["all"],
        help="names or groups, with commas: all (the 15, default), extra, noise, blur, weather, digital, fog ...",
    )  # fmt: skip
    parser.add_argument(
        "--severities", type=_numbers, metavar="1-5", default=[1, 2, 3, 4, 5], help="like 3, 1,5 or 2-4"
    )
    parser.add_argument("--scale", default="auto", help="whose strengths: cifar, tiny, imagenet, or auto by image size")
    parser.add_argument("--frost", default="auto", help="photographs, procedural, a folder of photographs, or auto")
    parser.add_argument("--corruption-seed", type=int, default=0, metavar="N", help="seed of the random ones")


def refuse_unwritable(file: Path) -> None:
    """A file for results that could not be written in the end."""
    home = file.expanduser().parent
    existing = next(folder for folder in (home, *home.absolute().parents) if folder.exists())
    if file.expanduser().is_dir() or not existing.is_dir() or not os.access(existing, os.W_OK):
        raise InputError(f"cannot write {file}: it is a folder, or lies where nothing can be written")


def words(text: str) -> list[str]:
    """Words with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for part in words(text):
        first, dash, last = part.partition("-")
        if not (first.isdigit() and (last.isdigit() or not dash)):
            # argparse keeps the sentence of this one, but not of an InputError, which is a ValueError
            raise argparse.ArgumentTypeError(f"severities look like 3, 1,5 or 2-4; got '{text}'")
        found += range(int(first), int(last or first) + 1)
    return found
