"""Measure a trained classifier.

  weatherproof evaluate runs/photos10-nominal
  weatherproof evaluate runs/mine --suite corruptions -o result.json
  weatherproof evaluate runs/mine --suite corruptions --corruptions fog,noise --severities 3-5 --limit 1000
  weatherproof evaluate runs/mine --suite corruptions --corrupted CIFAR-10-C
  weatherproof evaluate runs/mine/model.safetensors --data photos/ --fail-above clean_error=10

The table says what was measured on what; -o keeps it as JSON, for weatherproof report and weatherproof compare.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InputError, did_you_mean
from .options import add_corruption_options, add_machine_options, refuse_unwritable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a run folder, or a model.safetensors with its model.json beside it")
    parser.add_argument("--data", metavar="SOURCE", help="photos10, cifar10, cifar100, imagenet, a folder, a .npz "
                        "file or hf:NAME; default: what the classifier was trained on")  # fmt: skip
    parser.add_argument("--suite", default="clean", help="what to measure: clean (default) or corruptions")
    parser.add_argument("--split", default="test", help="train, validation, test (default) or all")
    parser.add_argument("--limit", type=int, metavar="N", help="measure on N images only, every class in proportion")
    parser.add_argument("--seed", type=int, default=0, help="which images --limit takes")
    parser.add_argument("--batch-size", type=int, default=250)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the result as JSON")
    parser.add_argument("--fail-above", metavar="METRIC=VALUE", type=_bound, action="append", default=[],
                        help="exit with code 1 when a metric is larger; for checks of your own")  # fmt: skip
    add_machine_options(parser)
    corruptions = parser.add_argument_group("for --suite corruptions")
    add_corruption_options(corruptions)
    corruptions.add_argument("--recompress", action="store_true", help="add ImageNet-C's own JPEG pass")
    corruptions.add_argument("--corrupted", metavar="DIR", type=Path, help="read CIFAR-10-C, CIFAR-100-C, ImageNet-C "
                             "or a set that weatherproof corrupt wrote, instead of making one")  # fmt: skip


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    if known.output:
        refuse_unwritable(known.output)  # before anything is measured
    from ..api import evaluate_on
    from .show import console, progress, result_view

    with progress(f"measuring {known.suite}", known.quiet) as report:
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
            **_options(parser, known, report),
        )
    command = shlex.join(["weatherproof", "evaluate", *arguments])
    result = replace(result, protocol={**result.protocol, "command": command})
    if known.output:
        result.save(known.output)
    if not known.quiet:
        console().print(result_view(result))
    return _verdict(known.fail_above, {name: metric.value for name, metric in result.metrics.items()})


# What an option of the suite is called in Python, where that is another name.
RENAMED = {"corrupted": "folder"}
OF_CORRUPTIONS = ("corruptions", "severities", "scale", "corruption_seed", "frost", "recompress", "corrupted")


def _options(parser: argparse.ArgumentParser, known: argparse.Namespace, report: Any) -> dict[str, Any]:
    """The settings of the suite; those of another one are refused."""
    if known.suite == "corruptions":
        options = {RENAMED.get(name, name): getattr(known, name) for name in OF_CORRUPTIONS}
        return {**options, "progress": report}
    given = [name for name in OF_CORRUPTIONS if getattr(known, name) != parser.get_default(name)]
    if given:
        raise InputError(f"--{given[0].replace('_', '-')} is for --suite corruptions; the suite is {known.suite}")
    return {}


def _bound(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        if math.isfinite(float(value)):
            return name, float(value)
        raise ValueError
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"a bound looks like mean_error=30; got '{text}'") from error


def _verdict(bounds: list[tuple[str, float]], metrics: dict[str, float]) -> int:
    for name, _ in bounds:
        if name not in metrics:
            raise InputError(f"--fail-above: there is no metric '{name}'{did_you_mean(name, metrics)}")
    exceeded = [(name, bound) for name, bound in bounds if metrics[name] > bound]
    for name, bound in exceeded:
        print(f"weatherproof: {name} is {metrics[name]:.2f}, above {bound:g}", file=sys.stderr)
    return int(bool(exceeded))
