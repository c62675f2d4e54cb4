"""Adversaries: ``(classifier, images, labels) -> images``. A space, the one ascent, and perhaps a guard.

`ADVERSARIES` names them.
"""

from collections.abc import Callable

from .ada import AdversarialAugment
from .ascent import ascend
from .attack import Adversary, Attack
from .guard import Guarded, SSIMGuard
from .weights import WeightSpace

ADVERSARIES: dict[str, Callable[..., Adversary]] = {"ada": AdversarialAugment}

__all__ = [
    "ADVERSARIES", "AdversarialAugment", "Adversary", "Attack", "Guarded", "SSIMGuard", "WeightSpace", "ascend",
]  # fmt: skip
