"""PRIME (Modas et al. 2022): few primitives of maximum entropy instead of many hand-made operations."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import InputError, did_you_mean
from .border import ImageAugmentation
from .primitives import PRIMITIVES, Diffeomorphism, RandomFilter, SmoothColour

SMALLEST = 8  # pixels a side


class Prime(ImageAugmentation):
    """``Prime()(images, generator=None) -> images``: each image a mixture of itself and `width` chains of primitives.

    A chain applies 1 to `depth` primitives (each number equally likely), each drawn from `primitives` anew: a smooth
    displacement, a smooth function of colours, a 3x3 filter. Then

        (1 - m) x + m * sum of w_i chain_i(x),  w ~ Dirichlet(1, ..., 1),  m uniform on [0, 1]

    Images of 1 or 3 channels and sides of 8 pixels or more. The mixture and the defaults are those of the authors' code
    for CIFAR, where a consistency loss over three views (a defence here) goes with them. For ImageNet they have none,
    and displacement_cuts=(2, 500), colour_cut=500, colour_temperature=0.05, colour_band=20. Departed from: every image
    has all of its parameters to itself, of which they draw some once for a batch (see the primitives).
    """

    def __init__(
        self,
        width: int = 3,
        depth: int = 3,
        primitives: tuple[str, ...] = ("diffeomorphism", "colour", "filter"),
        displacement_cuts: tuple[int, int] = (2, 100),
        colour_cut: int = 100,
        colour_temperature: float = 0.01,
        colour_band: int | None = None,
        filter_size: int = 3,
        filter_sigma: float = 4.0,
    ) -> None:
        if width < 1 or depth < 1:
            raise InputError(f"prime wants a width and a depth of 1 or more; got {width} and {depth}")
        for name in primitives:
            if name not in PRIMITIVES:
                raise InputError(f"prime has no primitive '{name}'{did_you_mean(name, PRIMITIVES)}")
        if not primitives:
            raise InputError(f"prime wants one primitive or more of {', '.join(PRIMITIVES)}; got none")
        built = {
            "diffeomorphism": Diffeomorphism(displacement_cuts),
            "colour": SmoothColour(colour_cut, colour_temperature, colour_band),
            "filter": RandomFilter(filter_size, filter_sigma),
        }
        self.width, self.depth = width, depth
        self.primitives = tuple(built[name] for name in primitives)

    @torch.no_grad()
    def augment(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """As the base class has it; computed in float32, whatever the images are in."""
        height, width = images.shape[2:]
        if min(height, width) < SMALLEST:
            raise InputError(f"prime wants images of {SMALLEST} pixels a side or more; got {height}x{width}")
        with torch.autocast(images.device.type, enabled=False):
            clean = images.float()
            shares = mixing_shares(len(images), self.width, generator).to(images.device)
            plan = draw_plan(self.width * len(images), self.depth, len(self.primitives), generator)
            chains = self._chains(clean, plan, generator)
            # clamped, since images may lie a hair outside, and sums of shares are 1 but for rounding
            return _mixed(clean, chains, shares).clamp_(0, 1)

    def _chains(self, images: Tensor, plan: Tensor, generator: torch.Generator) -> Tensor:
        """The ends of all chains, (width * B, C, H, W): chain 0 of every image, then chain 1, ..."""
        chains = images.repeat(self.width, 1, 1, 1)
        for chosen in plan:
            for number, primitive in enumerate(self.primitives):
                rows = (chosen == number).nonzero()[:, 0].to(images.device)
                if len(rows):
                    chains.index_copy_(0, rows, primitive(chains.index_select(0, rows), generator))
        return chains


def mixing_shares(count: int, width: int, generator: torch.Generator) -> Tensor:
    """What share the clean image and each chain has in the mixture: (B, 1 + width), rows sum to 1."""
    # m * w for w ~ Dirichlet(1, ..., 1): exponential draws over their sum
    waits = torch.empty(count, width, dtype=torch.float64).exponential_(generator=generator)
    mixed = torch.rand(count, 1, generator=generator, dtype=torch.float64)
    return torch.cat([1 - mixed, mixed * waits / waits.sum(dim=1, keepdim=True)], dim=1).float()


def draw_plan(chains: int, depth: int, primitives: int, generator: torch.Generator) -> Tensor:
    """The number of the primitive that each chain applies in each step, -1 after its end: int64 (depth, chains)."""
    depths = torch.randint(1, depth + 1, (chains,), generator=generator)
    plan = torch.randint(0, primitives, (depth, chains), generator=generator)
    return plan.where(torch.arange(depth)[:, None] < depths, -1)


def _mixed(clean: Tensor, chains: Tensor, shares: Tensor) -> Tensor:
    own, *others = shares.T.reshape(-1, len(clean), 1, 1, 1)
    mixed: Tensor = clean * own
    for chain, share in zip(chains.chunk(len(others)), others, strict=True):
        mixed.addcmul_(chain, share)
    return mixed
