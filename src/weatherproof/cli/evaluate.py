"""Measure a trained classifier.

  weatherproof evaluate runs/photos10-nominal
  weatherproof evaluate runs/mine/model.safetensors --data photos/ -o result.json

The table says what was measured on what; -o keeps it as JSON.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_machine_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a run folder, or a model.safetensors with its model.json beside it")
    parser.add_argument("--data", metavar="SOURCE", help="photos10, cifar10, cifar100, imagenet, a folder, a .npz "
                        "file or hf:NAME; default: what the classifier was trained on")  # fmt: skip
    parser.add_argument("--suite", default="clean", help="what to measure: clean")
    parser.add_argument("--split", default="test", help="train, validation or test (default)")
    parser.add_argument("--limit", type=int, metavar="N", help="measure on N images only, every class in proportion")
    parser.add_argument("--seed", type=int, default=0, help="which images --limit takes")
    parser.add_argument("--batch-size", type=int, default=250)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the result as JSON")
    add_machine_options(parser)


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    from ..api import evaluate_on
    from .show import console

    result = evaluate_on(
        known.model,
        known.data,
        known.suite,
        split=known.split,
        data_dir=known.data_dir,
        limit=known.limit,
        seed=known.seed,
        batch_size=known.batch_size,
        device=known.device,
        workers=known.workers,
    )
    if known.output:
        result.save(known.output)
    if not known.quiet:
        console().print(result.table())
    return 0
