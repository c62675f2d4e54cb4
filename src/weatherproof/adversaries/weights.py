"""The space of AdA: weights of a corruption network, perturbed for each example on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..networks.layout import channels_last_pays
from ..networks.per_example import Blocks, corrupt_one, each, perturbed_blocks
from .ascent import Point, norms


@dataclass(frozen=True)
class Piece:
    """One parameter of a network within a block: its name, its value phi, and its length in the block's vector."""

    name: str
    phi: Tensor

    @property
    def size(self) -> int:
        return self.phi.numel()

    def shaped(self, vectors: Tensor) -> Tensor:
        """(B, size) as (B, *shape), a view."""
        shape = self.phi.shape
        if self.phi.ndim != 4:
            return vectors.view(-1, *shape)
        # The weights of a convolution, with channels last: what grouped convolutions are fastest with on a CPU.
        return vectors.view(-1, shape[0], *shape[2:], shape[1]).permute(0, 1, 4, 2, 3)


class WeightSpace:
    """Images c_{phi + delta}(images), with one delta per example, and ||delta_i|| <= radius x ||phi_i|| per block.

    A block is a layer, the module that owns parameters, weight and bias together (the paper's "vector of parameters in
    the i-th layer"), or, with ``blocks="tensor"``, a single parameter. A point holds one (B, n_i) vector per block.
    `images` are (B, C, H, W) in [0, 1]; their dtype, float32 or float64, is that of the deltas.
    """

    def __init__(self, network: nn.Module, radius: float, images: Tensor, blocks: Blocks = "layer") -> None:
        self.network, self.images = network, images
        self.blocks = [
            [Piece(name, _plain(parameter, images)) for name, parameter in block.items()]
            for block in perturbed_blocks(network, blocks)
        ]
        moved = {piece.name for block in self.blocks for piece in block}
        state = {**dict(network.named_parameters()), **dict(network.named_buffers())}
        # Copies of buffers: a module of somebody's may write to its own.
        buffers = {name for name, _ in network.named_buffers()}
        self.fixed = {
            name: _like(value.detach().clone() if name in buffers else value.detach(), images)
            for name, value in state.items()
            if name not in moved
        }
        lengths = [torch.stack([piece.phi.norm() for piece in block]).norm() for block in self.blocks]
        self.radii = radius * torch.stack(lengths)  # nu ||phi_i||

    def start(self, seeds: Sequence[int]) -> Point:
        """r ~ U(0, nu ||phi_i||) and a uniform direction, for each example and block: first all r, then all
        directions, block by block."""
        count, sizes = len(seeds), [_size(block) for block in self.blocks]
        lengths = self.radii.new_empty(count, len(sizes))
        vectors = self.radii.new_empty(count, sum(sizes))
        for row, seed in enumerate(seeds):
            generator = torch.Generator(vectors.device).manual_seed(seed)
            lengths[row].uniform_(generator=generator)
            vectors[row].normal_(generator=generator)
        lengths *= self.radii
        point = list(torch.split(vectors, sizes, dim=1))
        for block, length in zip(point, lengths.unbind(1), strict=True):
            block.mul_(length[:, None] / norms(block))
        return point

    def undisturbed(self) -> Tensor:
        """What the network makes of the images with its weights as they are, in whatever range."""
        with torch.no_grad():
            return self._images([block[0].phi.new_zeros(len(self.images), _size(block)) for block in self.blocks])

    def apply(self, point: Point) -> Tensor:
        return self._images(point).to(self.images.dtype).clamp(0, 1)

    def _images(self, point: Point) -> Tensor:
        weights = {
            piece.name: self._laid_out(piece.phi + piece.shaped(vectors))
            for block, delta in zip(self.blocks, point, strict=True)
            for piece, vectors in zip(block, torch.split(delta, [piece.size for piece in block], dim=1), strict=True)
        }
        return each(self._corrupt, weights, self.images, self.network)

    def project(self, point: Point) -> Point:
        """Each block onto its own ball, in place; what lies inside stays, bit for bit."""
        for block, radius in zip(point, self.radii, strict=True):
            block.mul_((radius / norms(block).clamp_min(torch.finfo(block.dtype).tiny)).clamp(max=1))
        return point

    def _laid_out(self, weights: Tensor) -> Tensor:
        return weights if channels_last_pays(self.images) else weights.contiguous()

    def _corrupt(self, weights: dict[str, Tensor], image: Tensor) -> Tensor:
        return corrupt_one(self.network, {**self.fixed, **weights}, image)


def _size(block: Sequence[Piece]) -> int:
    return sum(piece.size for piece in block)


def _plain(parameter: nn.Parameter, images: Tensor) -> Tensor:
    """The value of a parameter, in the images' precision and in the layout that `Piece.shaped` gives to deltas."""
    value = _like(parameter.detach(), images)
    return value.contiguous(memory_format=torch.channels_last) if value.ndim == 4 else value.contiguous()


def _like(value: Tensor, images: Tensor) -> Tensor:
    return value.to(images) if value.is_floating_point() else value.to(images.device)
