"""Write a "-C" version of a data set: every image under every corruption at every severity.

  weatherproof corrupt cifar10 CIFAR-10-C
  weatherproof corrupt photos/ photos-C --corruptions fog,noise --severities 1-3 --jobs 4

Data in memory become .npy files as in CIFAR-10-C, image folders a tree of JPEGs as in ImageNet-C. An interrupted call
goes on where it was, corruptions are added to a set by asking for more of them, and a set that was made otherwise, or
of other images, is left alone. The bytes are the same for any number of --jobs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_corruption_options, add_data_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", help="photos10, cifar10, cifar100, a folder of images, a .npz file or hf:NAME")
    parser.add_argument("output", metavar="OUT", type=Path, help="a new folder, or one that was begun by the same call")
    parser.add_argument("--split", help="train, validation, test or all; default: test, or all where the set has no "
                        "test split of its own")  # fmt: skip
    parser.add_argument("--size", type=int, help="the side that images of a folder are cropped to; default: their own "
                        "if all share a small square one, else 224")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    add_corruption_options(parser)
    add_data_options(parser)


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    from ..api import corrupt_data
    from .show import console, progress, teller

    with progress("corrupting", known.quiet) as report:
        plan = corrupt_data(
            known.data,
            known.output,
            split=known.split,
            data_dir=known.data_dir,
            size=known.size,
            corruptions=known.corruptions,
            severities=known.severities,
            scale=known.scale,
            frost=known.frost,
            seed=known.corruption_seed,
            jobs=known.jobs,
            progress=report,
            tell=teller(known.quiet),
        )
    if not known.quiet:
        count = plan.images * len(plan.conditions)
        console().print(f"{count:,} images in {known.output}; scale: {plan.scale}, frost: {plan.frost}", markup=False)
    return 0
