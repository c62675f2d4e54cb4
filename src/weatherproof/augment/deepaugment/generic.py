"""DeepAugment for networks that it never had: operations on the weights of any layer of any network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...networks.per_example import corrupt_one, each, perturbed_blocks
from .draw import Draw, Weights
from .edsr_weights import largest_taps

AT_ONCE = 1  # operations: without DeepAugment's residual networks, one leaves little enough of the image
MOST_FILTERS = 0.5  # of a layer's, that an operation changes

Operation = Callable[[Tensor, Draw], Tensor]
"""Some filters of a layer, (n, ...), to what they become."""


class DistortedNetwork:
    """What we do to any other network: one layer is drawn, a share of its filters up to a half, and what becomes of
    them: in reverse order, negated, 0, some weights negated or 0, rescaled, -gelu, and for kernels turned, or with
    their largest tap alone. Biases go with the filters where these are reversed, negated or set to 0."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.layers = layers_of(network)

    def change(self, weights: Weights, draw: Draw) -> None:
        """The operations on the weights."""
        for _ in range(AT_ONCE):
            change_layer(weights, draw, draw.one_of(self.layers))

    def __call__(self, images: Tensor, weights: Sequence[Weights], draws: Sequence[Draw]) -> Tensor:
        """(B, C, H, W) in [0, 1] to the same shape."""
        names = sorted(set().union(*(mine.changed for mine in weights)))
        own = {name: torch.stack([mine[name] for mine in weights]).to(images.device) for name in names}
        return each(lambda mine, image: corrupt_one(self.network, mine, image), own, images, self.network)


@dataclass(frozen=True)
class Layer:
    """A weight, the bias that goes with it, if there is one, and the dimension that counts its filters."""

    weight: str
    bias: str | None
    outputs: int
    square: bool  # kernels that can be turned


def layers_of(network: nn.Module) -> list[Layer]:
    """The weights that may change, as an adversary would change them: matrices and kernels, or if there are none,
    whatever there is."""
    parameters = [
        (name, value) for block in perturbed_blocks(network, "tensor") for name, value in block.items() if value.numel()
    ]
    chosen = [(name, value) for name, value in parameters if value.ndim > 1] or parameters
    every = dict(network.named_parameters())
    return [_layer(network, name, value, every) for name, value in chosen]


def _layer(network: nn.Module, name: str, value: Tensor, parameters: dict[str, nn.Parameter]) -> Layer:
    owner, _, last = name.rpartition(".")
    module = network.get_submodule(owner)
    transposed = isinstance(module, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d)
    outputs = 1 if transposed and module.groups == 1 else 0
    bias = f"{owner}.bias" if owner else "bias"
    goes_along = last == "weight" and bias in parameters and value.ndim > 1
    goes_along = goes_along and len(parameters[bias]) == value.shape[outputs]
    square = value.ndim == 4 and value.shape[2] == value.shape[3] > 1
    return Layer(name, bias if goes_along else None, outputs, square)


def change_layer(weights: Weights, draw: Draw, layer: Layer) -> None:
    """One operation on some filters of a layer."""
    whole = weights[layer.weight]
    filters = whole.movedim(layer.outputs, 0) if whole.ndim else whole[None]
    count = max(1, round(MOST_FILTERS * draw.number() * len(filters)))
    rows = sorted(draw.permutation(len(filters))[:count])
    operation = draw.one_of((*WITH_BIAS, *OF_WEIGHTS, *(OF_KERNELS if layer.square else ())))
    changed = filters.clone()
    changed[rows] = operation(filters[rows], draw)
    weights[layer.weight] = changed.movedim(0, layer.outputs) if whole.ndim else changed[0]
    if layer.bias is not None and operation in WITH_BIAS:
        bias = weights[layer.bias].clone()
        bias[rows] = operation(bias[rows], draw)
        weights[layer.bias] = bias


def reverse(filters: Tensor, draw: Draw) -> Tensor:
    """They take each other's places."""
    return filters.flip(0)


def negate(filters: Tensor, draw: Draw) -> Tensor:
    """To their negatives."""
    return -filters


def zero(filters: Tensor, draw: Draw) -> Tensor:
    """To 0."""
    return torch.zeros_like(filters)


def random_signs(filters: Tensor, draw: Draw) -> Tensor:
    """Each weight negated or not."""
    return filters * draw.signs(filters.shape)


def random_mask(filters: Tensor, draw: Draw) -> Tensor:
    """Each weight kept or set to 0."""
    return filters * draw.coins(filters.shape)


def rescale(filters: Tensor, draw: Draw) -> Tensor:
    """Times 1 + 4 u U: u for all, U for each weight."""
    return filters * (1 + 4 * draw.number() * draw.uniform(filters.shape))


def negative_gelu(filters: Tensor, draw: Draw) -> Tensor:
    """To -gelu of them."""
    return -functional.gelu(filters)


def turn(filters: Tensor, draw: Draw) -> Tensor:
    """Kernels by 90, 180 or 270 degrees."""
    return torch.rot90(filters, 1 + draw.below(3), (2, 3))


def keep_largest(filters: Tensor, draw: Draw) -> Tensor:
    """Each kernel keeps its largest tap."""
    return largest_taps(filters)


WITH_BIAS: tuple[Operation, ...] = (reverse, negate, zero)
OF_WEIGHTS: tuple[Operation, ...] = (random_signs, random_mask, rescale, negative_gelu)
OF_KERNELS: tuple[Operation, ...] = (turn, keep_largest)
