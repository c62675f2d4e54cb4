"""Defences: what a classifier's training step minimises. One file each; `DEFENCES` names them."""

from .consistency import Consistency
from .nominal import Nominal
from .objective import Objective, Outcome

DEFENCES = {"nominal": Nominal, "consistency": Consistency}

__all__ = ["DEFENCES", "Consistency", "Nominal", "Objective", "Outcome"]
