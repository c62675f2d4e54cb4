"""How well does an image classifier hold up against noise, blur, weather and lossy files, and better?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .adversaries import AdversarialAugment, SSIMGuard
    from .api import evaluate, pretrain, resume, train
    from .augment import AugMix, DeepAugment, Prime
    from .corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, GROUPS, corrupt
    from .data import open_data
    from .errors import InputError
    from .evaluation import Result, compare
    from .measures import psnr, ssim
    from .networks.classifiers import classifier
    from .networks.classifiers.saved import load_classifier
    from .networks.corruption.saved import corruption_network
    from .studies import study
    from .training import Recipe, Run, load_recipe

# Loaded when first asked for, so that importing the package costs next to nothing.
_HOMES = {
    "AdversarialAugment": "adversaries",
    "AugMix": "augment",
    "classifier": "networks.classifiers",
    "compare": "evaluation",
    "corrupt": "corruptions",
    "corruption_network": "networks.corruption.saved",
    "CORRUPTIONS": "corruptions",
    "DeepAugment": "augment",
    "evaluate": "api",
    "EXTRA_CORRUPTIONS": "corruptions",
    "GROUPS": "corruptions",
    "InputError": "errors",
    "load_classifier": "networks.classifiers.saved",
    "load_recipe": "training",
    "open_data": "data",
    "pretrain": "api",
    "Prime": "augment",
    "psnr": "measures",
    "Recipe": "training",
    "Result": "evaluation",
    "resume": "api",
    "Run": "training",
    "ssim": "measures",
    "SSIMGuard": "adversaries",
    "study": "studies",
    "train": "api",
}

__all__ = [
    "CORRUPTIONS", "EXTRA_CORRUPTIONS", "GROUPS", "AdversarialAugment", "AugMix", "DeepAugment", "InputError",
    "Prime", "Recipe", "Result", "Run", "SSIMGuard", "classifier", "compare", "corrupt", "corruption_network",
    "evaluate", "load_classifier", "load_recipe", "open_data", "pretrain", "psnr", "resume", "ssim", "study",
    "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'weatherproof' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
