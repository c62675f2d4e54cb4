"""Random numbers for a batch of images, where each image has its own: whatever it is batched with, it gets the same.

A generator per image would need a loop over images. Instead the numbers are a function of (stream, counter), as in
SplitMix64 (Steele, Lea and Flood 2014): the j-th word of a stream is mix(key + j * GOLDEN), computed for all images at
once, on any device, from integers alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..randomness import seed_of

# SplitMix64's constants, as the signed integers that torch has.
GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
SECOND = 0x94D049BB133111EB - (1 << 64)


class Draws:
    """The random numbers of a batch; row i is a function of the seed, the words and ``numbers[i]`` alone.

    Each call gives new ones, of shape (len(numbers), *shape).
    """

    def __init__(self, seed: int, words: Sequence[str | int], numbers: Tensor) -> None:
        base = seed_of(seed, *words)
        self.device = numbers.device
        self._keys = _mixed(numbers.to(torch.int64) * GOLDEN + base)
        self._used = 0  # words of each stream so far

    def __len__(self) -> int:
        return len(self._keys)

    def words(self, *shape: int) -> Tensor:
        """int32, every value equally likely."""
        # A mixed number is two words of 32 bits.
        pairs = (math.prod(shape) + 1) // 2
        counters = torch.arange(self._used + 1, self._used + pairs + 1, device=self.device) * GOLDEN
        self._used += pairs
        flat = _mixed(self._keys[:, None] + counters).view(torch.int32)
        return flat[:, : math.prod(shape)].reshape(len(self._keys), *shape)

    def uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """float32 in [low, high), one of 2^24 values."""
        # 24 bits are what float32 holds exactly: the top ones of a word, signed, so that the range is [-1/2, 1/2).
        return (self.words(*shape) >> 8).float().mul_((high - low) * 2.0**-24).add_((low + high) / 2)

    def integers(self, low: int, high: int | Tensor, *shape: int) -> Tensor:
        """int64 in low..high-1; for ranges far below 2^31, where it does not matter that some numbers come up a little
        more often than others. A tensor says for each image where its range ends."""
        # floor(u (high - low)) with u in [0, 1) of 31 bits.
        words = self.words(*shape).bitwise_and_(0x7FFFFFFF).long()
        return (words.mul_(high - low) >> 31).add_(low)

    def normal(self, mean: float, std: float, *shape: int) -> Tensor:
        """float32 with a normal distribution, by Box and Muller's transform."""
        count = math.prod(shape)
        half = (count + 1) // 2
        bits = self.words(2, half)
        # r = sqrt(-2 ln u) with u in (0, 1], from 32 bits so that the tails reach 6.6 standard deviations.
        u = (bits[:, 0].double() + (2.0**31 + 0.5)).mul_(2.0**-32).float()
        radius = u.log_().mul_(-2).sqrt_().mul_(std)
        angle = (bits[:, 1] >> 8).float().mul_(2 * math.pi * 2.0**-24)
        both = torch.stack([angle.cos() * radius, angle.sin_().mul_(radius)], dim=1).add_(mean)
        return both.view(len(bits), 2 * half)[:, :count].reshape(len(bits), *shape)


def _mixed(state: Tensor) -> Tensor:
    """SplitMix64's mixing of int64 `state`, in place. Shifts of the algorithm are of unsigned numbers: hence masks."""
    for shift, factor in ((30, FIRST), (27, SECOND), (31, 1)):
        state ^= (state >> shift).bitwise_and_((1 << (64 - shift)) - 1)
        if factor != 1:
            state *= factor
    return state
