"""Train a corruption network.

  weatherproof pretrain edsr_desk
  weatherproof pretrain unet --data photos/ -o runs/my-unet --epochs 20
  weatherproof pretrain my_network.yaml
  weatherproof pretrain --resume runs/my-unet

NAME is a network that weatherproof networks lists with its training (affine needs none), or a recipe that trains one.
The run ends with PSNR and SSIM on the test images, and with a picture of originals beside reconstructions. Use it by
its folder: corruption networks take weights: runs/my-unet. Any key of the recipe can be overridden by its dotted name;
so --data.holdout says which share or number of the training images is measured after each epoch and not trained on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import InputError
from .options import add_machine_options, parse_with_overrides


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="edsr, cae, vqvae, unet, their _desk sizes, or a recipe")
    parser.add_argument("--data", metavar="SOURCE", help="images to train on; default: the recipe's, CIFAR-10")
    parser.add_argument("-o", "--output", metavar="RUN", type=Path, help="the run folder; default: runs/pretrain-NAME")
    parser.add_argument("--resume", metavar="RUN", type=Path, help="go on with this run instead of starting one")
    parser.add_argument("--epochs", type=int, help="short for --training.epochs")
    parser.add_argument("--seed", type=int, help="the training's seed")
    add_machine_options(parser)


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known, overrides = parse_with_overrides(parser, arguments)
    for key, value in (("training.epochs", known.epochs), ("seed", known.seed), ("data.source", known.data)):
        if value is not None:
            overrides[key] = value
    if bool(known.name) == bool(known.resume):
        raise InputError("name a network to train or a run to --resume, one of the two (see: weatherproof networks)")
    if known.resume and known.output:
        raise InputError("a resumed run stays in its folder; leave -o out")

    from .. import api
    from ..training import Interrupted
    from ..training.pretraining import pretraining_recipe
    from ..training.run import free_folder
    from .show import console, pairs, run_summary

    folder = known.resume or known.output or free_folder(pretraining_recipe(known.name).name, Path("runs"))
    machine = {"data_dir": known.data_dir, "device": known.device, "workers": known.workers, "quiet": known.quiet}
    try:
        if known.resume:
            finished = api.resume_pretraining(folder, overrides=overrides, **machine)
        else:
            finished = api.pretrain(known.name, folder, overrides=overrides, **machine)
    except Interrupted:
        print(f"weatherproof: saved; go on with: weatherproof pretrain --resume {folder}", file=sys.stderr)
        return 130
    if not known.quiet:
        console().print(run_summary(finished.run))
        measured = finished.card.measured
        console().print(
            pairs(
                {
                    "test quality": f"{measured['psnr']:.2f} dB, SSIM {measured['ssim']:.4f}, undisturbed",
                    "picture": str(finished.picture),
                }
            )
        )
    return 0
