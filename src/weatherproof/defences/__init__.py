"""Defences: what a classifier's training step minimises. One file each; `DEFENCES` names them."""

from .nominal import Nominal
from .objective import Objective, Outcome

DEFENCES = {"nominal": Nominal}

__all__ = ["DEFENCES", "Nominal", "Objective", "Outcome"]
