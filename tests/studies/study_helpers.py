"""Objectives that studies of tests name by class path."""

from __future__ import annotations

import os
import signal

from torch import Tensor, nn

from weatherproof.defences import Outcome


class Crashes:
    """A programming error in the first step."""

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        return Outcome(model(images).sum() / (1 // (len(images) - len(images))), {})


class KillsItself:
    """What happens when memory runs out."""

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError
