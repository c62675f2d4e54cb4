"""How far the weights of a corruption network may move: the radius at which it corrupts as another network does.

  weatherproof radius unet_desk --data photos10 --model runs/photos10-nominal
  weatherproof radius vqvae --data cifar10 --model runs/cifar10-nominal --steps 3 -o vqvae.svg
  weatherproof radius runs/my-unet --data photos/ --random --like cae --like-radius 0.03

The paper publishes .015 for EDSR and the CAE on CIFAR only. Compared are distributions of the SSIM distance between
training images and corrupted ones, before any guard: of those that AdversarialAugment finds against a classifier, or of
random perturbations. A network that blurs more than that when undisturbed, as autoencoders do, is measured from its own
undisturbed images, and the protocol says so. The picture shows both densities. A radius that was found so is chosen,
not published: say so where it is used.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", help="a name that weatherproof networks lists, or the run or file of a trained one")
    parser.add_argument("--data", metavar="SOURCE", required=True, help="photos10, cifar10, a folder of images, ...")
    parser.add_argument("--like", metavar="NETWORK", default="edsr", help="the network to match (default edsr)")
    parser.add_argument("--like-radius", metavar="NU", type=float, default=0.015, help="its radius (default .015)")
    parser.add_argument("--images", metavar="N", type=int, default=512, help="training images (default 512)")
    parser.add_argument("--model", metavar="RUN", help="the classifier to attack")
    parser.add_argument("--random", action="store_true", help="random perturbations, with no classifier to attack")
    parser.add_argument("--steps", metavar="M", type=int, help="of ascent against the model (default 1)")
    parser.add_argument("--rule", default="normalized", help="of the steps: normalized (default) or sign")
    parser.add_argument("--size", type=int, help="the side that images of a folder are cropped to")
    parser.add_argument("--seed", type=int, default=0, help="of the images and the perturbations")
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="where data sets lie; else $WEATHERPROOF_DATA")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="the picture; default radius-NETWORK.svg")


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    if bool(known.model) == known.random:
        raise InputError("name the classifier to attack with --model, or say --random; one of the two")
    if known.steps and not known.model:
        raise InputError("--steps climb on a classifier; name one with --model")
    picture = known.output or Path(f"radius-{Path(known.network).stem}.svg")
    if picture.suffix != ".svg":
        raise InputError(f"the picture is an .svg file; got {picture}")
    from ..probing import find_radius
    from ..report.densities import write_densities
    from .show import console, pairs

    trials = console()
    found = find_radius(
        known.network,
        known.data,
        like=known.like,
        like_radius=known.like_radius,
        count=known.images,
        model=known.model,
        steps=(known.steps or 1) if known.model else 0,
        rule=known.rule,
        seed=known.seed,
        size=known.size,
        data_dir=known.data_dir,
        device=known.device,
        report=lambda trial: trials.print(
            f"radius {trial.radius:.5f}  mean distance {trial.distances.mean():.4f}  off by {trial.gap:.4f}"
        ),
    )
    match = found.match
    write_densities(
        picture,
        f"How far {known.network} takes images at radius {match.radius:.4g}",
        f"1 - SSIM, {found.protocol['images']} training images of {known.data}",
        [
            (f"{known.like} at {known.like_radius:g}", found.wanted.tolist()),
            (f"{known.network} at {match.radius:.4g}", match.distances.tolist()),
        ],
    )
    facts = {
        "radius": f"{match.radius:.4g}  (chosen, not published)",
        "distances": f"{_summary(match.distances)}; wanted {_summary(found.wanted)}; off by {match.gap:.4f} on average",
        "protocol": ", ".join(f"{name} {value}" for name, value in found.protocol.items()),
        "picture": str(picture),
    }
    console().print(pairs(facts))
    return 0


def _summary(distances: Tensor) -> str:
    from ..report.densities import quantile

    return f"mean {distances.mean():.4f}, 95th percentile {quantile(distances.tolist(), 0.95):.4f}"
