"""The SSIM guard: pulls images that were corrupted too far back towards the clean ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..errors import InputError, did_you_mean
from ..measures.ray import Ray

Mode = Literal["exact", "paper"]
Reading = Literal["distance", "similarity_floor"]

COARSE, FINE = 64, 32  # intervals in [0, 1], and in the one of them that is looked at: 1/2048 apart in the end
ELEMENTS = 2**19  # numbers in the images that are looked at together, so that memory does not grow with the batch


@dataclass(frozen=True)
class Guarded:
    """Images (B, C, H, W) as they leave the guard; how far each went, gamma (B,); 1 - SSIM before and after, (B,)."""

    images: Tensor
    gamma: Tensor
    distance_before: Tensor
    distance: Tensor

    @property
    def pulled_back(self) -> Tensor:
        """Which images the guard changed, (B,)."""
        return self.gamma < 1


@dataclass(frozen=True)
class SSIMGuard:
    """``(clean, corrupted) -> images``: where d = 1 - SSIM exceeds t, a point between the clean and the corrupted image
    takes the latter's place, x + gamma (x^ - x).

    threshold: t in (0, 1): .3 is the paper's for CIFAR, .7 for ImageNet.
    mode: exact takes the largest gamma in [0, 1] with d(gamma) <= t, within 1/2048. paper takes the root of a quadratic
        fitted to d at nine gammas, clipped to [0, 1], that is closest to 1: where the fit is concave that can be 1,
        and the guard then does nothing.
    reading: distance, or similarity_floor, where images keep SSIM >= t (the paper's text admits both).
    """

    threshold: float = 0.3
    mode: Mode = "exact"
    reading: Reading = "distance"

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise InputError(f"the threshold of an SSIM guard lies between 0 and 1; got {self.threshold}")
        if self.mode not in SEARCHES:
            raise InputError(f"an SSIM guard has no mode '{self.mode}'{did_you_mean(self.mode, SEARCHES)}")
        if self.reading not in ("distance", "similarity_floor"):
            raise InputError(f"an SSIM guard reads its threshold as distance or similarity_floor; got '{self.reading}'")

    @property
    def limit(self) -> float:
        """The largest 1 - SSIM that passes."""
        return self.threshold if self.reading == "distance" else 1 - self.threshold

    def __call__(self, clean: Tensor, corrupted: Tensor) -> Tensor:
        """The images as they leave the guard; float (B, C, H, W) in [0, 1]."""
        return self.examine(clean, corrupted).images

    @torch.no_grad()
    def examine(self, clean: Tensor, corrupted: Tensor, overwrite: bool = False) -> Guarded:
        """The images, and what was found out about them; `overwrite` puts them in the place of `corrupted`."""
        if clean.shape != corrupted.shape:
            raise InputError(f"a guard compares images of one shape; got {tuple(clean.shape)} and "
                             f"{tuple(corrupted.shape)}")  # fmt: skip
        images = corrupted if overwrite else corrupted.clone()
        at_once = max(1, ELEMENTS // max(1, clean[:1].numel()))
        found = [
            self._pull_back(*pair)
            for pair in zip(torch.split(clean, at_once), torch.split(images, at_once), strict=True)
        ]
        return Guarded(images, *(torch.cat(column) for column in zip(*found, strict=True)))

    def _pull_back(self, clean: Tensor, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gamma and the distance before and after, (B,) each; `images` are changed in place."""
        ray = Ray(clean, images)
        before = ray.distances(clean.new_ones(len(clean), 1))[:, 0]
        gamma, after = torch.ones_like(before), before.clone()
        far = (before > self.limit).nonzero()[:, 0]
        if len(far):
            triggered = ray[far]
            gamma[far] = SEARCHES[self.mode](triggered, self.limit, before[far])
            after[far] = triggered.distances(gamma[far][:, None])[:, 0]
            images[far] = torch.lerp(clean[far], images[far], gamma[far].view(-1, 1, 1, 1))
        return gamma, before, after


def largest_within(ray: Ray, limit: float, distance: Tensor) -> Tensor:
    """For each image with d(1) > limit, the largest gamma in [0, 1) with d(gamma) <= limit, within 1/2048.

    d need not be monotone. From the coarse grid follows for each interval how low d may get inside it; intervals that
    may reach the limit are looked at closely, the highest first, until one does. The first always does: d(0) = 0.
    """
    coarse = torch.linspace(0, 1, COARSE + 1, dtype=distance.dtype, device=distance.device)
    values = ray.distances(coarse.expand(len(distance), -1))
    # Within an interval of length h a function lies above its ends by at least -h^2/8 max|d''|, and h^2 d'' is about
    # the second difference; twice that, to be safe.
    bends = torch.nn.functional.pad(values.diff(n=2, dim=1).abs(), (1, 1))
    margin = torch.maximum(bends[:, :-1], bends[:, 1:]) / 4
    low = torch.minimum(values[:, :-1], values[:, 1:]) - margin
    candidate = low <= limit
    gamma, open_ = torch.zeros_like(distance), torch.arange(len(distance), device=distance.device)
    fine = torch.linspace(0, 1 / COARSE, FINE + 1, dtype=distance.dtype, device=distance.device)
    order = torch.arange(1, COARSE + 1, device=distance.device)
    while len(open_):
        highest = (candidate[open_] * order).amax(dim=1) - 1  # the interval; -1 where none is left
        open_, highest = open_[highest >= 0], highest[highest >= 0]
        gammas = coarse[highest][:, None] + fine
        within = ray[open_].distances(gammas) <= limit
        candidate[open_, highest] = False
        best = torch.where(within, gammas, -1).amax(dim=1)
        gamma[open_] = best.clamp(min=0)
        open_ = open_[best < 0]
    return gamma


def root_of_fit(ray: Ray, limit: float, distance: Tensor) -> Tensor:
    """The paper's line search (appendix C), to the letter: a gamma in [0, 1] for each image."""
    gammas = torch.linspace(0, 1, 9, dtype=torch.float64, device=distance.device)
    powers = torch.stack([gammas**2, gammas, torch.ones_like(gammas)], dim=1)
    values = ray.distances(gammas.to(distance).expand(len(distance), -1)).double() - limit
    a, b, c = (values @ torch.linalg.pinv(powers).T).unbind(1)
    # Where the parabola has no root we take its vertex, the real part of both; where it is a line, the line's root.
    discriminant = (b**2 - 4 * a * c).clamp(min=0).sqrt()
    straight = a.abs() < 1e-12
    twice = torch.where(straight, 1.0, 2 * a)
    highest = torch.maximum((-b + discriminant) / twice, (-b - discriminant) / twice)
    root = torch.where(straight, -c / torch.where(b == 0, 1.0, b), highest)
    return root.clamp(0, 1).to(distance)


SEARCHES: dict[str, Callable[[Ray, float, Tensor], Tensor]] = {"exact": largest_within, "paper": root_of_fit}
