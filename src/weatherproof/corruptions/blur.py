"""Blur: out of focus, through frosted glass, of a moving or zooming camera, and Gaussian."""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor

from .draws import Draws
from .filters import HEIGHT, WIDTH, as_bytes, bell, correlated, gaussian, motion_blurred, outside, widened, zoomed


def gaussian_blur(pixels: Tensor, sigma: float, draws: Draws) -> Tensor:
    """A Gaussian of `sigma` pixels."""
    return as_bytes(gaussian(pixels.float(), sigma))


def defocus_blur(pixels: Tensor, parameters: tuple[float, float], draws: Draws) -> Tensor:
    """A disk, its rim softened a little; outside lies the mirror image."""
    kernel = _disk(*parameters)
    reach = len(kernel) - 1
    wide = widened(pixels.float(), reach, "mirror")
    width, height = pixels.shape[WIDTH], pixels.shape[HEIGHT]
    # The kernel is symmetric: left and right are added first, then weighted for each row, then rows above and below.
    sides = [_both_sides(wide, WIDTH, k, reach, width) for k in range(reach + 1)]
    total = torch.zeros_like(pixels, dtype=torch.float32)
    for row in range(reach + 1):
        weighted = sides[0] * kernel[row][0]
        for k in range(1, reach + 1):
            if kernel[row][k]:
                weighted.add_(sides[k], alpha=kernel[row][k])
        total.add_(_both_sides(weighted, HEIGHT, row, reach, height))
    return as_bytes(total)


def _both_sides(wide: Tensor, dim: int, distance: int, margin: int, length: int) -> Tensor:
    """The pixels at a distance on either side of each one."""
    before = wide.narrow(dim, margin - distance, length)
    return before + wide.narrow(dim, margin + distance, length) if distance else before


@functools.lru_cache(maxsize=64)
def _disk(radius: float, softness: float) -> list[list[float]]:
    """The lower right quarter of the kernel, its middle first, without the zeros around it."""
    reach = 8 if radius <= 8 else int(radius)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disk = (x**2 + y**2 <= radius**2).astype(np.float64)
    disk /= disk.sum()
    # The softening mirrors what would leave the array back into it.
    margin = 1 if radius <= 8 else 2
    around = outside(len(disk), margin, margin, "mirror")
    wide = torch.from_numpy(disk[np.ix_(around, around)])[None, :, :, None]
    weights = bell(softness, margin).tolist()
    soft = correlated(correlated(wide, weights, HEIGHT), weights, WIDTH)[0, :, :, 0].numpy()
    quarter: np.ndarray = soft[reach:, reach:]
    used = int((quarter[0] > 1e-9).sum())  # disks are as high as they are wide
    kernel: list[list[float]] = quarter[:used, :used].tolist()
    return kernel


def glass_blur(pixels: Tensor, parameters: tuple[float, int, int], draws: Draws) -> Tensor:
    """Pixels that take their neighbours' place, between two Gaussian blurs."""
    sigma, reach, rounds = parameters
    batch, height, width, channels = pixels.shape
    source = torch.arange(height * width, device=pixels.device).expand(batch, -1)
    # Round k reads x_k[p] = x_{k-1}[m_k(p)], so the places of all rounds together are m_1(m_2(...(p))).
    for step in [_jumbled(height, width, reach, draws) for _ in range(rounds)][::-1]:
        source = step.gather(1, source)
    first = torch.arange(batch, device=pixels.device)[:, None] * (height * width)
    blurred = as_bytes(gaussian(pixels.float(), sigma))
    moved = blurred.view(-1, channels).index_select(0, (source + first).view(-1)).view(pixels.shape)
    return as_bytes(gaussian(moved.float(), sigma))


def _jumbled(height: int, width: int, reach: int, draws: Draws) -> Tensor:
    """Where each pixel comes from after one round: (B, H * W).

    The round goes from the lower right to the upper left and copies to each pixel p the one at p + d, with d drawn from
    -reach..reach-1 in both directions. (The published code means to swap the two, but what it swaps are views of one
    array, which copies.) Where p + d has had its turn before p, p gets what was copied there; and so on.
    """
    rows, columns = torch.arange(height, device=draws.device)[:, None], torch.arange(width, device=draws.device)
    inside = (rows > reach) & (rows <= height - reach) & (columns > reach) & (columns <= width - reach)
    down, right = draws.integers(-reach, reach, 2, height, width).unbind(1)
    place = rows * width + columns
    target = torch.where(inside, place + down * width + right, place).flatten(1)
    if reach == 1:  # only what lies above or to the left is copied, and has not had its turn
        return target
    earlier = ((down > 0) | ((down == 0) & (right > 0))).flatten(1) & inside.flatten().take(target)
    # A chain of copies ends at a pixel that was read before its turn. Follow all chains, twice as far each time.
    while bool(earlier.any()):
        follow, further = target.gather(1, target), earlier.gather(1, target)
        target, earlier = torch.where(earlier, follow, target), earlier & further
    return target


def motion_blur(pixels: Tensor, parameters: tuple[float, float], draws: Draws) -> Tensor:
    """A camera that moves to one side, up to 45 degrees up or down."""
    angles = draws.uniform(-45, 45)
    return motion_blurred(pixels.float(), *parameters, angles).to(torch.uint8)


def zoom_blur(pixels: Tensor, parameters: tuple[float, float], draws: Draws) -> Tensor:
    """The mean of the image and of its enlargements by 1, 1 + step, ... up to, about, the largest zoom."""
    # np.arange's length depends on how the quotient rounds: the published images do.
    factors = np.arange(1, *parameters).tolist()
    values = pixels.float()
    total = values.clone()
    for factor in factors:
        total += zoomed(values, factor)
    return as_bytes(total.div_(len(factors) + 1))
