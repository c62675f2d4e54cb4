"""Random smooth functions of colours, as PRIME uses them."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

from ...errors import InputError
from .primitive import Primitive, uniform_integers


class SmoothColour(Primitive):
    """Every channel of every image goes through a smooth function of its own that leaves black and white in place:

        z + sum over k = 1..c of a_k sin(pi k z),  a_k ~ N(0, T),  clipped to [0, 1]

    With a `band`, only that many modes from k = l on, l uniform on 1..c.

    Followed: c uniform on 1..cut and T uniform on [0, temperature], as the authors train (amplitudes do not fall with
    k). Departed from: they draw c, T and l once for a whole batch, here every image has its own. The function is
    tabulated at 1,021 places (more above 100 modes), exact where an image has 256 levels, and read linearly in between.
    """

    def __init__(self, cut: int = 100, temperature: float = 0.01, band: int | None = None) -> None:
        if cut < 1 or not 0 <= temperature < float("inf"):
            raise InputError(f"smooth colours want a cut-off of 1 or more and a temperature of 0 or more; "
                             f"got {cut} and {temperature}")  # fmt: skip
        if band is not None and band < 1:
            raise InputError(f"smooth colours want a band of 1 or more modes; got {band}")
        self.cut, self.temperature, self.band = cut, temperature, band

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> tuple[Tensor, ...]:
        """Amplitudes (B, C, cut), 0 where an image has no modes."""
        count, channels = shape[:2]
        cuts = uniform_integers(1, self.cut, count, generator)
        spread = (self.temperature * torch.rand(count, generator=generator)).sqrt()
        spreads = spread[:, None] * self._present(cuts, generator)
        return (torch.randn(count, channels, self.cut, generator=generator) * spreads[:, None],)

    def _present(self, cuts: Tensor, generator: torch.Generator) -> Tensor:
        """Which modes each image has, (B, cut)."""
        modes = torch.arange(1, self.cut + 1)
        present = modes <= cuts[:, None]
        if self.band is None:
            return present
        lowest = 1 + (torch.rand(len(cuts), generator=generator, dtype=torch.float64) * cuts).long()[:, None]
        return present & (modes >= lowest) & (modes < lowest + self.band)

    def apply(self, images: Tensor, *parameters: Tensor) -> Tensor:
        """The images in other colours."""
        (amplitudes,) = parameters
        count, channels, modes = amplitudes.shape
        table = tones(modes).to(images.device)
        table = torch.addmm(table[0], amplitudes.reshape(-1, modes), table[1:])
        steps = table.shape[1] - 1
        places = images.reshape(count * channels, -1).clamp(0, 1) * steps
        below = places.long().clamp_(max=steps - 1)
        lower = table.gather(1, below)
        upper = table.gather(1, below + 1)
        return lower.lerp_(upper, places - below).clamp_(0, 1).view(images.shape)


@lru_cache(maxsize=8)
def tones(modes: int) -> Tensor:
    """At all places of the table, the tone z itself, then sin(pi k z) for k = 1..modes: (1 + modes, steps + 1)."""
    steps = 255 * max(4, math.ceil(modes / 25))  # a multiple of 255: 256 levels meet entries of the table only
    z = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    waves = torch.sin(torch.pi * torch.arange(1, modes + 1)[:, None] * z)
    return torch.cat([z[None], waves]).float()
