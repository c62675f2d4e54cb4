"""Corruption networks with other weights for every example: forward and backward, against what they are held to."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.flop_counter import FlopCounterMode

import weatherproof
from weatherproof.adversaries.weights import WeightSpace

from .timing import Row, side_by_side

SIDE, RADIUS, REPEATS = 32, 0.015, 5


def rows() -> list[Row]:
    """Full EDSR with 8 weight sets, and desk EDSR with 32."""
    edsr, desk = weatherproof.corruption_network("edsr"), weatherproof.corruption_network("edsr_desk")
    few, many = _images(8), _images(32)
    eight = per_example(edsr, few)
    own, shared = side_by_side(eight, shared_weights(edsr, few), REPEATS)
    measured, product = side_by_side(eight, matrix_product, REPEATS)
    single, half = side_by_side(eight, in_bf16(eight), REPEATS)
    together, apart = side_by_side(per_example(desk, many), one_by_one(desk, many), REPEATS)
    at_matrix_rate = flops(shared_weights(edsr, few)) / (2 * PRODUCT**3 / product)
    return [
        Row("edsr: 8 weight sets / shared weights", own, shared, 1.15),
        Row("edsr: 8 weight sets / their FLOPs at the rate of a matrix product", measured, at_matrix_rate, 1 / 1.3),
        Row("edsr: 8 weight sets, bf16 / fp32", half, single, 1 / 1.4),
        Row("edsr_desk: 32 weight sets / a loop over examples", together, apart, 1 / 4),
    ]


def per_example(network: nn.Module, images: Tensor) -> Callable[[], object]:
    """Forward and backward with a weight set of its own for every image."""
    space = WeightSpace(network, RADIUS, images)
    point = [block.requires_grad_() for block in space.start(range(len(images)))]
    return lambda: torch.autograd.grad(space.apply(point).float().square().sum(), point)


def shared_weights(network: nn.Module, images: Tensor) -> Callable[[], object]:
    """The same with one weight set for all."""
    weights = [parameter.requires_grad_() for parameter in network.parameters()]
    return lambda: torch.autograd.grad(network(images).square().sum(), weights)


def one_by_one(network: nn.Module, images: Tensor) -> Callable[[], object]:
    """Every image with its own weights, one after the other."""
    weights = [
        {name: (1 + RADIUS * torch.randn_like(value)) * value.detach() for name, value in network.named_parameters()}
        for _ in images
    ]
    for own in weights:
        for value in own.values():
            value.requires_grad_()

    def run() -> None:
        for own, image in zip(weights, images, strict=True):
            loss = functional_call(network, own, (image[None],)).square().sum()
            torch.autograd.grad(loss, list(own.values()))

    return run


def in_bf16(action: Callable[[], object]) -> Callable[[], object]:
    """The same under autocast."""

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            action()

    return run


PRODUCT = 2048  # a side of the matrices; large enough for the library to be at its best


def matrix_product() -> Tensor:
    """2 PRODUCT^3 operations in single precision."""
    return torch.mm(_LEFT, _RIGHT)


def flops(action: Callable[[], object]) -> int:
    """Operations of direct convolutions, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        action()
    return int(counter.get_total_flops())


def _images(count: int) -> Tensor:
    return torch.rand(count, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(count))


_LEFT, _RIGHT = torch.rand(2, PRODUCT, PRODUCT)
