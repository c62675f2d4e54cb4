"""The two kinds of module that the loop trains, and what differs between them: making, checking, measuring, keeping."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..data import Data, Loader
from ..errors import InputError
from ..images import to_unit
from ..measures import psnr, ssim
from ..measures.similarity import check_window
from ..networks.classifiers.saved import Card, build, resolve, save_classifier
from ..networks.corruption.fitness import refuse_misfit
from ..networks.corruption.saved import NetworkCard, build_network, named_card, save_network
from .recipe import NETWORK, Recipe

Accuracy = Callable[[nn.Module, Loader], float]
"""The share of a loader's images, in percent, that a classifier gets right; handed in by whoever joins the rooms."""


class Trainee(Protocol):
    """What a recipe trains."""

    def build(self) -> nn.Module:
        """The module with fresh weights from the global generator."""

    def check(self, module: nn.Module, image: Tensor, together: int) -> None:
        """Refuse a module of another make that cannot do with `image`, (1, C, H, W), what it is to be trained for, when
        it sees no more than `together` images at a time."""

    def measure(self, module: nn.Module, loader: Loader, accuracy: Accuracy) -> dict[str, float]:
        """How good it is on a loader's images."""

    def publish(self, folder: Path, module: nn.Module) -> None:
        """Save it for users."""


def trainee(recipe: Recipe, data: Data) -> Trainee:
    """The trainee of a recipe on its data."""
    return NetworkTrainee(recipe, data) if recipe.subject is NETWORK else ClassifierTrainee(recipe, data)


class ClassifierTrainee:
    """Images to logits; measured by its accuracy."""

    def __init__(self, recipe: Recipe, data: Data) -> None:
        self.data = data
        self.name = recipe.module.class_path
        self.spec = resolve(recipe.module, len(data.classes), data.channels, data.mean, data.std)
        self.card = Card(self.spec.mapping(), data.classes, data.channels, data.size, _origin(recipe, data))

    def build(self) -> nn.Module:
        return build(self.spec)

    def check(self, module: nn.Module, image: Tensor, together: int) -> None:
        classes = len(self.data.classes)
        was_training = module.training
        try:
            with torch.random.fork_rng(), torch.no_grad():
                logits = module.eval()(image)
        except Exception as error:  # whatever a stranger's module raises
            raise InputError(
                f"classifier {self.name} cannot take images of shape {tuple(image.shape)}: {error}"
            ) from error
        finally:
            module.train(was_training)
        if not isinstance(logits, Tensor) or logits.shape != (1, classes):
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise InputError(f"classifier {self.name} gives {shape} for one image; wanted (1, {classes}) logits")
        few = image.expand(min(together, 2), -1, -1, -1)
        try:
            with torch.random.fork_rng(), torch.no_grad():
                copy.deepcopy(module).train()(few)
        except Exception as error:
            raise InputError(
                f"classifier {self.name} cannot be trained on {together} image(s) of shape {tuple(image.shape[1:])} at "
                f"a time: {error}"
            ) from error

    def measure(self, module: nn.Module, loader: Loader, accuracy: Accuracy) -> dict[str, float]:
        return {"accuracy": accuracy(module, loader)}

    def publish(self, folder: Path, module: nn.Module) -> None:
        save_classifier(folder, module.state_dict(), self.card)


class NetworkTrainee:
    """Images to images; measured by how close an undisturbed network comes to giving back the image itself."""

    def __init__(self, recipe: Recipe, data: Data) -> None:
        self.spec = recipe.module
        self.card = NetworkCard(recipe.module.mapping(), "own", data.size, _origin(recipe, data))

    def build(self) -> nn.Module:
        return build_network(self.spec, "network")

    def check(self, module: nn.Module, image: Tensor, together: int) -> None:
        check_window(image)
        refuse_misfit(module, image)

    def measure(self, module: nn.Module, loader: Loader, accuracy: Accuracy) -> dict[str, float]:
        return fidelity(module, loader)

    def publish(self, folder: Path, module: nn.Module) -> None:
        save_network(folder, module.state_dict(), self.card)


def fidelity(network: nn.Module, loader: Loader) -> dict[str, float]:
    """Mean PSNR in dB and mean SSIM between images and what a network in evaluation mode makes of them."""
    was_training = network.training
    totals = torch.zeros(2, dtype=torch.float64)
    try:
        network.eval()
        with torch.no_grad():
            for batch in loader.epoch():
                images = to_unit(batch.images)
                restored = network(images).float()
                measured = psnr(images, restored).clamp_max(99), ssim(images, restored)
                totals += torch.stack([values.double().sum() for values in measured]).cpu()
    finally:
        network.train(was_training)
    decibels, similarity = (totals / len(loader.images)).tolist()
    return {"psnr": decibels, "ssim": similarity}


def _origin(recipe: Recipe, data: Data) -> dict[str, Any]:
    from .. import __version__

    against = {"against": [named_card(entry).protocol() for entry in recipe.networks()]} if recipe.networks() else {}
    return against | {
        "recipe": recipe.name,
        "data": asdict(recipe.data),
        "train_images": len(data.train),
        "epochs": recipe.training.epochs,
        "seed": recipe.seed,
        "weatherproof": __version__,
    }
