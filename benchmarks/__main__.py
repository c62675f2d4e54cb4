"""Runs all benchmarks, or those whose names are given: ``python -m benchmarks training``.

A promise that is missed is shown as missed; the exit code stays 0, since times depend on what else the machine does.
"""

from __future__ import annotations

import importlib
import sys

import torch
from rich.console import Console
from rich.table import Table

NAMES = (
    "startup", "augmentation", "augmix", "prime", "training", "corruptions", "networks", "adversary", "deepaugment",
)  # fmt: skip


def main(names: list[str]) -> None:
    """Prints the table."""
    table = Table("what", title=f"torch {torch.__version__}, {torch.get_num_threads()} threads", title_justify="left")
    for column in ("ours", "theirs", "ratio", "promised", ""):
        table.add_column(column, justify="right")
    rows = [row for name in names or NAMES for row in importlib.import_module(f".{name}", __package__).rows()]
    for row in rows:
        verdict = "holds" if row.holds else "MISSED"
        table.add_row(row.name, *row.shown, f"{row.ratio:.3f}", f"<= {row.at_most:.3f}", verdict)
    Console(highlight=False, width=120).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
