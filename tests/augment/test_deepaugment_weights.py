"""DeepAugment's operations on weights, each against the same written out for one image and fed with the same draws."""

from __future__ import annotations

import deepaugment_by_hand as by_hand
import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor, nn

from weatherproof.augment.deepaugment import cae_weights, edsr_weights, generic
from weatherproof.augment.deepaugment.cae import DistortedCAE
from weatherproof.augment.deepaugment.draw import Draw, Weights
from weatherproof.augment.deepaugment.edsr import DistortedEDSR
from weatherproof.networks.corruption import CAE, EDSR

SEEDS = range(12)
SMALL_CAE = {"width": 16, "bits": 8, "stem": 8, "fine": 8, "last": 4}


def fresh(make: type[nn.Module], **options: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make(**options).eval()


def pristine_of(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in network.named_parameters()}


def assert_same(weights: Weights, state: by_hand.State) -> None:
    for name, expected in state.items():
        np.testing.assert_allclose(weights[name].numpy(), expected, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("blocks", [16, 2, 32])
@pytest.mark.parametrize("option", range(17))
def test_operations_of_edsr(option: int, blocks: int) -> None:
    """Blocks of other depths are in proportion."""
    network = fresh(EDSR, features=6, blocks=blocks)
    pristine, touched = pristine_of(network), False
    before = {name: value.clone() for name, value in pristine.items()}
    for seed in SEEDS:
        weights, state = Weights(pristine), by_hand.state_of(network)
        edsr_weights.OPERATIONS[option](weights, Draw(seed), edsr_weights.Convolutions(blocks))
        by_hand.edsr_operation(option, state, Draw(seed), blocks)
        assert_same(weights, state)
        touched |= any(not torch.equal(weights[name], value) for name, value in before.items())
    assert touched
    assert all(torch.equal(pristine[name], value) for name, value in before.items())


@pytest.mark.parametrize("options", [{}, SMALL_CAE], ids=["published", "small"])
@pytest.mark.parametrize("option", range(8))
def test_operations_of_the_cae(option: int, options: dict[str, int]) -> None:
    network = fresh(CAE, **options)
    pristine = pristine_of(network)
    share = options.get("width", 128) / 128
    for seed in SEEDS if options else range(3):
        weights, state = Weights(pristine), by_hand.state_of(network)
        cae_weights.OPERATIONS[option](weights, Draw(seed), share)
        by_hand.cae_operation(option, state, Draw(seed), share)
        assert_same(weights, state)
        assert weights.changed


def test_edsr_gets_three_operations_drawn_with_replacement() -> None:
    network = fresh(EDSR, features=4, blocks=16)
    distorted, pristine = DistortedEDSR(network), pristine_of(network)  # type: ignore[arg-type]
    counts = np.zeros(17)
    for seed in range(400):
        weights, draw, state, again = Weights(pristine), Draw(seed), by_hand.state_of(network), Draw(seed)
        distorted.change(weights, draw)
        for option in again.several(17, 3):
            counts[option] += 1
            by_hand.edsr_operation(option, state, again)
        assert_same(weights, state)
    assert chisquare(counts).pvalue > 1e-3


def test_the_cae_gets_one_operation_of_eight() -> None:
    network = fresh(CAE, **SMALL_CAE)
    distorted, pristine = DistortedCAE(network), pristine_of(network)  # type: ignore[arg-type]
    counts = np.zeros(8)
    for seed in range(400):
        weights, draw, state, again = Weights(pristine), Draw(seed), by_hand.state_of(network), Draw(seed)
        distorted.change(weights, draw)
        option = again.below(8)
        counts[option] += 1
        by_hand.cae_operation(option, state, again, 16 / 128)
        assert_same(weights, state)
    assert chisquare(counts).pvalue > 1e-3


PLACES = {
    **{option: [0, 3, 6, 9] for option in (0, 2, 3, 4, 5, 6, 7, 9)}, 1: [1, 4, 7], 8: [1, 5, 9], 10: [1, 5, 9],
    11: list(range(15)),
}  # fmt: skip


@pytest.mark.parametrize("option", PLACES)
def test_blocks_are_equally_likely(option: int) -> None:
    pristine = pristine_of(fresh(EDSR, features=2, blocks=16))
    counts = dict.fromkeys(PLACES[option], 0)
    for seed in range(600):
        weights = Weights(pristine)
        edsr_weights.OPERATIONS[option](weights, Draw(seed), edsr_weights.Convolutions(16))
        (block,) = {int(name.split(".")[1]) for name in weights.changed}
        counts[block] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-3


@pytest.mark.parametrize("option", [12, 13, 14, 15, 16])
def test_five_draws_of_fifteen_blocks_with_replacement(option: int) -> None:
    """How many different blocks: the occupancy distribution, S(5, k) 15! / (15 - k)! / 15^5."""
    pristine = pristine_of(fresh(EDSR, features=2, blocks=16))
    stirling = {1: 1, 2: 15, 3: 25, 4: 10, 5: 1}
    falling = {k: np.prod(np.arange(15, 15 - k, -1.0)) for k in stirling}
    expected = np.array([stirling[k] * falling[k] / 15**5 for k in stirling])
    counts, each = np.zeros(5), np.zeros(15)
    for seed in range(600):
        weights = Weights(pristine)
        edsr_weights.OPERATIONS[option](weights, Draw(seed), edsr_weights.Convolutions(16))
        blocks = {int(name.split(".")[1]) for name in weights.changed}
        counts[len(blocks) - 1] += 1
        each[list(blocks)] += 1
    rare = [counts[:3].sum(), *counts[3:]], [600 * expected[:3].sum(), *(600 * expected[3:])]
    assert chisquare(*rare).pvalue > 1e-3
    assert chisquare(each).pvalue > 1e-3


def test_what_a_draw_gives() -> None:
    draw = Draw(7)
    assert chisquare(np.bincount([draw.below(5) for _ in range(5000)])).pvalue > 1e-3
    assert chisquare(np.bincount(draw.several(17, 17_000))).pvalue > 1e-3
    assert chisquare(np.bincount([draw.one_of((0, 1, 2)) for _ in range(3000)])).pvalue > 1e-3
    assert abs(float(draw.coins((100_000,), 0.95).mean()) - 0.95) < 4 * 0.0007
    assert abs(float((draw.signs((100_000,), 0.025) < 0).float().mean()) - 0.025) < 4 * 0.0005
    assert abs(np.mean([draw.happens(0.2) for _ in range(10_000)]) - 0.2) < 4 * 0.004
    rows = draw.dirichlet(0.1, (5000,), 9)
    torch.testing.assert_close(rows.sum(dim=1), torch.ones(5000))
    assert torch.allclose(rows.mean(dim=0), torch.full((9,), 1 / 9), atol=0.02)
    # Var = a (a0 - a) / (a0^2 (a0 + 1)) with a = .1 and a0 = .9
    assert torch.allclose(rows.var(dim=0), torch.full((9,), 0.1 * 0.8 / (0.81 * 1.9)), atol=0.006)


GENERIC = {
    "reverse": lambda f, d: f[::-1],
    "negate": lambda f, d: -f,
    "zero": lambda f, d: 0 * f,
    "random_signs": lambda f, d: f * np.where(d.uniform(f.shape).numpy() < 0.5, -1.0, 1.0),
    "random_mask": lambda f, d: f * np.where(d.uniform(f.shape).numpy() < 0.5, 1.0, 0.0),
    "rescale": lambda f, d: f * (1 + 4 * d.number() * d.uniform(f.shape).double().numpy()),
    "negative_gelu": lambda f, d: -by_hand.every_gelu(f),
    "turn": lambda f, d: by_hand.quarter_turns(f, 1 + d.below(3), (2, 3)),
    "keep_largest": lambda f, d: by_hand.only_largest(f),
}
ORDER = [*GENERIC]


class Parts(nn.Module):
    """A layer of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = nn.Conv2d(3, 6, 3, padding=1)
        self.up = nn.ConvTranspose2d(6, 4, 2, stride=2)
        self.mix = nn.Linear(4, 5)
        self.theta = nn.Parameter(torch.randn(2, 3))
        self.tall = nn.Conv2d(3, 2, (3, 1), bias=False)
        self.frozen = nn.Conv2d(3, 3, 3).requires_grad_(False)
        self.norm = nn.BatchNorm2d(4)


def test_generic_operations() -> None:
    """Each layer, each operation, on a share of its filters up to a half, with their biases in three cases."""
    network = fresh(Parts)
    pristine, distorted = pristine_of(network), generic.DistortedNetwork(network)
    assert [layer.weight for layer in distorted.layers] == [
        "theta", "plain.weight", "up.weight", "mix.weight", "tall.weight",
    ]  # fmt: skip
    seen = set()
    for seed in range(800):
        weights, draw, state = Weights(pristine), Draw(seed), by_hand.state_of(network)
        distorted.change(weights, Draw(seed))
        layer = draw.one_of(distorted.layers)
        axis = 1 if layer.weight == "up.weight" else 0
        filters = np.moveaxis(state[layer.weight], axis, 0).copy()
        count = max(1, round(0.5 * draw.number() * len(filters)))
        rows = sorted(draw.permutation(len(filters))[:count])
        assert 1 <= len(rows) <= max(1, len(filters) // 2)
        name = draw.one_of(ORDER if layer.weight in ("plain.weight", "up.weight") else ORDER[:7])
        filters[rows] = GENERIC[name](filters[rows], draw)
        state[layer.weight] = np.moveaxis(filters, 0, axis)
        bias = layer.weight.replace("weight", "bias")
        if name in ORDER[:3] and bias in ("plain.bias", "up.bias", "mix.bias"):
            state[bias][rows] = GENERIC[name](state[bias][rows], draw)
        assert_same(weights, state)
        seen.add((layer.weight, name))
    assert len(seen) == 2 * 9 + 3 * 7


class Scale(nn.Module):
    """Nothing but numbers without dimensions, or with one."""

    def __init__(self) -> None:
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.tensor(0.9)), nn.Parameter(torch.zeros(3))

    def forward(self, images: Tensor) -> Tensor:
        return (self.gain * images + self.shift[:, None, None]).clamp(0, 1)


def test_networks_without_matrices_have_what_they_have_changed() -> None:
    network = Scale()
    distorted, pristine = generic.DistortedNetwork(network), pristine_of(network)
    changed = set()
    for seed in range(40):
        weights = Weights(pristine)
        distorted.change(weights, Draw(seed))
        changed |= {name for name, value in weights.changed.items() if not torch.equal(value, pristine[name])}
        assert all(value.shape == pristine[name].shape for name, value in weights.changed.items())
    assert "gain" in changed
