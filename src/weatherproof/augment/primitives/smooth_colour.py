"""Random smooth functions of colours, as PRIME uses them."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from ...errors import InputError
from .primitive import Primitive, uniform_integers

STEPS = 4 * 255  # of the table: whatever has 256 levels meets entries only


class SmoothColour(Primitive):
    """Every channel of every image goes through a smooth function of its own that leaves black and white in place:

        z + sum over k = 1..c of a_k sin(pi k z),  a_k ~ N(0, T),  clipped to [0, 1]

    Followed: c uniform on 1..cut and T uniform on [0, temperature], as the authors train (amplitudes do not fall with
    k). Departed from: they draw c and T once for a whole batch, here every image has its own. The function is tabulated
    at 1,021 places, exact where an image has 256 levels, and read linearly in between.
    """

    def __init__(self, cut: int = 100, temperature: float = 0.01) -> None:
        if cut < 1 or not 0 <= temperature < float("inf"):
            raise InputError(f"smooth colours want a cut-off of 1 or more and a temperature of 0 or more; "
                             f"got {cut} and {temperature}")  # fmt: skip
        self.cut, self.temperature = cut, temperature

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> tuple[Tensor, ...]:
        """Amplitudes (B, C, cut), 0 above each image's cut-off."""
        count, channels = shape[:2]
        cuts = uniform_integers(1, self.cut, count, generator)
        spread = (self.temperature * torch.rand(count, generator=generator)).sqrt()
        spreads = spread[:, None] * (torch.arange(1, self.cut + 1) <= cuts[:, None])
        return (torch.randn(count, channels, self.cut, generator=generator) * spreads[:, None],)

    def apply(self, images: Tensor, *parameters: Tensor) -> Tensor:
        """The images in other colours."""
        (amplitudes,) = parameters
        count, channels, modes = amplitudes.shape
        table = tones(modes).to(images.device)
        table = torch.addmm(table[0], amplitudes.reshape(-1, modes), table[1:])
        places = images.reshape(count * channels, -1).clamp(0, 1) * STEPS
        below = places.long().clamp_(max=STEPS - 1)
        lower = table.gather(1, below)
        upper = table.gather(1, below + 1)
        return lower.lerp_(upper, places - below).clamp_(0, 1).view(images.shape)


@lru_cache(maxsize=8)
def tones(modes: int) -> Tensor:
    """At all places of the table, the tone z itself, then sin(pi k z) for k = 1..modes: (1 + modes, STEPS + 1)."""
    z = torch.linspace(0, 1, STEPS + 1, dtype=torch.float64)
    waves = torch.sin(torch.pi * torch.arange(1, modes + 1)[:, None] * z)
    return torch.cat([z[None], waves]).float()
