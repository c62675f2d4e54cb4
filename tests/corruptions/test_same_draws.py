"""What is random is equal too, once both sides are given the same draws: ours, replayed to the written-out oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod
from typing import Any

import numpy as np
import pytest
import torch
from oracle import corrupt as written_out
from oracle.tables import TABLES
from photographs import crops, photographs
from test_oracle import SIDES, needs_magick, share_within_one

from weatherproof import corrupt
from weatherproof.corruptions import SEVERITIES
from weatherproof.corruptions.draws import Draws

Shape = tuple[int, ...]
GIVEN_DRAWS = ("glass_blur", "motion_blur", "snow", "frost", "fog", "elastic_transform", "spatter")


class Replayed:
    """Stands in for numpy's generator: hands out an image's draws as our code makes them, call by call.

    `uniform` are the shapes of our calls, in order; a call of the oracle takes the next values of them all.
    """

    def __init__(self, draws: Draws, uniform: Sequence[Shape] = ((),)) -> None:
        self.draws = draws
        self.units = self._units(uniform)

    def _units(self, shapes: Sequence[Shape]) -> Iterator[float]:
        return chain.from_iterable(self.draws.uniform(0, 1, *shape).double().flatten().tolist() for shape in shapes)

    def uniform(self, low: float, high: float, size: Shape = ()) -> Any:
        units = np.array([next(self.units) for _ in range(prod(size))]).reshape(size)
        return low + (high - low) * units

    def normal(self, mean: float, std: float, size: Shape) -> np.ndarray:
        return self.draws.normal(mean, std, *size)[0].double().numpy()

    def integers(self, high: int) -> int:
        return int(self.draws.integers(0, high))


def offsets(draws: Draws, reach: int, rounds: int, side: int) -> np.ndarray:
    """Where glass blur takes pixels from: (rounds, rows, columns, 2), from the lower right to the upper left."""
    found = [draws.integers(-reach, reach, 2, side, side)[0].numpy() for _ in range(rounds)]
    places = np.arange(side - reach, reach, -1)
    return np.stack([np.stack([right, down], -1)[np.ix_(places, places)] for down, right in found])


def replay(name: str, severity: int, scale: str, number: int, image: np.ndarray) -> np.ndarray:
    """The oracle's version of an image under the draws that ours gets."""
    draws, side = Draws(0, ("corrupt", name, severity), torch.tensor([number])), len(image)
    row, given = TABLES[scale][name][severity - 1], {}
    if name == "glass_blur":
        given["offsets"] = offsets(draws, row[1], row[2], side)
    halves = [2**i for i in range(max(32, 1 << (side - 1).bit_length()).bit_length() - 1)]
    shapes = {"elastic_transform": [(3, 2), (2, side, side)], "fog": [(3, n, n) for n in halves]}.get(name, [()])
    return written_out(image, name, severity, scale, Replayed(draws, shapes), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GIVEN_DRAWS)
@pytest.mark.parametrize("scale", ["cifar", "tiny", pytest.param("imagenet", marks=pytest.mark.slow)])
def test_what_is_random_is_equal_for_the_same_draws(scale: str, name: str) -> None:
    needs_magick(name)
    side = SIDES[scale]
    images = crops(16) if side == 32 else photographs(6, side)
    for severity in SEVERITIES:
        ours = corrupt(images, name, severity, scale, frost="photographs")
        theirs = np.stack([replay(name, severity, scale, i, image) for i, image in enumerate(images)])
        assert agreement(name, ours, theirs) >= 0.995, f"severity {severity}"


def agreement(name: str, ours: np.ndarray, theirs: np.ndarray) -> float:
    """The share of values that are equal up to rounding."""
    if name == "glass_blur":  # truncates twice, and each time a whole number may end up on either side of itself
        return float((np.abs(ours.astype(int) - theirs) <= 2).mean())
    if name == "spatter":  # noise that is a hair away from a threshold changes the drops of a whole image
        return float(np.median([share_within_one(*pair) for pair in zip(ours, theirs, strict=True)]))
    return share_within_one(ours, theirs)
