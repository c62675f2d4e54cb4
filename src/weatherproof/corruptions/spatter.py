"""Spatter: drops of water, or of mud, on the lens.

Drops are where smooth noise exceeds a threshold. Water is brighter towards the rims of its drops, which the published
procedure finds with OpenCV's edge detector and distance transform; here are both, for a batch of images at once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .draws import Draws
from .filters import HEIGHT, WIDTH, as_bytes, correlated, gaussian, widened
from .weather import luma

WATER, MUD = (175, 238, 238), (63, 42, 20)
EDGE, SURE_EDGE = 50, 150  # Canny's thresholds: what continues an edge, what begins one
FARTHEST = 20.0  # pixels; a drop has no rim beyond
# Lengths of a step to the side, along a diagonal, and of a knight's move: what a 5x5 distance transform adds up.
SIDE, DIAGONAL, KNIGHT = 1.0, 1.4, 2.1969
SIDES, DIAGONALS, KNIGHTS = ((0, 1), (1, 0)), ((1, 1), (1, -1)), ((1, 2), (1, -2), (2, 1), (2, -1))  # down, right


def spatter(pixels: Tensor, parameters: tuple[float, ...], draws: Draws) -> Tensor:
    """Water at severities 1 to 3, mud at 4 and 5; on the ImageNet scale likewise."""
    mean, std, blur, threshold, strength, mud = parameters
    liquid = gaussian(draws.normal(mean, std, *pixels.shape[1:3], 1), blur)
    return _muddy(pixels, liquid > threshold, strength) if mud else _wet(pixels, liquid, threshold, strength)


def _muddy(pixels: Tensor, drops: Tensor, blur: float) -> Tensor:
    cover = gaussian(drops.float(), blur)
    cover = torch.where(cover < 0.8, 0, cover)
    return as_bytes(pixels * (1 - cover) + cover * _colour(MUD, pixels))


def _wet(pixels: Tensor, liquid: Tensor, threshold: float, strength: float) -> Tensor:
    film = torch.where(liquid < threshold, 0, liquid * 255).clamp_(0, 255).floor_()
    rims = distances(edges(film[..., 0]))[..., None].clamp_max(FARTHEST)
    relief = equalised(_box(rims).floor())
    # A slope from the upper left to the lower right: [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]].
    wide = widened(relief, 1, "mirror")
    slopes = ((-2, -1, 0), (-1, 1, 1), (0, 1, 2))
    lit = torch.zeros_like(relief)
    for y, row in enumerate(slopes):
        for x, slope in enumerate(row):
            if slope:
                lit.add_(wide[:, y : y + relief.shape[HEIGHT], x : x + relief.shape[WIDTH]], alpha=slope)
    cover = film * _box(lit.clamp(0, 255)).round_()
    cover *= strength / cover.amax(dim=(1, 2, 3), keepdim=True).clamp_min(1)
    return as_bytes(pixels + cover * _colour(WATER, pixels))


def _colour(colour: tuple[int, int, int], pixels: Tensor) -> Tensor:
    """As (3,), or (1,) for grey images."""
    values = torch.tensor(colour, dtype=torch.float32, device=pixels.device)
    return values if pixels.shape[3] == 3 else luma(values[None])[0]


def _box(values: Tensor) -> Tensor:
    """The mean of 3x3 pixels of (B, H, W, 1); outside lies the mirror image."""
    wide = widened(values, 1, "mirror")
    return correlated(correlated(wide, [1.0] * 3, HEIGHT), [1.0] * 3, WIDTH) / 9


def equalised(values: Tensor) -> Tensor:
    """Whole numbers in 0..255, spread so that their cumulative histogram is a line: (B, H, W, 1) to the same."""
    flat = values.long().flatten(1)
    histogram = torch.zeros(len(flat), 256, device=values.device).scatter_add_(1, flat, torch.ones_like(flat).float())
    first = histogram.gather(1, flat.amin(dim=1, keepdim=True))
    # The smallest value becomes 0, and value v the share of the other pixels that are at most v.
    others = (flat.shape[1] - first).clamp_min(1)
    table = ((histogram.cumsum(1) - first).clamp_min(0) * (255 / others)).round_()
    spread = table.gather(1, flat).view(values.shape)
    uniform = (first == flat.shape[1]).view(-1, 1, 1, 1)  # nothing to spread
    return torch.where(uniform, values, spread)


def edges(film: Tensor) -> Tensor:
    """Canny's edges of whole numbers in 0..255 (B, H, W): a mask of the same shape.

    Gradients by Sobel, |dx| + |dy|; kept where they are largest across the edge; joined to a sure edge.
    """
    wide = widened(film[..., None], 1, "edge")[..., 0]
    across = wide[:, :, 2:] - wide[:, :, :-2]
    down = wide[:, 2:] - wide[:, :-2]
    dx = across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:]
    dy = down[:, :, :-2] + 2 * down[:, :, 1:-1] + down[:, :, 2:]
    broad, tall = dx.abs(), dy.abs()
    size = broad + tall

    height, width = film.shape[1:]
    around = torch.nn.functional.pad(size, (1, 1, 1, 1))

    def beside(y: int, x: int) -> Tensor:
        return around[:, 1 + y : 1 + y + height, 1 + x : 1 + x + width]

    flat = tall < math.tan(math.pi / 8) * broad
    steep = tall > math.tan(3 * math.pi / 8) * broad
    same_sign = (dx < 0) == (dy < 0)
    slanted = torch.where(
        same_sign, (size > beside(-1, -1)) & (size > beside(1, 1)), (size > beside(-1, 1)) & (size > beside(1, -1))
    )
    upright = (size > beside(-1, 0)) & (size >= beside(1, 0))
    level = (size > beside(0, -1)) & (size >= beside(0, 1))
    largest = torch.where(flat, level, torch.where(steep, upright, slanted))
    return _joined((size > EDGE) & largest, size > SURE_EDGE)


def _joined(possible: Tensor, sure: Tensor) -> Tensor:
    """The possible pixels that are connected to a sure one through possible ones."""
    found = possible & sure
    while True:
        grown = _grown(_grown(found) & possible) & possible
        if bool((grown == found).all()):
            return found
        found = grown


def _grown(mask: Tensor) -> Tensor:
    """The mask and its neighbours in all eight directions."""
    tall = mask.clone()
    tall[:, 1:] |= mask[:, :-1]
    tall[:, :-1] |= mask[:, 1:]
    wide = tall.clone()
    wide[:, :, 1:] |= tall[:, :, :-1]
    wide[:, :, :-1] |= tall[:, :, 1:]
    return wide


def distances(mask: Tensor) -> Tensor:
    """How far each pixel is from the mask (B, H, W), in steps to the side, along a diagonal and as a knight moves; from
    `FARTHEST` on, only that it is at least so far.

    The shortest path takes steps of two neighbouring directions, in any order. So all steps along one axis may come
    first, then all along the next; and n steps along an axis are found in log n rounds, by doubling.
    """
    # Images last: a shift to any side is then a run of memory.
    far = torch.where(mask, 0.0, FARTHEST).permute(1, 2, 0).contiguous()
    scratch = torch.empty_like(far)  # fresh memory for every step would cost more than the step
    for axes, length in ((SIDES, SIDE), (DIAGONALS, DIAGONAL), (KNIGHTS, KNIGHT)):
        for down, right in axes:
            step = 1
            while step == 1 or (step - 1) * length < FARTHEST:
                _step(far, scratch, step * down, step * right, step * length)
                step *= 2
    return far.permute(2, 0, 1)


def _step(far: Tensor, scratch: Tensor, down: int, right: int, length: float) -> None:
    """Every pixel of (H, W, B) may be reached, either way, from the one at (down, right) at the cost of `length`."""
    height, width = far.shape[:2]
    if down >= height or abs(right) >= width:
        return
    upper, lower = far[: height - down], far[down:]
    here, there = upper[:, max(0, -right) : width - max(0, right)], lower[:, max(0, right) : width + min(0, right)]
    through = scratch[: here.shape[0], : here.shape[1]]
    torch.minimum(here, torch.add(there, length, out=through), out=here)
    torch.minimum(there, torch.add(here, length, out=through), out=there)
