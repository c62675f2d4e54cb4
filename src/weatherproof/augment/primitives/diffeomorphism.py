"""Random smooth displacements of maximum entropy (Petrini et al. 2021), as PRIME uses them."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from ...errors import InputError
from .primitive import Primitive, arcsine, uniform_integers


class Diffeomorphism(Primitive):
    """Every image is seen through a displacement of its own that keeps the border in place.

    With x and y in [0, 1] across the image, a displacement of cut-off c and temperature T is, in parts of the side,

        tau(x, y) = sqrt(T) * sum of a_ij sin(pi i x) sin(pi j y) / r,  r = sqrt(i^2 + j^2) < c + 1/2,  a_ij ~ N(0, 1)

    once for each direction. The typical one is sqrt(pi T log c) / 2 of the side, and T lies between two bounds: half a
    pixel, 1 / (pi n^2 log c), and where folds would begin, 4 / (pi^3 c^2 log c), or the first if that is the larger.

    Followed: the authors' law of c (the highest cut-off uniform on cuts[0] + 1..cuts[1], c an arcsine draw below it),
    an arcsine law of T between its bounds, bilinear reading, images continued by their border. Departed from: they draw
    c, T and the field once for a whole batch, here every image has its own; n, their side of a square, is here the
    shorter side.
    """

    def __init__(self, cuts: tuple[int, int] = (2, 100)) -> None:
        if not 2 <= cuts[0] < cuts[1]:
            raise InputError(f"diffeomorphisms want cut-offs of 2 or more, low before high; got {cuts}")
        self.cuts = cuts

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> tuple[Tensor, ...]:
        """Amplitudes of both directions (B, 2, rows, columns): of the modes that an image of this size can tell apart,
        with the temperature in them."""
        count, _, height, width = shape
        cuts, temperature = self.draw_law(count, min(height, width), generator)
        highest = int(cuts.max())
        spread = mode_spread(height, width, self.cuts[1])[cuts, :highest, :highest]
        normal = torch.randn(count, 2, *spread.shape[1:], generator=generator)
        return (normal * (spread * temperature.sqrt().float()[:, None, None])[:, None],)

    def draw_law(self, count: int, side: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Cut-offs (int64) and temperatures (float64) of `count` images whose shorter side has `side` pixels."""
        low = self.cuts[0]
        tops = uniform_integers(low + 1, self.cuts[1], count, generator)
        cuts = (low + arcsine(count, generator) * (tops + 1 - low)).long().minimum(tops)
        coldest, hottest = temperature_bounds(cuts, side)
        return cuts, coldest + (hottest - coldest) * arcsine(count, generator)

    def apply(self, images: Tensor, *parameters: Tensor) -> Tensor:
        """The displaced images."""
        (amplitudes,) = parameters
        grid = reading_places(amplitudes, *images.shape[2:])
        return functional.grid_sample(images, grid, padding_mode="border", align_corners=True)


def temperature_bounds(cuts: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """The lowest and the highest temperature for each cut-off, float64."""
    cut = cuts.double() + 1e-6  # as the authors have it
    lowest = 1 / (torch.pi * side**2 * cut.log())
    folding = 4 / (torch.pi**3 * cut.square() * cut.log())
    return lowest, folding.maximum(lowest)


def reading_places(amplitudes: Tensor, height: int, width: int) -> Tensor:
    """Where each pixel is read, (B, H, W, 2) as grid_sample wants it: -1 and 1 are the outermost pixels' centres."""
    count, _, rows, columns = amplitudes.shape
    across = sines(columns, width).to(amplitudes.device)
    down = sines(rows, height).to(amplitudes.device)
    # tau[y, x] = sum_ji sin(pi j y) a_ji sin(pi i x), the columns first: one product of matrices for the whole batch
    displacement = down.T @ (amplitudes.reshape(-1, columns) @ across).view(count, 2, rows, width)
    # A part of the side is `width` pixels, of which width - 1 lie between -1 and 1.
    scale = displacement.new_tensor([2 * width / max(width - 1, 1), 2 * height / max(height - 1, 1)])
    still = torch.stack(
        torch.meshgrid(
            torch.linspace(-1, 1, width, device=amplitudes.device),
            torch.linspace(-1, 1, height, device=amplitudes.device),
            indexing="xy",
        )
    )
    return (still - displacement * scale[:, None, None]).permute(0, 2, 3, 1)


@lru_cache(maxsize=32)
def sines(modes: int, size: int) -> Tensor:
    """sin(pi k x) for k = 1..modes at `size` pixels from 0 to 1: (modes, size)."""
    places = torch.linspace(0, 1, size, dtype=torch.float64)
    return torch.sin(torch.pi * torch.arange(1, modes + 1)[:, None] * places).float()


@lru_cache(maxsize=4)
def mode_spread(height: int, width: int, highest: int) -> Tensor:
    """The standard deviation of each distinguishable mode's amplitude for every cut-off: (highest + 1, rows, columns).

    On n pixels, mode k looks like mode 2 (n - 1) - k but for its sign, and mode n - 1 like nothing at all. Modes that
    look alike are drawn as one, with the sum of their variances 1 / r^2: the same law with fewer draws, 900 instead of
    up to 10,000 a field on 32 pixels.
    """
    modes = torch.arange(1, highest + 1, dtype=torch.float64)
    radius = (modes[:, None].square() + modes.square()).sqrt()
    down, across = _alike(height, highest), _alike(width, highest).T
    spread = torch.empty(highest + 1, len(down), across.shape[1])
    for cut in range(highest + 1):  # one by one: all at once would take gigabytes for photographs
        spread[cut] = (down @ torch.where(radius < cut + 0.5, radius.pow(-2), 0.0) @ across).sqrt()
    return spread


def _alike(size: int, highest: int) -> Tensor:
    """1 where mode k (columns) looks like the distinguishable mode (rows), float64."""
    distinct = min(highest, size - 2)
    folded = torch.arange(1, highest + 1) % (2 * (size - 1))
    folded = torch.minimum(folded, 2 * (size - 1) - folded)  # 0 and size - 1 vanish on all pixels
    return (folded == torch.arange(1, distinct + 1)[:, None]).double()
