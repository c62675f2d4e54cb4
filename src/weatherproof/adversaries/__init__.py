"""Adversaries: ``(classifier, images, labels) -> images``. A space, the one ascent, and perhaps a guard.

`ADVERSARIES` names them.
"""

from collections.abc import Callable
from typing import Any

from .ada import AdversarialAugment, Attack
from .ascent import ascend
from .guard import Guarded, SSIMGuard
from .weights import WeightSpace

ADVERSARIES: dict[str, Callable[..., Any]] = {"ada": AdversarialAugment}

__all__ = ["ADVERSARIES", "AdversarialAugment", "Attack", "Guarded", "SSIMGuard", "WeightSpace", "ascend"]
