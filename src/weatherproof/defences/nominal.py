"""Ordinary training: the cross-entropy of the labels."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError
from .objective import Outcome


class Nominal:
    """Mean cross-entropy, with optional label smoothing in [0, 1)."""

    def __init__(self, label_smoothing: float = 0.0) -> None:
        if not 0 <= label_smoothing < 1:
            raise InputError(f"label smoothing lies in [0, 1); got {label_smoothing}")
        self.label_smoothing = label_smoothing

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        logits = model(images)
        loss = functional.cross_entropy(logits, labels, label_smoothing=self.label_smoothing)
        return Outcome(loss, {"accuracy": (logits.detach().argmax(dim=1) == labels).float().mean()})
