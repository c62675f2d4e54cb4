"""Defences: what a classifier's training step minimises. One file each; `DEFENCES` names them."""

from .consistency import Consistency
from .noisymix import NoisyMix
from .nominal import Nominal
from .objective import Objective, Outcome

DEFENCES = {"nominal": Nominal, "consistency": Consistency, "noisymix": NoisyMix}

__all__ = ["DEFENCES", "Consistency", "NoisyMix", "Nominal", "Objective", "Outcome"]
