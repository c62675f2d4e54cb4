"""How a training runs: everything that is not data, network, augmentation or objective."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from ..errors import InputError


@dataclass(frozen=True)
class TrainingSettings:
    """An optimizer with a warm-up and a cosine.

    epochs: passes over the training images.
    batch_size: images per optimizer step.
    learning_rate: the peak; with `linear_scaling`, max(learning_rate x batch_size / 256, learning_rate) is.
    warmup_epochs: epochs in which the rate rises linearly from 0 to the peak; a cosine takes it to 0 by the end.
    optimizer: sgd, or adam with its usual averages (.9, .999).
    momentum, nesterov: of SGD. weight_decay acts on all parameters.
    accumulate: parts that a batch is sent through the network in, to save memory; BatchNorm sees one part at a time.
    ema: decay of an average of the weights, which is then validated and saved; none by default.
    precision: fp32, or mixed precision with bf16 or fp16 (CUDA only).
    channels_last: memory layout of images and weights, for networks that can be trained with it.
    compile: run the network through torch.compile.
    checkpoint_minutes: a run can be resumed from at most so long ago; every epoch ends with a checkpoint anyway.
    """

    epochs: int
    batch_size: int = 128
    learning_rate: float = 0.1
    linear_scaling: bool = False
    warmup_epochs: float = 0
    optimizer: Literal["sgd", "adam"] = "sgd"
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 5e-4
    accumulate: int = 1
    ema: float | None = None
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    channels_last: bool = True
    compile: bool = False
    checkpoint_minutes: float = 5

    def __post_init__(self) -> None:
        rules = {
            "epochs": (self.epochs >= 1, "at least 1"),
            "batch_size": (self.batch_size >= 1, "at least 1"),
            "learning_rate": (0 < self.learning_rate < math.inf, "above 0 and finite"),
            "warmup_epochs": (0 <= self.warmup_epochs <= self.epochs, "between 0 and epochs"),
            "momentum": (0 <= self.momentum < 1, "in [0, 1)"),
            "nesterov": (not self.nesterov or self.momentum > 0, "false where momentum is 0"),
            "weight_decay": (0 <= self.weight_decay < math.inf, "0 or more and finite"),
            "accumulate": (1 <= self.accumulate <= self.batch_size, "between 1 and batch_size"),
            "ema": (self.ema is None or 0 < self.ema < 1, "between 0 and 1, or null"),
            "checkpoint_minutes": (self.checkpoint_minutes >= 0, "0 or more"),
        }
        for name, (holds, wanted) in rules.items():
            if not holds:
                raise InputError(f"training.{name} must be {wanted}; got {getattr(self, name)}")

    @property
    def peak_learning_rate(self) -> float:
        """eff LR = max(LR x B/256, LR), the paper's linear scaling rule."""
        scaled = self.learning_rate * self.batch_size / 256
        return max(scaled, self.learning_rate) if self.linear_scaling else self.learning_rate

    def learning_rate_at(self, progress: float) -> float:
        """The rate after `progress` epochs, a number in [0, epochs]: linear up, then half a cosine down to 0."""
        if progress < self.warmup_epochs:
            return self.peak_learning_rate * progress / self.warmup_epochs
        fraction = (progress - self.warmup_epochs) / max(self.epochs - self.warmup_epochs, 1e-12)
        return self.peak_learning_rate * (1 + math.cos(math.pi * fraction)) / 2

    def build_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimizer, at the peak rate."""
        if self.optimizer == "adam":
            return torch.optim.Adam(parameters, lr=self.peak_learning_rate, weight_decay=self.weight_decay)
        return torch.optim.SGD(
            parameters,
            lr=self.peak_learning_rate,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
        )
