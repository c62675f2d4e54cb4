"""One page for one or more results, to look at in any browser, without a network.

weatherproof report result.json -o report.html
weatherproof report nominal.json hardened.json --names before,after -o both.html
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="results of weatherproof evaluate -o")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, default=Path("report.html"), help="report.html")
    parser.add_argument(
        "--names", metavar="A,B", help="what the page calls the classifiers; default: their runs' folders"
    )


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    from ..files import read_json
    from ..report import write_report
    from .show import console

    if any(_same(known.output, path) for path in known.results):
        raise InputError(f"the page would replace the result {known.output}; name another file with -o")
    names = None if known.names is None else known.names.split(",")
    results = [read_json(path.expanduser()) for path in known.results]
    written = write_report(results, known.output, names, [str(path) for path in known.results])
    console().print(f"{written} is written; open it in a browser", markup=False)
    return 0


def _same(a: Path, b: Path) -> bool:
    return a.expanduser().resolve() == b.expanduser().resolve()
