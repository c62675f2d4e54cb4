"""Densities of numbers in [0, 1] as one SVG file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..errors import InputError
from ..files import write_atomically

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 20, 20, 20, 60
COLOURS = ("#9a1f5b", "#1f6f9a", "#7a6a00", "#3c7d3c", "#5f5a68", "#b3541e", "#4b3fa0", "#0f7f7f")
POINTS = 200


def write_densities(path: Path, title: str, axis: str, curves: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Write one smoothed density for each named sample of numbers in [0, 1]; at most eight."""
    if not 0 < len(curves) <= len(COLOURS) or not all(values for _, values in curves):
        raise InputError(f"one picture shows 1 to {len(COLOURS)} densities of at least one number; got {len(curves)}")
    reach = min(1.0, max(quantile(values, 0.995) for _, values in curves) * 1.15 + 1e-6)
    places = [reach * i / (POINTS - 1) for i in range(POINTS)]
    heights = [_density(values, places) for _, values in curves]
    highest = max(map(max, heights))
    parts = [_frame(title, axis, reach)]
    for i, ((name, values), density) in enumerate(zip(curves, heights, strict=True)):
        points = " ".join(
            f"{_x(place, reach):.1f},{_y(height, highest):.1f}" for place, height in zip(places, density, strict=True)
        )
        mean = sum(values) / len(values)
        label = escape(f"{name}: mean {mean:.3f}, 95th percentile {quantile(values, 0.95):.3f}")
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>')
        parts.append(
            f'<text x="{WIDTH - RIGHT}" y="{TOP + 16 + 17 * i}" text-anchor="end" fill="{COLOURS[i]}">{label}</text>'
        )
    write_atomically(path, "\n".join([*parts, "</svg>\n"]))


def _frame(title: str, axis: str, reach: float) -> str:
    base = HEIGHT - BOTTOM
    ticks = "".join(
        f'<text x="{_x(reach * i / 5, reach):.0f}" y="{base + 18}" text-anchor="middle">{reach * i / 5:.2g}</text>'
        for i in range(6)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#1d1a24">\n<title>{escape(title)}</title>\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fdfcf9"/>\n'
        f'<text x="{LEFT}" y="{TOP}" font-size="14" font-weight="600">{escape(title)}</text>\n'
        f'<path d="M{LEFT} {base}H{WIDTH - RIGHT}" stroke="#a39daa"/>{ticks}\n'
        f'<text x="{WIDTH / 2}" y="{base + 40}" text-anchor="middle">{escape(axis)}</text>'
    )


def _x(value: float, reach: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / reach


def _y(height: float, highest: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * 0.95 * height / highest


def _density(values: Sequence[float], places: Sequence[float]) -> list[float]:
    """A Gaussian kernel of Silverman's width, reflected at 0, below which there is nothing."""
    count = len(values)
    mean = sum(values) / count
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / count)
    spread = min(deviation, (quantile(values, 0.75) - quantile(values, 0.25)) / 1.34) or deviation
    width = max(0.9 * spread * count**-0.2, 1e-3)
    both = [*values, *(-value for value in values)]
    scale = count * width * math.sqrt(2 * math.pi)
    return [sum(math.exp(-0.5 * ((place - value) / width) ** 2) for value in both) / scale for place in places]


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share in [0, 1] of the values lies below, in between two by linear interpolation."""
    ordered = sorted(values)
    below, rest = divmod(share * (len(ordered) - 1), 1)
    low, high = ordered[int(below)], ordered[min(int(below) + 1, len(ordered) - 1)]
    return low + rest * (high - low)
