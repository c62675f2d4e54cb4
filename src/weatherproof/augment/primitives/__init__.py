"""The three primitives of PRIME: what a chain is made of. Each one draws parameters per image and applies them all at
once."""

from .diffeomorphism import Diffeomorphism
from .filters import RandomFilter
from .primitive import Primitive
from .smooth_colour import SmoothColour

PRIMITIVES: dict[str, type[Primitive]] = {
    "diffeomorphism": Diffeomorphism,
    "colour": SmoothColour,
    "filter": RandomFilter,
}

__all__ = ["PRIMITIVES", "Diffeomorphism", "Primitive", "RandomFilter", "SmoothColour"]
