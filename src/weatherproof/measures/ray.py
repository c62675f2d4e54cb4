"""SSIM along a straight line from one image to another: five blurs serve every point of it."""

from __future__ import annotations

import torch
from torch import Tensor

from .similarity import C1, C2, check_window, moments

ELEMENTS = 2**17  # about what stays in a core's own cache while it is worked on


class Ray:
    """``1 - SSIM(x, x + gamma (y - x))`` for batches x, y of float images (N, C, H, W), at any gamma in [0, 1].

    Along the ray every local mean, variance and covariance is a polynomial in gamma. With d = y - x,

        mean = mean_x + gamma mean_d,   variance = variance_x + 2 gamma cov_xd + gamma^2 variance_d,
        covariance = variance_x + gamma cov_xd,

    so that, with p = 2 mean_x^2 + C1 + 2 gamma mean_x mean_d and s = 2 variance_x + C2 + 2 gamma cov_xd, each window's

        SSIM = p / (p + gamma^2 mean_d^2) x s / (s + gamma^2 variance_d).
    """

    def __init__(self, x: Tensor, y: Tensor) -> None:
        check_window(x)
        d = y - x
        mean_x, mean_d, variance_x, variance_d, covariance = moments(x, d)
        parts = 2 * mean_x**2 + C1, 2 * mean_x * mean_d, mean_d**2, 2 * variance_x + C2, 2 * covariance, variance_d
        self.parts = [part.flatten(1) for part in parts]

    def __getitem__(self, examples: Tensor) -> Ray:
        """The rays of some examples only."""
        chosen = object.__new__(Ray)
        chosen.parts = [part[examples] for part in self.parts]
        return chosen

    def distances(self, gammas: Tensor) -> Tensor:
        """At gammas (N, G), each image's own: (N, G)."""
        count, windows = self.parts[0].shape
        at_once = max(1, ELEMENTS // max(1, count * windows))
        return torch.cat([self._distances(some) for some in torch.split(gammas, at_once, dim=1)], dim=1)

    def _distances(self, gammas: Tensor) -> Tensor:
        gamma = gammas[:, :, None]
        p0, p1, p2, s0, s1, s2 = (part[:, None] for part in self.parts)
        p, s, square = torch.addcmul(p0, p1, gamma), torch.addcmul(s0, s1, gamma), gamma**2
        numerator = p * s
        similarity = numerator / (p.addcmul_(p2, square) * s.addcmul_(s2, square))
        return 1 - similarity.mean(dim=2)
