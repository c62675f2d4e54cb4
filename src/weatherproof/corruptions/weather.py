"""Weather: snow and fog. (Brightness is in colour.py, frost in frost.py.)"""

from __future__ import annotations

import torch
from torch import Tensor

from .draws import Draws
from .filters import as_bytes, motion_blurred, zoomed

LUMA = (0.299, 0.587, 0.114)


def luma(values: Tensor) -> Tensor:
    """Brightness of each pixel: (..., 3) to (..., 1); grey images are their own."""
    if values.shape[-1] == 1:
        return values
    red, green, blue = values.unbind(-1)
    return (red * LUMA[0]).add_(green, alpha=LUMA[1]).add_(blue, alpha=LUMA[2])[..., None]


def snow(pixels: Tensor, parameters: tuple[float, ...], draws: Draws) -> Tensor:
    """Whitened a little, under flakes that fall one way and, turned around, the other."""
    mean, std, zoom, threshold, radius, sigma, share = parameters
    height, width = pixels.shape[1:3]
    flakes = zoomed(draws.normal(255 * mean, 255 * std, height, width, 1), zoom)
    flakes = torch.where(flakes < 255 * threshold, 0, flakes).clamp_(0, 255).floor_()
    flakes = motion_blurred(flakes, radius, sigma, draws.uniform(-135, -45))
    values = pixels.float()
    white = torch.maximum(values, luma(values) * 1.5 + 127.5)
    values = values.mul_(share).add_(white, alpha=1 - share)
    return as_bytes(values.add_(flakes).add_(flakes.flip(1, 2)))


def fog(pixels: Tensor, parameters: tuple[float, float], draws: Draws) -> Tensor:
    """A fractal haze; the brightest value of the image stays about what it was."""
    strength, decay = parameters
    height, width = pixels.shape[1:3]
    brightest = pixels.amax(dim=(1, 2, 3), keepdim=True).float()
    # Maps are powers of two: 32 for CIFAR, 256 for ImageNet.
    side = max(32, 1 << (max(height, width) - 1).bit_length())
    haze = _plasma(side, decay, draws)[:, :height, :width, None]
    # (x + c haze) m / (m + c), with x and m in [0, 1].
    share = brightest / (brightest + 255 * strength)
    return as_bytes(haze.mul(255 * strength).add(pixels).mul_(share))


def _plasma(side: int, decay: float, draws: Draws) -> Tensor:
    """Fractal noise in [0, 1] by the diamond-square algorithm on a torus: (B, side, side).

    A grid that is known at every `step` is halved: middles are means of four known neighbours, moved by up to w^2.
    """
    grid = torch.zeros(len(draws), side, side, device=draws.device)
    step, w = side, 100.0
    while step >= 2:
        half = step // 2
        corners = grid[:, ::step, ::step]
        n = side // step
        moves = draws.uniform(-w * w, w * w, 3, n, n).unbind(1)
        below = corners + corners.roll(-1, 1)
        centres = torch.add(moves[0], below + below.roll(-1, 2), alpha=0.25)
        grid[:, half::step, half::step] = centres
        # Middles of horizontal edges lie between two corners, and between the centres above and below.
        level = corners + corners.roll(-1, 2) + centres + centres.roll(1, 1)
        upright = below + centres + centres.roll(1, 2)
        grid[:, ::step, half::step] = torch.add(moves[1], level, alpha=0.25)
        grid[:, half::step, ::step] = torch.add(moves[2], upright, alpha=0.25)
        step, w = half, w / decay
    flat = grid.view(len(grid), -1)
    low, high = (bound.view(-1, 1, 1) for bound in torch.aminmax(flat, dim=1))
    return (grid - low) / (high - low)
