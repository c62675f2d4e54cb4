"""What follows the training of a corruption network: its quality on the test split, on its card, and examples."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor

from ..errors import InputError
from ..files import write_json
from ..images import to_unit
from ..networks.building import CARD, WEIGHTS
from ..networks.corruption.saved import NO_WEIGHTS_NEEDED, NetworkCard, file_checksum, load_network, read_network_card
from .recipe import NETWORK, Recipe, load_recipe, recipe_names
from .run import Run
from .train import Prepared
from .trainees import fidelity

EXAMPLES = 12  # images in the picture of originals beside reconstructions


def pretraining_recipe(name: str | Path) -> Recipe:
    """The recipe of a network by the network's name, or any recipe that trains a network."""
    if str(name) in NO_WEIGHTS_NEEDED:
        raise InputError(f"{name} needs no training: it starts as the identity, and no weights are asked for")
    shipped = f"pretrain/{name}"
    recipe = load_recipe(shipped if shipped in recipe_names() else name)
    if recipe.subject is not NETWORK:
        raise InputError(f"{name} trains a classifier, not a corruption network; use weatherproof train")
    return recipe


def complete_card(prepared: Prepared, run: Run) -> NetworkCard:
    """Measure a finished run's network on the test split, undisturbed, and say so on its card, with the checksum of the
    weights: from now on they are not to change."""
    network = load_network(run.folder).to(prepared.fabric.device)
    card = read_network_card(run.folder / WEIGHTS)
    found = {name: round(value, 4) for name, value in fidelity(network, prepared.measuring("test")).items()}
    measured = {**found, "test_images": len(prepared.data.test)}
    card = replace(card, measured=measured, checksum=file_checksum(run.folder / WEIGHTS))
    write_json(run.folder / CARD, asdict(card))
    return card


def examples(prepared: Prepared, run: Run) -> tuple[Tensor, Tensor]:
    """Some test images and what the network makes of them: float (N, C, H, W) in [0, 1] each."""
    network = load_network(run.folder)
    spread = torch.linspace(0, len(prepared.data.test) - 1, min(EXAMPLES, len(prepared.data.test))).long().tolist()
    chosen = prepared.measuring("test").of(prepared.data.test.take(spread))
    images = to_unit(torch.cat([batch.images for batch in chosen.epoch()])).cpu()
    with torch.no_grad():
        return images, network(images)
