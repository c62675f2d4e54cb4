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
    falls = _falls(*parameters)
    reach, (height, width) = len(falls) - 1, pixels.shape[1:3]
    wide = widened(pixels.float(), reach, "mirror", (WIDTH,))
    # boxes[j]: sums of the 2 j + 1 pixels around each one in its row. A row of the kernel is a box, but for its rim.
    boxes = [wide.narrow(WIDTH, reach, width)]
    for k in range(1, reach + 1):
        sides = wide.narrow(WIDTH, reach - k, width) + wide.narrow(WIDTH, reach + k, width)
        boxes.append(sides.add_(boxes[-1]))
    places = torch.from_numpy(outside(height, reach, reach, "mirror")).to(pixels.device)
    total, weighted, moved = (torch.zeros_like(boxes[-1]) for _ in range(3))
    for row, weights in enumerate(falls):
        (first, weight), *rest = [(box, fall) for box, fall in zip(boxes, weights, strict=True) if fall]
        torch.mul(first, weight, out=weighted)
        for box, fall in rest:
            weighted.add_(box, alpha=fall)
        for below in (row, -row) if row else (0,):
            rows = places[reach + below : reach + below + height]
            total.add_(torch.index_select(weighted, HEIGHT, rows, out=moved))
    return as_bytes(total)


@functools.lru_cache(maxsize=64)
def _falls(radius: float, softness: float) -> list[list[float]]:
    """By how much each row of `_disk` falls from one place to the next: the weights of boxes that add up to it."""
    quarter = np.array(_disk(radius, softness))
    falls = -np.diff(quarter, axis=1, append=0)
    falls[np.abs(falls) < 1e-9] = 0  # the plain part of the disk; what remains is its rim
    listed: list[list[float]] = falls.tolist()
    return listed


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
    moves = down.mul_(width).add_(right).mul_(inside).flatten(1)
    target = torch.arange(height * width, device=draws.device) + moves
    if reach == 1:  # only what lies above or to the left is copied, and has not had its turn
        return target
    earlier = (moves > 0) & inside.flatten().take(target)
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
