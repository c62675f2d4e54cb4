"""An adversary leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def untouched(
    classifier: nn.Module, networks: Sequence[nn.Module], training: bool, device: torch.device, seed: int
) -> Iterator[None]:
    """The classifier in training or evaluation mode, networks in evaluation mode, gradients on; afterwards modes,
    buffers and random generators are as they were, also when an exception flies.

    Parameters need no care: gradients are asked for the point alone, and nobody touches `requires_grad`.
    """
    modes = [(module, module.training) for root in (classifier, *networks) for module in root.modules()]
    # In evaluation mode BatchNorm does not write.
    buffers = [(buffer, buffer.clone()) for buffer in classifier.buffers()] if training else []
    cuda = [device] if device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices=cuda), torch.inference_mode(False), torch.enable_grad():
            torch.default_generator.manual_seed(seed)  # for dropout, and networks that draw
            if cuda:
                torch.cuda.manual_seed(seed)
            classifier.train(training)
            for network in networks:
                network.eval()
            yield
    finally:
        for module, mode in modes:
            module.training = mode
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        # Autocast keeps the weights that it casts. Those cast here may have been cast without a gradient, and the
        # caller's training step would then have none.
        if torch.is_autocast_enabled(device.type):
            torch.clear_autocast_cache()
