"""Classifiers: modules from float images in [0, 1], NCHW, to logits, with their normalisation inside.

A new one is a function that returns a module, entered below. Its parameters `classes`, `channels`, `mean` and `std`
are filled in from the data set where a recipe leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from ...errors import InputError, did_you_mean
from ...specs import construct
from .preact_resnet import preact_resnet18, preact_resnet50, resnet_small, wide_resnet_28_10, wide_resnet_40_2
from .resnet import resnet18, resnet50

CLASSIFIERS: dict[str, Callable[..., nn.Module]] = {
    "resnet_small": resnet_small,
    "preact_resnet18": preact_resnet18,
    "preact_resnet50": preact_resnet50,
    "wide_resnet_40_2": wide_resnet_40_2,
    "wide_resnet_28_10": wide_resnet_28_10,
    "resnet18": resnet18,
    "resnet50": resnet50,
}


def classifier(name: str, **options: Any) -> nn.Module:
    """A new, untrained classifier by name, e.g. ``classifier("preact_resnet50", classes=10)``.

    Options: `classes`, `channels` (1 or 3), `mean` and `std` per channel (default 0.5 each), and what the named
    function takes besides.
    """
    if name not in CLASSIFIERS:
        raise InputError(f"there is no classifier '{name}'{did_you_mean(name, CLASSIFIERS)}")
    module: nn.Module = construct(CLASSIFIERS[name], options, f"classifier {name}")
    return module
