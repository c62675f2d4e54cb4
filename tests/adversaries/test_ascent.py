"""The loop, its rules and the space of weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from adversaries.small_networks import NETWORKS, SmallClassifier, SuperResolver, batch, trained_like
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from weatherproof.adversaries import WeightSpace, ascend
from weatherproof.adversaries.ascent import Normalized, Sign, StepRule, step_rule


class Box:
    """A space without networks: numbers in [-radius, radius], one block of two and one of one."""

    radii = torch.tensor([1.0, 0.25])

    def start(self, seeds: Any) -> list[Tensor]:
        return [torch.zeros(len(seeds), 2), torch.zeros(len(seeds), 1)]

    def apply(self, point: list[Tensor]) -> Tensor:
        return torch.cat(point, dim=1)

    def project(self, point: list[Tensor]) -> list[Tensor]:
        return [block.clamp(-radius, radius) for block, radius in zip(point, self.radii.tolist(), strict=True)]


SLOPES = torch.tensor([[3.0, -4.0, 2.0], [0.0, 0.0, -1.0]])


def linear(images: Tensor) -> Tensor:
    return (images * SLOPES).sum(dim=1)


@pytest.mark.parametrize(
    ("rule", "steps", "expected"),
    [
        (Sign(0.1), 1, [[0.1, -0.1, 0.1], [0.0, 0.0, -0.1]]),
        (Sign(0.1), 3, [[0.3, -0.3, 0.25], [0.0, 0.0, -0.25]]),
        (Sign(steps=10), 1, [[0.15625, -0.15625, 0.15625], [0.0, 0.0, -0.15625]]),  # 1/4 median(1, .25)
        (Sign(steps=5), 1, [[0.3125, -0.3125, 0.25], [0.0, 0.0, -0.25]]),  # twice as far in half the steps
        (Normalized(), 1, [[0.6, -0.8, 0.25], [0.0, 0.0, -0.25]]),
        (Normalized(0.5), 1, [[0.3, -0.4, 0.125], [0.0, 0.0, -0.125]]),
    ],
)
def test_steps_of_the_rules(rule: StepRule, steps: int, expected: list[list[float]]) -> None:
    space = Box()
    point = ascend(space, linear, space.start([0, 0]), steps, rule)
    torch.testing.assert_close(space.apply(point), torch.tensor(expected))


@pytest.mark.parametrize("blocks", ["layer", "tensor"])
@pytest.mark.parametrize("rule", ["sign", "normalized"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_step_of_every_example_ends_inside(name: str, rule: str, blocks: Any) -> None:
    network, classifier = trained_like(NETWORKS[name]()), trained_like(SmallClassifier())
    images, labels = batch(4)
    limits = limits_of(network, blocks, 0.03)
    seen = 0

    class Watched(WeightSpace):
        def apply(self, point: list[Tensor]) -> Tensor:
            nonlocal seen
            seen += 1
            for block, limit in zip(point, limits, strict=True):
                assert (block.detach().double().norm(dim=1) <= limit * (1 + 1e-5)).all()
            return super().apply(point)

    space = Watched(network, 0.03, images, blocks)
    start = space.start(range(4))
    first = [block.clone() for block in start]
    end = ascend(
        space,
        lambda images: torch.nn.functional.cross_entropy(classifier(images), labels, reduction="none"),
        start,
        4,
        step_rule(rule, None, 4),
    )
    space.apply(end)
    assert seen == 5
    assert all((a - b).norm() > 0 for a, b in zip(first, end, strict=True))


def limits_of(network: torch.nn.Module, blocks: str, radius: float) -> list[float]:
    """radius ||phi_i||, in double precision."""
    owners: dict[str, list[Tensor]] = {}
    for name, parameter in network.named_parameters():
        owner = name.rsplit(".", 1)[0] if blocks == "layer" else name
        owners.setdefault(owner, []).append(parameter.detach().double().flatten())
    return [radius * float(torch.cat(own).norm()) for own in owners.values()]


@pytest.mark.parametrize("rule", ["sign", "normalized"])
def test_blocks_of_norm_zero_stay_put(rule: str) -> None:
    network = trained_like(SuperResolver())
    with torch.no_grad():
        network.up.bias.zero_()
        network.tail.weight.zero_()
    images, _ = batch(3)
    space = WeightSpace(network, 0.1, images, "tensor")
    names = [name for name, _ in network.named_parameters()]
    end = ascend(
        space, lambda images: images.square().sum(dim=(1, 2, 3)), space.start([0, 1, 2]), 3, step_rule(rule, None, 3)
    )
    still = {name for name, block in zip(names, end, strict=True) if not block.any()}
    assert still == {"up.bias", "tail.weight"} and all(block.isfinite().all() for block in end)


def test_a_layers_bias_moves_with_its_weight() -> None:
    """As the paper has it: with a block per tensor, a bias of zero could never move."""
    network = trained_like(SuperResolver())
    with torch.no_grad():
        network.up.bias.zero_()
    space = WeightSpace(network, 0.1, batch(1)[0], "layer")
    start = dict(zip(["head", "body.0", "body.2", "up", "tail"], space.start([0]), strict=True))
    assert start["up"].shape == (1, 4 * 16 * 9 + 16) and start["up"][0, -16:].abs().min() > 0


def test_starts_are_uniform_in_length_and_direction() -> None:
    network = trained_like(SuperResolver())
    space = WeightSpace(network, 0.1, batch(1)[0])
    for block, radius in zip(space.start(range(2000)), space.radii.tolist(), strict=True):
        lengths = block.norm(dim=1) / radius
        ordered = lengths.sort().values
        assert (ordered - torch.linspace(0, 1, 2000)).abs().max() < 1.63 / 2000**0.5  # Kolmogorov-Smirnov, 1%
        directions = block / block.norm(dim=1, keepdim=True)
        size = block.shape[1]
        assert directions.mean(dim=0).abs().max() < 5 / (size * 2000) ** 0.5
        assert (directions.square().mean(dim=0) * size - 1).abs().max() < 0.3


@given(st.floats(0.01, 10), st.integers(0, 1000))
def test_projection_keeps_what_is_inside_and_shortens_the_rest(scale: float, seed: int) -> None:
    space = WeightSpace(trained_like(SuperResolver()), 0.1, batch(2)[0])
    point = [scale * block for block in space.start([seed, seed + 1])]
    projected = space.project([block.clone() for block in point])
    for block, own, radius in zip(point, projected, space.radii, strict=True):
        inside = block.norm(dim=1) <= radius
        assert torch.equal(block[inside], own[inside])
        torch.testing.assert_close(own[~inside].norm(dim=1), radius.expand(int((~inside).sum())))
        cosine = torch.nn.functional.cosine_similarity(block, own)
        assert (cosine > 1 - 1e-5).all()
