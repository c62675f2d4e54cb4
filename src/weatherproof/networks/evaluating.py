"""Running a network that is somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(network: nn.Module, seed: int | None = None) -> Iterator[None]:
    """`network` in evaluation mode, without gradients; afterwards its modes and the CPU's random numbers are as they
    were. What it draws all the same, it draws from `seed`."""
    modes = [(module, module.training) for module in network.modules()]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.default_generator.manual_seed(seed)
            network.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training
