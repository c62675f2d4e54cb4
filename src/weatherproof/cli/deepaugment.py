"""Write processed copies of a data set: every image through a network that is broken at random, one copy a network.

  weatherproof deepaugment cifar10 cifar10-deepaugment
  weatherproof deepaugment photos/ photos-deepaugment --network edsr,runs/my-unet --size 256 --jobs 4

Data in memory become NETWORK.npy and labels.npy, image folders a tree of JPEGs in NETWORK/. A recipe trains on them
with data.copies: [cifar10-deepaugment/edsr.npy, cifar10-deepaugment/cae.npy], where each image is drawn in one of its
three versions, equally likely. An interrupted call goes on where it was, and copies are added by asking for more of
them; the bytes are the same for any number of --jobs, each of which computes on one thread.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_data_options, words


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", help="photos10, cifar10, cifar100, a folder of images, a .npz file or hf:NAME")
    parser.add_argument("output", metavar="OUT", type=Path, help="a new folder, or one that was begun by the same call")
    parser.add_argument(
        "--network", type=words, metavar="NAMES", default=["edsr", "cae"],
        help="with commas: what weatherproof networks lists, or runs or files of trained ones (default edsr,cae)",
    )  # fmt: skip
    parser.add_argument("--split", default="train", help="train (default), validation, test or all")
    parser.add_argument("--size", type=int, help="what the shorter side of images of a folder is brought "
                        "to; default: their own if all share a small square one, else 224")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of everything that is drawn (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    add_data_options(parser)


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    from ..api import deepaugment_data
    from .show import console, progress, teller

    with progress("processing", known.quiet) as report:
        plan = deepaugment_data(
            known.data,
            known.output,
            known.network,
            split=known.split,
            data_dir=known.data_dir,
            size=known.size,
            seed=known.seed,
            jobs=known.jobs,
            progress=report,
            tell=teller(known.quiet),
        )
    if not known.quiet:
        count = plan.images * len(plan.networks)
        console().print(f"{count:,} images in {known.output}; weights: {', '.join(plan.weights)}", markup=False)
    return 0
