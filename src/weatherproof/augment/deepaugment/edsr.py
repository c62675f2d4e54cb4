"""DeepAugment with EDSR: 3 of 17 operations on the weights, one distortion before the body and one within it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...networks.corruption import EDSR
from ...networks.layout import channels_last_pays
from .draw import Draw, Weights
from .edsr_weights import AT_ONCE, BLOCKS, FEATURES, OPERATIONS, Convolutions
from .stages import through

COPIES = 5  # of channels
SPLIT = 5  # blocks before the distortion within the body
SKIPS = 3  # draws of a module to leave out


class DistortedEDSR:
    """What DeepAugment does to an EDSR; features are counted as in EDSR-baseline, and scaled to the network's own."""

    def __init__(self, network: EDSR) -> None:
        self.network = network
        self.modules: list[nn.Module] = list(network.body)
        self.blocks = len(self.modules) - 1
        self.where = Convolutions(self.blocks)

    def change(self, weights: Weights, draw: Draw) -> None:
        """The operations on the weights, drawn with replacement, one after the other."""
        for number in draw.several(len(OPERATIONS), AT_ONCE):
            OPERATIONS[number](weights, draw, self.where)

    def __call__(self, images: Tensor, weights: Sequence[Weights], draws: Sequence[Draw]) -> Tensor:
        """(B, 3, H, W) in [0, 1] to the same shape, near [0, 1] or not."""
        return self.network.framed(images, lambda framed: self._restore(framed, weights, draws))

    def _restore(self, images: Tensor, weights: Sequence[Weights], draws: Sequence[Draw]) -> Tensor:
        if channels_last_pays(images):
            images = images.contiguous(memory_format=torch.channels_last)
        x = self.network.features(images)
        for row, draw in enumerate(draws):
            x[row] = before_body(x[row], draw)
        return self.network.rebuild(x + self._body(x, weights, [way_through(self.blocks, draw) for draw in draws]))

    def _body(self, x: Tensor, weights: Sequence[Weights], ways: Sequence[Way]) -> Tensor:
        result = torch.empty_like(x)
        whole = [row for row, way in enumerate(ways) if way.only is None]
        if whole:
            result[whole] = self._whole_body(x[whole], [weights[row] for row in whole], [ways[row] for row in whole])
        for number in sorted({way.only for way in ways if way.only is not None}):
            rows = [row for row, way in enumerate(ways) if way.only == number]
            result[rows] = self._module(number, x[rows], [weights[row] for row in rows])
        return result

    def _whole_body(self, x: Tensor, weights: Sequence[Weights], ways: Sequence[Way]) -> Tensor:
        split = scaled(SPLIT, self.blocks, BLOCKS)
        for number in range(len(self.modules)):
            x = self._module(number, x, weights)
            if number + 1 == split:
                for row, way in enumerate(ways):
                    if way.within is not None:
                        x[row] = way.within(x[row])
        return x

    def _module(self, number: int, x: Tensor, weights: Sequence[Weights]) -> Tensor:
        return through(self.modules[number], f"body.{number}.", x, weights)


def before_body(x: Tensor, draw: Draw) -> Tensor:
    """One of four distortions of the head's output (C, H, W): channels that take the place of others, activations set
    to 0 (one in 20), activations negated (one in 40), or none."""
    option = draw.below(4)
    if option == 0:
        x = x.clone()
        for _ in range(scaled(COPIES, len(x), FEATURES)):
            # The reference means to swap two channels, but assigns views of one memory: the second one stays.
            target, source = draw.several(len(x), 2)
            x[target] = x[source]
        return x
    if option == 1:
        return x * draw.coins(x.shape, 0.95).to(x)
    if option == 2:
        return x * draw.signs(x.shape, 0.025).to(x)
    return x


@dataclass(frozen=True)
class Way:
    """How an image goes through the body: with something done to (C, H, W) on the way, or through one module only."""

    within: Callable[[Tensor], Tensor] | None = None
    only: int | None = None


def way_through(blocks: int, draw: Draw) -> Way:
    """One of five ways, equally likely: negated, rectified, mirrored with its channels, cut short, or as it is."""
    option = draw.below(5)
    if option == 0:
        return Way(torch.neg)
    if option == 1:
        return Way(functional.relu if draw.below(3) == 1 else functional.gelu)
    if option == 2:
        axis = 1 if draw.below(3) == 1 else 2
        return Way(lambda x: x.flip((0, axis)))
    if option == 3:
        # The reference means to leave modules 2 .. 16 out, but hands x to each one that stays, instead of what the one
        # before it made: only the last that stays counts.
        skipped = {2 + number for number in draw.several(BLOCKS - 1, SKIPS)}
        last = max(set(range(BLOCKS + 1)) - skipped)
        return Way(only=blocks if last == BLOCKS else last * blocks // BLOCKS)
    return Way()


def scaled(count: int, size: int, reference: int) -> int:
    """`count` of `reference`, as a count of `size`; at least 1."""
    return max(1, round(count * size / reference))
