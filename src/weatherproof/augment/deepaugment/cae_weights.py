"""DeepAugment's operations on the weights of the compressive autoencoder: the 8 that the reference draws from.

A ninth, which keeps the largest tap of each kernel, is in its code but is never drawn. Layers are counted as there, in
the order in which an image meets them: 8 makes the code, 9 and 10 enlarge it, 11 to 16 are the decoder's blocks. Rows
belong to the first dimension of a weight, which for layer 10, a transposed convolution, counts its inputs; its bias of
another length is taken by the same numbers all the same.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from .draw import Draw, Weights

LAYERS = {
    8: "e_conv_3.0.", 9: "d_up_conv_1.0.", 10: "d_up_conv_1.3.", 11: "d_block_1.1.", 12: "d_block_1.4.",
    13: "d_block_2.1.", 14: "d_block_2.4.", 15: "d_block_3.1.",
}  # fmt: skip
MOST, BLOCK_LAYERS, LATER = range(8, 14), range(11, 16), range(10, 14)
WIDTH = 128  # of the published network, in which the reference counts rows

Operation = Callable[[Weights, Draw, float], None]
"""Changes one image's weights; the last argument is the network's width as a share of the published one's."""


def flip_outputs(weights: Weights, draw: Draw, share: float) -> None:
    """A layer gives its channels in reverse. (The reference does it to a second layer as well, but takes its weight
    for its bias, so that it is flipped back.)"""
    name = LAYERS[draw.one_of(BLOCK_LAYERS)]
    for kind in ("weight", "bias"):
        weights[name + kind] = weights[name + kind].flip(0)


def negate_rows(weights: Weights, draw: Draw, share: float) -> None:
    """12 draws of a row, which is negated with its bias; twice is as before."""
    _rows(weights, draw, share, 12, torch.neg)


def zero_rows(weights: Weights, draw: Draw, share: float) -> None:
    """25 draws of a row, which is set to 0 with its bias."""
    _rows(weights, draw, share, 25, torch.zeros_like)


def negative_gelu_rows(weights: Weights, draw: Draw, share: float) -> None:
    """25 draws of a row, which becomes -gelu of it, as does its bias; twice is done twice."""
    _rows(weights, draw, share, 25, lambda values: -functional.gelu(values), LATER)


def _rows(
    weights: Weights, draw: Draw, share: float, count: int, change: Callable[[Tensor], Tensor], layers: range = MOST
) -> None:
    name = LAYERS[draw.one_of(layers)]
    for kind in ("weight", "bias"):
        weights[name + kind] = weights[name + kind].clone()
    for row in draw.several(len(weights[name + "weight"]), max(1, round(count * share))):
        for kind in ("weight", "bias"):
            if row < len(weights[name + kind]):
                weights[name + kind][row] = change(weights[name + kind][row])


def rescale(weights: Weights, draw: Draw, share: float) -> None:
    """The weights of two layers, perhaps the same, times 1 + 8 u U: u for all, U for each."""
    for layer in (draw.one_of(MOST), draw.one_of(MOST)):
        key = LAYERS[layer] + "weight"
        weights[key] = weights[key] * (1 + 8 * draw.number() * draw.uniform(weights[key].shape))


def random_mask(weights: Weights, draw: Draw, share: float) -> None:
    """Half of the weights of a layer set to 0, or negated."""
    key = LAYERS[draw.one_of(MOST)] + "weight"
    shape = weights[key].shape
    weights[key] = weights[key] * (draw.coins(shape) if draw.happens(0.5) else draw.signs(shape))


def turn(weights: Weights, draw: Draw, share: float) -> None:
    """The kernels of a layer turned by 90, 180 or 270 degrees."""
    key = LAYERS[draw.one_of(MOST)] + "weight"
    weights[key] = torch.rot90(weights[key], 1 + draw.below(3), (2, 3))


def negate_filters(weights: Weights, draw: Draw, share: float) -> None:
    """A fifth as many draws as a layer has rows, and those that came up negated once, without their bias."""
    key = LAYERS[draw.one_of(MOST)] + "weight"
    count = len(weights[key])
    signs = torch.ones(count, 1, 1, 1)
    signs[draw.several(count, max(1, count // 5))] = -1
    weights[key] = weights[key] * signs


OPERATIONS: tuple[Operation, ...] = (
    flip_outputs, negate_rows, zero_rows, negative_gelu_rows, rescale, random_mask, turn, negate_filters,
)  # fmt: skip
