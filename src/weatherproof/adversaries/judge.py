"""The loss that an adversary climbs: a classifier, the labels of a batch, and how wrong it is about them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError
from .ascent import Objective

Loss = Callable[[Tensor, Tensor], Tensor]
"""Logits (B, classes) and labels (B,) to the loss of each example, (B,)."""


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Of each example, (B,)."""
    return functional.cross_entropy(logits, labels, reduction="none")


class Judge:
    """A classifier and the labels of a batch: the loss of images that stand for some of its examples."""

    def __init__(self, classifier: nn.Module, labels: Tensor, loss: Loss) -> None:
        self.classifier, self.labels, self.loss = classifier, labels, loss
        self.highest = int(labels.max()) if len(labels) else -1
        self.dtype = next((p.dtype for p in classifier.parameters() if p.is_floating_point()), None)

    def losses_of(self, part: Tensor) -> Objective:
        """The objective of the examples at these positions."""
        return lambda images: self._judge(images, self.labels[part])[0]

    def verdicts(self, images: Tensor, at_once: int) -> tuple[Tensor, Tensor]:
        """Loss of each example, and whether the classifier is wrong about it: for the whole batch."""
        pairs = zip(torch.split(images, at_once), torch.split(self.labels, at_once), strict=True)
        losses, wrong = zip(*(self._judge(*pair) for pair in pairs), strict=True)
        return torch.cat(losses), torch.cat(wrong)

    def _judge(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.classifier(images if self.dtype is None else images.to(self.dtype))
        if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(images):
            came = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise InputError(f"a classifier gives logits ({len(images)}, classes); got {came}")
        if self.highest >= logits.shape[1]:
            raise InputError(f"label {self.highest} is out of range for {logits.shape[1]} classes")
        losses = self.loss(logits.to(torch.promote_types(logits.dtype, torch.float32)), labels)
        if losses.shape != labels.shape:
            raise InputError(f"a loss gives one number per example, ({len(labels)},); got {tuple(losses.shape)}")
        return losses, logits.detach().argmax(dim=1) != labels
