"""Modules and objectives that recipes of tests name by class path."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weatherproof.defences import Nominal, Outcome


class PlainNet(nn.Module):
    """A classifier without BatchNorm, of another make than ours: it knows its classes and nothing of our parameters."""

    def __init__(self, features: int = 8) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, features, 3, stride=2)
        self.head = nn.Linear(features, 3)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(torch.relu(self.conv(images)).mean(dim=(2, 3)))
        return logits


class DropoutNet(PlainNet):
    """One that draws from torch's global generator in training."""

    def forward(self, images: Tensor) -> Tensor:
        hidden = torch.relu(self.conv(images)).mean(dim=(2, 3))
        logits: Tensor = self.head(torch.dropout(hidden, 0.5, self.training))
        return logits


class BreaksAt(Nominal):
    """Ordinary training whose loss is NaN in one step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step, self.steps = step, 0

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        outcome = super().__call__(model, images, labels)
        self.steps += 1
        return Outcome(outcome.loss * float("nan"), outcome.metrics) if self.steps == self.step else outcome
