"""Run a study: a table of rows, each a recipe trained with several seeds and measured alike.

  weatherproof study list
  weatherproof study ada-desk --jobs 2
  weatherproof study ada-desk --rows nominal,normalized-1 --seeds 0
  weatherproof study ada-desk --page
  weatherproof study my.yaml -o elsewhere --training.epochs 1

What is there and was made of just the same is not made again, and what was interrupted goes on where it was: the same
command, called again, does what is left. Any key of a recipe can be overridden for all rows, given a folder of its own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .options import add_machine_options, parse_with_overrides

if TYPE_CHECKING:
    from ..studies import StudyOutcome

RESULTS = Path("results")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="a shipped study, a YAML file, or list")
    parser.add_argument("--size", help="paper or desk; default: the study's first")
    parser.add_argument("--rows", metavar="A,B", help="only these rows")
    parser.add_argument("--seeds", metavar="0,1", help="these seeds instead of the study's")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at a time (default 1)")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help=f"where results go; default: {RESULTS}/")
    parser.add_argument("--page", nargs="?", metavar="FILE", type=Path, const=Path(),
                        help="run nothing; write the page of the results at hand: docs/studies/NAME.md")  # fmt: skip
    parser.add_argument("--time", action="store_true",
                        help="run nothing; time some training steps of each row, for the page")  # fmt: skip
    add_machine_options(parser)


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known, overrides = parse_with_overrides(parser, arguments)
    from .. import studies
    from .show import console

    if known.study == "list":
        return _list()
    if overrides and not known.output:
        raise InputError("with overrides it is another study; name another folder for its results with -o")
    if known.page is not None:
        if overrides or known.rows or known.seeds:
            raise InputError("a page is about all the results of a study; leave out rows, seeds and overrides")
        file = studies.study_page(known.study, known.size, results=known.output or RESULTS, file=known.page)
        console().print(f"wrote {file}")
        return 0
    if known.time:
        return _time(known, bool(overrides))
    try:
        outcome = _run(known, overrides)
    except KeyboardInterrupt:
        print("weatherproof: stopped; the same command goes on where it was", file=sys.stderr)
        return 130
    if not known.quiet:
        console().print(outcome.table())
    for name, reason in outcome.failed.items():
        print(f"weatherproof: {name} failed: {reason}", file=sys.stderr)
    return int(bool(outcome.failed))


def _run(known: argparse.Namespace, overrides: dict[str, Any]) -> StudyOutcome:
    from .. import studies

    return studies.study(
        known.study,
        size=known.size,
        rows=None if known.rows is None else _words(known.rows),
        seeds=None if known.seeds is None else _numbers(known.seeds),
        jobs=known.jobs,
        results=known.output or RESULTS,
        overrides=overrides,
        data_dir=known.data_dir,
        device=known.device,
        workers=known.workers,
        quiet=known.quiet,
    )


def _time(known: argparse.Namespace, changed: bool) -> int:
    from .. import studies
    from .show import console

    if changed or known.seeds or known.jobs > 1:
        raise InputError("--time is about the study as it is, one row at a time; leave out seeds, jobs and overrides")
    file = studies.study_times(
        known.study,
        known.size,
        rows=None if known.rows is None else _words(known.rows),
        results=known.output or RESULTS,
        data_dir=known.data_dir,
        device=known.device,
        workers=known.workers,
        tell=(lambda words: None) if known.quiet else (lambda words: print(words, file=sys.stderr, flush=True)),
    )
    if not known.quiet:
        console().print(f"wrote {file}")
    return 0


def _list() -> int:
    from rich.table import Table

    from ..studies import load_study, study_names
    from .show import console

    table = Table("study", "rows", "seeds", "what it is about", box=None, pad_edge=False)
    for name in study_names():
        study = load_study(name)
        table.add_row(name, str(len(study.rows)), str(len(study.seeds)), study.title)
    console().print(table)
    return 0


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    words = _words(text)
    if not words or not all(word.isdecimal() for word in words):
        raise InputError(f"seeds look like 0 or 0,1,2; got '{text}'")
    return [int(word) for word in words]
