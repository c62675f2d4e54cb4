"""A part of a network for a batch in which each image may have weights of its own for it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ...networks.per_example import autocasting, each
from .draw import Weights

# Products per image. Above, a convolution on a CPU takes longer than starting it, and one image after the other saves
# the copies that a grouped convolution needs; below, and on a GPU, grouped convolutions are much faster.
LARGE = 1 << 24


def through(stage: nn.Module, prefix: str, x: Tensor, weights: Sequence[Weights]) -> Tensor:
    """``stage(x)``, x (B, C, H, W), where row i takes what ``weights[i]`` sets below `prefix`, which is where the
    stage stands in its network. Rows that set nothing go together."""
    own = [mine.of(prefix) for mine in weights]
    changed = [row for row, mine in enumerate(own) if mine]
    if not changed:
        return stage(x)  # type: ignore[no-any-return]
    theirs = _each(stage, x[changed], [own[row] for row in changed])
    plain = [row for row, mine in enumerate(own) if not mine]
    if not plain:
        return theirs
    return torch.cat([stage(x[plain]), theirs])[_places([*plain, *changed])]


def _each(stage: nn.Module, x: Tensor, own: list[dict[str, Tensor]]) -> Tensor:
    state = dict(stage.named_parameters())
    names = sorted(set().union(*own))
    if not x.is_cuda and sum(value.numel() for value in state.values()) * x[0, 0].numel() > LARGE:
        rows = zip(own, x, strict=True)
        return torch.cat([functional_call(stage, _like(mine, x), (row[None],)) for mine, row in rows])
    stacked = {name: torch.stack([mine[name] if name in mine else state[name].cpu() for mine in own]) for name in names}

    def one(mine: dict[str, Tensor], row: Tensor) -> Tensor:
        with autocasting(row.device.type):
            result: Tensor = functional_call(stage, mine, (row[None],))
        return result[0]

    return each(one, _like(stacked, x), x, stage)


def _like(weights: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    """On the device of `x`; the precision is the network's."""
    return {name: value.to(x.device) for name, value in weights.items()}


def _places(order: list[int]) -> list[int]:
    """Where each row is in `order`."""
    places = [0] * len(order)
    for place, row in enumerate(order):
        places[row] = place
    return places
