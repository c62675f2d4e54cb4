"""The random numbers of one image, and the weights that it sees a network with."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class Draw:
    """What is drawn for one image, from a seed of its own: on the CPU, so that it is the same on every device."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def below(self, bound: int) -> int:
        """One of 0 .. bound - 1, equally likely."""
        return int(torch.randint(bound, (), generator=self.generator))

    def several(self, bound: int, count: int) -> list[int]:
        """`count` of them, with replacement."""
        return torch.randint(bound, (count,), generator=self.generator).tolist()

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options, equally likely."""
        return options[self.below(len(options))]

    def permutation(self, count: int) -> list[int]:
        """0 .. count - 1 in an order of any kind."""
        return torch.randperm(count, generator=self.generator).tolist()

    def number(self) -> float:
        """From U(0, 1)."""
        return float(torch.rand((), generator=self.generator))

    def uniform(self, shape: Sequence[int]) -> Tensor:
        """float32, each from U(0, 1)."""
        return torch.rand(tuple(shape), generator=self.generator)

    def happens(self, probability: float) -> bool:
        """True with that probability."""
        return self.number() < probability

    def coins(self, shape: Sequence[int], probability: float = 0.5) -> Tensor:
        """float32, each 1 with that probability, else 0."""
        return (self.uniform(shape) < probability).float()

    def signs(self, shape: Sequence[int], probability: float = 0.5) -> Tensor:
        """float32, each -1 with that probability, else +1."""
        return 1 - 2 * self.coins(shape, probability)

    def dirichlet(self, alpha: float, rows: Sequence[int], count: int) -> Tensor:
        """float32 (*rows, count); each row from the symmetric Dirichlet distribution."""
        gammas = torch._standard_gamma(torch.full((*rows, count), alpha), generator=self.generator)
        return gammas / gammas.sum(dim=-1, keepdim=True)


class Weights(ChainMap[str, Tensor]):
    """A network's weights by name, as one image sees them: what is set here hides the network's own, which stay."""

    def __init__(self, pristine: Mapping[str, Tensor]) -> None:
        super().__init__({}, pristine)  # type: ignore[arg-type]  # never written to: only the first map is

    @property
    def changed(self) -> Mapping[str, Tensor]:
        """What was set for this image."""
        return self.maps[0]

    def of(self, prefix: str) -> dict[str, Tensor]:
        """What was set below `prefix`, by the names without it."""
        return {name.removeprefix(prefix): value for name, value in self.changed.items() if name.startswith(prefix)}
