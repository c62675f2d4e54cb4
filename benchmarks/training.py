"""Our training loop against a bare one: the same network, data, augmentation, order and arithmetic."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from weatherproof.augment import CropFlip
from weatherproof.data import ArrayImages, open_data
from weatherproof.networks.classifiers.saved import build
from weatherproof.randomness import seed_of, stream
from weatherproof.training import Loop, Prepared, Recipe, Run, TrainingSettings, load_recipe
from weatherproof.training.watch import Silent

from .timing import Row, side_by_side


def rows() -> list[Row]:
    """One epoch of photos10 in both loops, checkpoint included on our side."""
    recipe = load_recipe("photos10/nominal", {"training.epochs": 1, "training.warmup_epochs": 0})
    ours, theirs = side_by_side(lambda: our_loop(recipe), lambda: bare_loop(recipe), repeats=5)
    return [Row("training: our loop / a bare loop", ours, theirs, 1.05)]


def our_loop(recipe: Recipe) -> nn.Module:
    """The loop as `weatherproof.train` runs it, without validation."""
    prepared = Prepared(recipe, device="cpu", workers=0)
    with tempfile.TemporaryDirectory() as folder:
        Loop(
            prepared.fabric,
            prepared.module,
            recipe.objective(),
            prepared.pipeline,
            prepared.loader,
            recipe.training,
            recipe.seed,
            Run(Path(folder)),
            {},
            validate=lambda module: {},
            publish=lambda module: None,
            watch=Silent(),
        ).train()
    return prepared.module


def bare_loop(recipe: Recipe) -> nn.Module:
    """What one would write by hand for CIFAR-sized data in memory, in 30 lines."""
    settings: TrainingSettings = recipe.training
    train = open_data(recipe.data.source).train
    assert isinstance(train.images, ArrayImages)
    pixels, labels, size = train.images.pixels, train.labels, settings.batch_size
    torch.manual_seed(seed_of(recipe.seed, "weights"))
    model = build(Prepared(recipe, device="cpu", workers=0).trainee.spec).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=settings.learning_rate,
        momentum=settings.momentum,
        nesterov=settings.nesterov,
        weight_decay=settings.weight_decay,
    )
    augmentation, steps = CropFlip(), len(labels) // size
    for epoch in range(settings.epochs):
        order = torch.randperm(len(labels), generator=stream(recipe.seed, "order", epoch))
        for step in range(steps):
            number = epoch * steps + step
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate_at(number / steps)
            chosen = order[step * size : (step + 1) * size]
            images = augmentation(pixels[chosen], stream(recipe.seed, "augment", number)).float().div_(255)
            images = images.contiguous(memory_format=torch.channels_last)
            loss = functional.cross_entropy(model(images), labels[chosen])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return model
