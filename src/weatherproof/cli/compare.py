"""Compare two results that were measured on the same images: paired differences with 95% intervals.

weatherproof compare nominal.json hardened.json
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=Path, help="a result of weatherproof evaluate -o")
    parser.add_argument("b", type=Path, help="another one")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the comparison as JSON")


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    from dataclasses import asdict

    from rich.table import Table

    from ..evaluation import Result, compare
    from ..files import write_json
    from .show import console

    found = compare(Result.load(known.a), Result.load(known.b))
    if known.output:
        rows = [{**asdict(entry), "verdict": entry.verdict} for entry in found]
        write_json(known.output, {"a": str(known.a), "b": str(known.b), "comparisons": rows})
    table = Table("error in %", title=f"a: {known.a}, b: {known.b}", title_justify="left")
    for column in ("a", "b", "a - b", "95% interval"):
        table.add_column(column, justify="right")
    table.add_column("verdict")
    for entry in found:
        between = f"{entry.difference.low:+.2f} .. {entry.difference.high:+.2f}"
        numbers = f"{entry.a:.2f}", f"{entry.b:.2f}", f"{entry.difference.value:+.2f}"
        table.add_row(entry.name, *numbers, between, entry.verdict)
    console().print(table)
    return 0
