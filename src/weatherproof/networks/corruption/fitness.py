"""Whether a module can serve as a corruption network."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...images import SLACK
from ..evaluating import evaluating


def refuse_misfit(network: nn.Module, images: Tensor) -> None:
    """Refuse a module that changes the size of `images` (float NCHW in [0, 1]), leaves [0, 1] or is not finite.

    Tries the first two images, in evaluation mode, and leaves the module as it was.
    """
    name = type(network).__name__
    try:
        with evaluating(network):
            output = network(images[:2])
    except Exception as error:  # whatever a stranger's module raises
        raise InputError(f"{name} cannot take images of shape {tuple(images.shape)}: {error}") from error
    wanted = tuple(images[:2].shape)
    if not isinstance(output, Tensor) or tuple(output.shape) != wanted:
        came = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise InputError(f"{name} gives {came} for images of shape {wanted}; a corruption network keeps the shape")
    refuse_values(name, output)


def refuse_values(name: str, output: Tensor) -> None:
    """Refuse what a network called `name` made of ordinary images, where it is not finite or leaves [0, 1]."""
    if output.numel() == 0:
        return
    low, high = (float(bound) for bound in torch.aminmax(output))
    if not math.isfinite(low + high):
        kind = "NaN" if math.isnan(low) else "infinity"
        raise InputError(f"{name} gives {kind} for ordinary images; it cannot be a corruption network")
    if low < -SLACK or high > 1 + SLACK:
        raise InputError(f"{name} gives values from {low:.4g} to {high:.4g}; a corruption network stays in [0, 1]")
