"""Defences: what a classifier's training step minimises. One file each; `DEFENCES` names them."""

from .noisymix import NoisyMix
from .nominal import Nominal
from .objective import Objective, Outcome

DEFENCES = {"nominal": Nominal, "noisymix": NoisyMix}

__all__ = ["DEFENCES", "NoisyMix", "Nominal", "Objective", "Outcome"]
