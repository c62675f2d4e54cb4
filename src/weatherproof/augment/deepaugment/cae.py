"""DeepAugment with the compressive autoencoder: one of 8 operations on the weights, one of 9 on the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ...networks.corruption import CAE
from ...networks.corruption.cae import drawn_bits
from ...networks.layout import channels_last_pays
from .cae_weights import OPERATIONS, WIDTH
from .draw import Draw, Weights
from .stages import through

BITS = 32  # channels of the published network's code, in which the reference counts
PERMUTED, MIRRORED = 10, 5


class DistortedCAE:
    """What DeepAugment does to a CAE. As in the reference, bits are drawn, +1 with probability (1 + z)/2."""

    def __init__(self, network: CAE) -> None:
        self.network = network
        self.share = int(network.state_dict()["e_conv_2.1.bias"].numel()) / WIDTH

    def change(self, weights: Weights, draw: Draw) -> None:
        """The operation on the weights."""
        draw.one_of(OPERATIONS)(weights, draw, self.share)

    def __call__(self, images: Tensor, weights: Sequence[Weights], draws: Sequence[Draw]) -> Tensor:
        """(B, 3, H, W) in [0, 1] to the same shape."""
        return self.network.framed(images, lambda framed: self._restore(framed, weights, draws))

    def _restore(self, images: Tensor, weights: Sequence[Weights], draws: Sequence[Draw]) -> Tensor:
        network = self.network
        if channels_last_pays(images):
            images = images.contiguous(memory_format=torch.channels_last)
        code = through(network.e_conv_3, "e_conv_3.", network.features(images), weights)
        bits = torch.stack([coded(code[row], draw) for row, draw in enumerate(draws)])
        if channels_last_pays(images):
            bits = bits.contiguous(memory_format=torch.channels_last)
        x = through(network.d_up_conv_1, "d_up_conv_1.", bits, weights)
        for number, block in enumerate((network.d_block_1, network.d_block_2, network.d_block_3), start=1):
            x = x + through(block, f"d_block_{number}.", x, weights)
        return network.rebuild(x)


def coded(z: Tensor, draw: Draw) -> Tensor:
    """The code (C, H, W) in [-1, 1] as what is decoded: distorted, and turned into bits of -1 and +1."""
    option = draw.below(1 + len(DISTORTIONS))
    if option > 0:
        z = DISTORTIONS[option - 1](z, draw)
    bits = drawn_bits(z, draw.uniform(z.shape).to(z)).to(z)
    if option > 0:
        return bits
    # Bits of 0 and 1 times 3 + 4 u U: u for all, U for each.
    return (bits + 1) * (3 + 4 * draw.number() * draw.uniform(z.shape).to(z)) - 1


def mask_places(z: Tensor, draw: Draw) -> Tensor:
    """Each place kept with probability .8, else 0, in all channels."""
    return z * draw.coins(z.shape[1:], 0.8).to(z)


def negate_places(z: Tensor, draw: Draw) -> Tensor:
    """Each place negated with probability .1, in all channels."""
    return z * draw.signs(z.shape[1:], 0.1).to(z)


def permute_channels(z: Tensor, draw: Draw) -> Tensor:
    """The first 10 of 32 channels in another order."""
    count = _scaled(PERMUTED, z)
    return z[[*draw.permutation(count), *range(count, len(z))]]


def mirror_some(z: Tensor, draw: Draw) -> Tensor:
    """5 draws of a channel, which is mirrored; twice is as before."""
    axes = _two_axes(draw)
    z = z.clone()
    for channel in draw.several(len(z), _scaled(MIRRORED, z)):
        z[channel] = z[channel].flip(axes)
    return z


def mirror_all(z: Tensor, draw: Draw) -> Tensor:
    """All channels mirrored."""
    return z.flip(tuple(1 + axis for axis in _two_axes(draw)))


def _two_axes(draw: Draw) -> tuple[int, ...]:
    """Two of batch, height and width. The reference's batch is one image, so flipping that does nothing."""
    return draw.one_of(((0, 1), (0,), (1,)))


def mix_channels(z: Tensor, draw: Draw) -> Tensor:
    """A 3x3 convolution: the identity plus U(-.1, .1) on all taps."""
    return _convolved(z, _identity(z) + 0.2 * (draw.uniform((len(z), len(z), 3, 3)) - 0.5))


def add_channels(z: Tensor, draw: Draw) -> Tensor:
    """To each channel, with probability 1/2, a channel shifted by up to one place is added. (Where that is the channel
    itself, not shifted, nothing is: the reference sets the tap to 1, which it is.)"""
    kernel = _identity(z)
    for channel in range(len(z)):
        if draw.happens(0.5):
            kernel[channel, draw.below(len(z)), draw.below(3), draw.below(3)] = 1
    return _convolved(z, kernel)


def shift_channels(z: Tensor, draw: Draw) -> Tensor:
    """Each channel shifted by up to one place, as the one before it, or with probability .2 by another draw."""
    kernel = torch.zeros(len(z), len(z), 3, 3)
    row, column = draw.several(3, 2)
    for channel in range(len(z)):
        if draw.happens(0.2):
            row, column = draw.several(3, 2)
        kernel[channel, channel, row, column] = 1
    return _convolved(z, kernel)


def _identity(z: Tensor) -> Tensor:
    kernel = torch.zeros(len(z), len(z), 3, 3)
    kernel[range(len(z)), range(len(z)), 1, 1] = 1
    return kernel


def _convolved(z: Tensor, kernel: Tensor) -> Tensor:
    return functional.conv2d(z[None], kernel.to(z), padding=1)[0]


def _scaled(count: int, z: Tensor) -> int:
    """`count` of 32 channels, as a count of the code's own."""
    return max(1, round(count * len(z) / BITS))


DISTORTIONS: tuple[Callable[[Tensor, Draw], Tensor], ...] = (
    mask_places, negate_places, permute_channels, mirror_some, mirror_all, mix_channels, add_channels, shift_channels,
)  # fmt: skip
"""Of the code before it becomes bits; that of the bits themselves is the ninth."""
