"""The one loop that climbs a loss inside a space, and its step rules. Neither knows networks or pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..errors import InputError, did_you_mean

Point = list[Tensor]
"""Where every example stands in a space: one tensor (B, ...) per block."""

Objective = Callable[[Tensor], Tensor]
"""Images (B, C, H, W) to the loss of each example, (B,)."""


class Space(Protocol):
    """What an inner player may change, and how far. `radii`, (K,), holds how far each of the K blocks may go."""

    @property
    def radii(self) -> Tensor: ...

    def start(self, seeds: Sequence[int]) -> Point:
        """A random point; example i draws from a stream of its own, seeded with ``seeds[i]``."""

    def apply(self, point: Point) -> Tensor:
        """The images that a point stands for; differentiable."""

    def project(self, point: Point) -> Point:
        """The nearest point that is allowed; may overwrite the one that is given."""


StepRule = Callable[[Point, Sequence[Tensor], Space], Point]
"""``(point, gradient, space) -> point``, before projection; may overwrite the point."""


def ascend(space: Space, objective: Objective, point: Point, steps: int, step: StepRule) -> Point:
    """Climb for `steps` steps from `point`, which is overwritten; every step ends inside the space."""
    for _ in range(steps):
        point = [block.detach().requires_grad_() for block in point]
        losses = objective(space.apply(point))
        # The examples do not see each other, so the gradient of the sum holds the gradient of each. Only the point is
        # asked for: no gradient of the classifier's weights is computed.
        gradient = torch.autograd.grad(losses.sum(), point, materialize_grads=True)
        with torch.no_grad():
            point = space.project(step([block.detach() for block in point], gradient, space))
    return point


@dataclass(frozen=True)
class Sign:
    """The paper's step: delta += size x sign(gradient).

    `size` is absolute; by default a quarter of the median radius, times 10 / `steps`.
    """

    size: float | None = None
    steps: int = 10

    def __call__(self, point: Point, gradient: Sequence[Tensor], space: Space) -> Point:
        if self.size is None:
            size = space.radii.quantile(0.5) * (0.25 * 10 / self.steps)
        else:
            size = torch.as_tensor(self.size, dtype=space.radii.dtype, device=space.radii.device)
        return [block.addcmul_(slope.sign(), size) for block, slope in zip(point, gradient, strict=True)]


@dataclass(frozen=True)
class Normalized:
    """Each block goes `size` (default 1) times its own radius along its own gradient: delta_i += size r_i g_i/||g_i||.

    A block whose gradient is zero stays.
    """

    size: float | None = None
    steps: int = 10

    def __call__(self, point: Point, gradient: Sequence[Tensor], space: Space) -> Point:
        lengths = space.radii * (1.0 if self.size is None else self.size)
        for block, slope, length in zip(point, gradient, lengths, strict=True):
            block.add_(slope * (length / norms(slope).clamp_min(torch.finfo(slope.dtype).tiny)))
        return point


RULES: dict[str, Callable[[float | None, int], StepRule]] = {"sign": Sign, "normalized": Normalized}


def step_rule(name: str, size: float | None, steps: int) -> StepRule:
    """A rule by name; `size` None is the rule's own default for that number of steps."""
    if name not in RULES:
        raise InputError(f"there is no step rule '{name}'{did_you_mean(name, RULES)}")
    return RULES[name](size, max(steps, 1))


def norms(block: Tensor) -> Tensor:
    """The Euclidean norm of each example's block, shaped to multiply it: (B, 1, ...)."""
    lengths: Tensor = torch.linalg.vector_norm(block, dim=tuple(range(1, block.ndim)), keepdim=True)
    return lengths
