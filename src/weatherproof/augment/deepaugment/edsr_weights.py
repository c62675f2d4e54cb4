"""DeepAugment's 17 operations on the weights of EDSR, each with what the reference code does, quirks included.

Hendrycks et al. 2021. Blocks are counted as in EDSR-baseline, 0 to 15; in a network of D blocks, block i is i D // 16,
and what is counted in 64 features is scaled alike. W0 and b0 belong to the first convolution of a block, W2 and b2 to
the second one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from .draw import Draw, Weights

BLOCKS, FEATURES = 16, 64  # of EDSR-baseline, in which the reference counts
EVERY_THIRD, MIDDLE, EVERY_FOURTH = (0, 3, 6, 9), (1, 4, 7), (1, 5, 9)
CROSS = ((0.0, 1.0, 0.0), (1.0, -4.0, 1.0), (0.0, 1.0, 0.0))
RING = ((-1.0, -1.0, -1.0), (-1.0, 8.0, -1.0), (-1.0, -1.0, -1.0))


class Convolutions:
    """Where the convolutions of an EDSR with `blocks` blocks are."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks

    def name(self, block: int, convolution: int) -> str:
        """What the names of a convolution's tensors begin with; `block` counts as in the reference."""
        return f"body.{block * self.blocks // BLOCKS}.body.{convolution}."

    def any_block(self, draw: Draw) -> int:
        """One of the blocks that the reference draws from, which leaves out the last one."""
        return draw.below(BLOCKS - 1)


Operation = Callable[[Weights, Draw, Convolutions], None]


def flip_outputs(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """Both convolutions give their channels in reverse."""
    block = draw.one_of(EVERY_THIRD)
    for convolution in (0, 2):
        for kind in ("weight", "bias"):
            key = where.name(block, convolution) + kind
            weights[key] = weights[key].flip(0)


def negate(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W0 and b0 to their negatives."""
    name = where.name(draw.one_of(MIDDLE), 0)
    weights[name + "weight"], weights[name + "bias"] = -weights[name + "weight"], -weights[name + "bias"]


def zero(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W0 and b0 to 0."""
    name = where.name(draw.one_of(EVERY_THIRD), 0)
    for kind in ("weight", "bias"):
        weights[name + kind] = torch.zeros_like(weights[name + kind])


def negative_gelu(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W0 to -gelu(W0), W2 to -gelu(W2)."""
    block = draw.one_of(EVERY_THIRD)
    for convolution in (0, 2):
        key = where.name(block, convolution) + "weight"
        weights[key] = -functional.gelu(weights[key])


def times_cross(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """The 3x3 taps of each kernel of W0 times a Laplacian's."""
    _times(weights, draw, where, CROSS)


def times_ring(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """The 3x3 taps of each kernel of W0 times those of the Laplacian with corners."""
    _times(weights, draw, where, RING)


def _times(weights: Weights, draw: Draw, where: Convolutions, taps: tuple[tuple[float, ...], ...]) -> None:
    key = where.name(draw.one_of(EVERY_THIRD), 0) + "weight"
    weights[key] = weights[key] * torch.tensor(taps)


def rescale(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W2 times 1 + 4 u U: u for all, U for each weight. (The reference means U - 1, but subtracts from the argument of
    rand_like, where only the shape matters.)"""
    key = where.name(draw.one_of(EVERY_THIRD), 2) + "weight"
    weights[key] = weights[key] * (1 + 4 * draw.number() * draw.uniform(weights[key].shape))


def mirror_and_negate(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """Each kernel of W0 mirrored left to right; W2 to its negative."""
    block = draw.one_of(EVERY_THIRD)
    first, second = where.name(block, 0) + "weight", where.name(block, 2) + "weight"
    weights[first], weights[second] = weights[first].flip(-1), -weights[second]


def shift_kernels(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W0 convolved with z, as if it were a batch of images: for each j, z[:, j] is a single tap of random sign."""
    key = where.name(draw.one_of(EVERY_FOURTH), 0) + "weight"
    count = weights[key].shape[0]
    rows, columns, signs = draw.several(3, count), draw.several(3, count), draw.signs((count,))
    z = torch.zeros(weights[key].shape)
    z[:, torch.arange(count), rows, columns] = signs
    weights[key] = _convolved(weights[key], z)


def blur_kernels(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W0 convolved with z = (2 u U - 1) / 6."""
    key = where.name(draw.one_of(EVERY_THIRD), 0) + "weight"
    u = draw.number()
    weights[key] = _convolved(weights[key], (2 * u * draw.uniform(weights[key].shape) - 1) / 6)


def average_kernels(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W2 convolved with kernels from a Dirichlet distribution, of concentration .1, over their nine taps."""
    key = where.name(draw.one_of(EVERY_FOURTH), 2) + "weight"
    z = draw.dirichlet(0.1, weights[key].shape[:2], 9)
    weights[key] = _convolved(weights[key], z.view(weights[key].shape))


def _convolved(weight: Tensor, kernel: Tensor) -> Tensor:
    return functional.conv2d(weight, kernel.to(weight.dtype), padding=1)


def add_noise(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """W2 plus U(-1/2, 1/2)."""
    key = where.name(where.any_block(draw), 2) + "weight"
    weights[key] = weights[key] + (draw.uniform(weights[key].shape) - 0.5)


def turn(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """Five convolutions turned by 90, 180 or 270 degrees: their kernels, or the matrix of outputs and inputs."""
    for _ in range(5):
        key = where.name(where.any_block(draw), draw.one_of((0, 2))) + "weight"
        times = 1 + draw.below(3)
        weights[key] = torch.rot90(weights[key], times, draw.one_of(((2, 3), (0, 1))))


def random_signs(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """Five times, each weight of a W0 negated or not."""
    for _ in range(5):
        key = where.name(where.any_block(draw), 0) + "weight"
        weights[key] = weights[key] * draw.signs(weights[key].shape)


def random_mask(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """Five times, each weight of a W0 kept or set to 0."""
    for _ in range(5):
        key = where.name(where.any_block(draw), 0) + "weight"
        weights[key] = weights[key] * draw.coins(weights[key].shape)


def negate_filters(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """Five times, half as many draws as a W0 has filters, and those that came up negated. (One that came up twice is
    negated once, since the reference assigns by index.)"""
    for _ in range(5):
        key = where.name(where.any_block(draw), 0) + "weight"
        count = weights[key].shape[0]
        signs = torch.ones(count, 1, 1, 1)
        signs[draw.several(count, count // 2)] = -1
        weights[key] = weights[key] * signs


def keep_largest(weights: Weights, draw: Draw, where: Convolutions) -> None:
    """Five times, each kernel of a convolution keeps its largest tap."""
    for _ in range(5):
        key = where.name(where.any_block(draw), draw.one_of((0, 2))) + "weight"
        weights[key] = largest_taps(weights[key])


def largest_taps(weight: Tensor) -> Tensor:
    """Kernels (O, I, H, W), each with its largest tap and zeros."""
    taps = weight.flatten(2)
    best = taps.argmax(dim=2, keepdim=True)
    return torch.zeros_like(taps).scatter(2, best, taps.gather(2, best)).view_as(weight)


OPERATIONS: tuple[Operation, ...] = (
    flip_outputs, negate, zero, negative_gelu, times_cross, times_ring, rescale, mirror_and_negate, shift_kernels,
    blur_kernels, average_kernels, add_noise, turn, random_signs, random_mask, negate_filters, keep_largest,
)  # fmt: skip
AT_ONCE = 3  # operations, one after the other; drawn with replacement
