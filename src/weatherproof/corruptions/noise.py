"""Noise that treats every value alone: Gaussian, shot, impulse and speckle noise.

On 8-bit images such noise is a table: the probability of each of 256 bytes, for each of 256 bytes that it can replace.
So nothing is drawn from a normal or a Poisson distribution; one random word per value picks from its row of the table,
which is the distribution of the published procedure exactly, truncation to bytes included.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor
from torch.special import ndtr

from .draws import Draws

BYTES = torch.arange(256, dtype=torch.float64)


def gaussian_noise(pixels: Tensor, sigma: float, draws: Draws) -> Tensor:
    """x + N(0, sigma) for values x in [0, 1]."""
    return _noisy(pixels, "gaussian", sigma, draws)


def speckle_noise(pixels: Tensor, sigma: float, draws: Draws) -> Tensor:
    """x + x N(0, sigma)."""
    return _noisy(pixels, "speckle", sigma, draws)


def shot_noise(pixels: Tensor, photons: float, draws: Draws) -> Tensor:
    """Poisson(x photons) / photons."""
    return _noisy(pixels, "shot", photons, draws)


def impulse_noise(pixels: Tensor, share: float, draws: Draws) -> Tensor:
    """A share of the values becomes 0 or 1, either with the same probability; channels are values of their own."""
    return _noisy(pixels, "impulse", share, draws)


def _noisy(pixels: Tensor, kind: str, amount: float, draws: Draws) -> Tensor:
    """Replace each byte by one drawn from its row of the table, by Walker's alias method.

    A word's low 8 bits choose a column j, its high 24 bits are a fraction: below the column's threshold the answer
    is j, otherwise the column's alias.
    """
    words = draws.words(*pixels.shape[1:])
    table = _alias_table(kind, float(amount), pixels.device)
    column = words & 255
    entry = table.index_select(0, (pixels.int() * 256).add_(column).view(-1)).view(pixels.shape)
    kept = (words >> 8).lt(entry >> 8).view(torch.uint8)
    alias = entry.bitwise_and_(255).to(torch.uint8)
    # kept is 0 or 1: alias + kept * (column - alias), where bytes wrap around.
    return column.to(torch.uint8).sub_(alias).mul_(kept).add_(alias)


@functools.lru_cache(maxsize=64)
def _alias_table(kind: str, amount: float, device: torch.device) -> Tensor:
    """int32 (65536,): for byte v and column j, entry 256 v + j holds the threshold (24 bits, signed) and the alias."""
    probabilities = {
        "gaussian": lambda: _normal(amount * torch.ones(256, dtype=torch.float64)),
        "speckle": lambda: _normal(amount * BYTES / 255),
        "shot": lambda: _poisson(amount),
        "impulse": lambda: _impulses(amount),
    }[kind]()
    return _aliases(probabilities).to(device)


def _normal(sigma: Tensor) -> Tensor:
    """P(byte | v) of v/255 + N(0, sigma_v), clipped to [0, 1] and truncated: (256, 256)."""
    # A byte k < 255 comes from [k/255, (k+1)/255); what lies below 0 becomes 0, what reaches 1 becomes 255.
    distance = BYTES[None, 1:] / 255 - BYTES[:, None] / 255
    below = ndtr(distance / sigma[:, None].clamp_min(1e-12))
    below[sigma == 0] = (BYTES[None, 1:] > BYTES[:, None]).double()[sigma == 0]
    zero, one = torch.zeros(256, 1, dtype=torch.float64), torch.ones(256, 1, dtype=torch.float64)
    return torch.cat([zero, below, one], dim=1).diff(dim=1)


def _poisson(photons: float) -> Tensor:
    """P(byte | v) of Poisson(v/255 photons) / photons, clipped to 1 and truncated: (256, 256)."""
    rate = BYTES[:, None] / 255 * photons
    counts = torch.arange(int(photons + 12 * math.sqrt(photons) + 30), dtype=torch.float64)
    mass = torch.exp(torch.xlogy(counts, rate) - rate - torch.lgamma(counts + 1))
    values = (counts / photons).clamp_max(1).mul(255).long()
    return torch.zeros(256, 256, dtype=torch.float64).index_add_(1, values, mass)


def _impulses(share: float) -> Tensor:
    """P(byte | v) where a share turns to 0 or 255, half each: (256, 256)."""
    chances = (1 - share) * torch.eye(256, dtype=torch.float64)
    chances[:, 0] += share / 2
    chances[:, 255] += share / 2
    return chances


def _aliases(probabilities: Tensor) -> Tensor:
    """Walker's tables for each row of (256, 256): the smallest column left is filled up by the largest, until all are
    done."""
    rows = torch.arange(256)
    mass = probabilities / probabilities.sum(dim=1, keepdim=True) * 256  # of each column; 1 on average
    threshold, alias = torch.ones_like(mass), rows.repeat(256, 1)
    low, high = mass.clone(), mass.clone()  # columns that are done are out of the way in both
    for _ in range(255):
        smallest, largest = low.argmin(dim=1), high.argmax(dim=1)
        filled = low[rows, smallest]
        threshold[rows, smallest], alias[rows, smallest] = filled.clamp(0, 1), largest
        low[rows, smallest], high[rows, smallest] = math.inf, -math.inf
        rest = high[rows, largest] - (1 - filled)
        low[rows, largest], high[rows, largest] = rest, rest
    # A threshold of 1 has no 24-bit form; one below it is as good, since the alias is then the column itself.
    own = threshold >= 1
    alias[own] = rows.repeat(256, 1)[own]
    bits = (threshold * 2**24).round().long().clamp(0, 2**24 - 1) - 2**23
    return ((bits << 8) | alias).to(torch.int32).view(-1)
