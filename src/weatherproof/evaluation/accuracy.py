"""Counting what a classifier gets right, without leaving a trace in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..data import Loader
from ..errors import InputError
from ..images import to_unit


def accuracy(classifier: nn.Module, loader: Loader) -> float:
    """The share of images whose largest logit is their label's, in percent."""
    correct = hits(classifier, loader)
    return 100 * float(correct.double().mean())


def hits(classifier: nn.Module, loader: Loader) -> Tensor:
    """For each image in order, whether it is classified correctly: bool (N,)."""
    with measuring(classifier):
        return torch.cat([observe(classifier, batch.images, batch.labels)[0].cpu() for batch in loader.epoch()])


def observe(classifier: nn.Module, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each image of a batch: whether it is classified correctly, the confidence in [0, 1], the predicted class."""
    logits = _logits(classifier, images, labels)
    confidences, predicted = logits.float().softmax(dim=1).max(dim=1)
    return predicted == labels, confidences, predicted


@contextmanager
def measuring(classifier: nn.Module) -> Iterator[None]:
    """Eval mode without gradients; afterwards every submodule is in the mode that it was in."""
    modes = {module: module.training for module in classifier.modules()}
    classifier.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def _logits(classifier: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    try:
        logits = classifier(to_unit(images))
    except torch.OutOfMemoryError as error:
        raise InputError(f"{len(images)} images at once are too many for the memory; a smaller batch helps") from error
    except RuntimeError as error:  # what torch says of shapes that do not fit
        raise InputError(
            f"the classifier cannot take images of shape {tuple(images.shape)}: {' '.join(str(error).split())}"
        ) from error
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(images):
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise InputError(f"the classifier gave {shape} for {len(images)} images; wanted logits (images, classes)")
    largest = int(labels.max())
    if largest >= logits.shape[1]:
        raise InputError(f"label {largest} is out of range: the classifier tells {logits.shape[1]} classes apart")
    if not bool(torch.isfinite(logits).all()):
        raise InputError("the classifier gave logits that are not finite; it cannot be measured")
    return logits
