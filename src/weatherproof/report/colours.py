"""The colour scale of errors: equal steps of error are equal steps of colour, and of lightness, for every eye.

The path runs through OKLab (Ottosson 2020) from paper to ink, over orange and purple. Its lightness falls in equal
steps, so that it can be told apart in grey print and by eyes that do not see red or green.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LEVELS = 50  # steps between the ends
# Lightness, chroma and hue in degrees, at equal distances along the scale.
PATH = (
    (0.965, 0.022, 95), (0.885, 0.085, 82), (0.795, 0.135, 62), (0.695, 0.165, 40), (0.590, 0.178, 15),
    (0.485, 0.165, 345), (0.385, 0.140, 318), (0.290, 0.105, 295), (0.205, 0.065, 280),
)  # fmt: skip
Colour = tuple[float, float, float]
# Colours of classifiers on a light and on a dark page; they read as text on either, and differ in lightness as well.
CLASSIFIERS = (
    ("#1d5fa8", "#7fb5f0"), ("#bf4008", "#ff9c66"), ("#12694d", "#5fd0a5"), ("#7443b3", "#c3a5f5"),
    ("#856200", "#e5c352"), ("#ad2a72", "#f78fc4"), ("#0b6a85", "#66cde2"), ("#63554a", "#cbbba9"),
)  # fmt: skip


@dataclass(frozen=True)
class Level:
    """A step of the scale: its colour, and the one that text on it has."""

    number: int
    fill: str
    ink: str


def scale(dark: bool = False) -> list[Level]:
    """LEVELS + 1 steps from no error to the largest; on a dark page it starts from the dark end, so that errors always
    stand out from the page."""
    path = [_rgb(_along(i / LEVELS)) for i in range(LEVELS + 1)]
    if dark:
        path.reverse()
    return [Level(i, _hexadecimal(colour), _ink(colour)) for i, colour in enumerate(path)]


def level(value: float, largest: float) -> int:
    """The step for a value between 0 and `largest`."""
    return round(LEVELS * min(1.0, max(0.0, value / largest)))


def styles() -> str:
    """The scale and the colours of classifiers as CSS; on paper it is always light."""
    return f"{_styles(dark=False)}@media screen and (prefers-color-scheme: dark) {{\n{_styles(dark=True)}}}\n"


def _styles(dark: bool) -> str:
    steps = (f".l{step.number}{{background:{step.fill};color:{step.ink}}}\n" for step in scale(dark))
    ours = (f".c{i}{{--colour:{pair[dark]}}}\n" for i, pair in enumerate(CLASSIFIERS))
    return "".join((*steps, *ours))


def contrast(a: Colour, b: Colour) -> float:
    """WCAG 2's contrast ratio of two sRGB colours in [0, 1]: 1 to 21."""
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _along(position: float) -> Colour:
    """OKLab at a position in [0, 1] along the path, linear in between."""
    steps = [_lab(*point) for point in PATH]
    place = position * (len(steps) - 1)
    i = min(int(place), len(steps) - 2)
    a, b = steps[i], steps[i + 1]
    part = place - i
    return (a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]), a[2] + part * (b[2] - a[2]))


def _lab(lightness: float, chroma: float, hue: float) -> Colour:
    angle = math.radians(hue)
    return lightness, chroma * math.cos(angle), chroma * math.sin(angle)


def _rgb(lab: Colour) -> Colour:
    """OKLab to sRGB in [0, 1]; what lies outside is cut."""
    lightness, a, b = lab
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3  # noqa: E741
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )
    red, green, blue = (_gamma(min(1.0, max(0.0, value))) for value in linear)
    return red, green, blue


def _gamma(value: float) -> float:
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _luminance(colour: Colour) -> float:
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _ink(colour: Colour) -> str:
    """Black or white, whichever stands out more; at least 4.5 against any colour."""
    return "#000" if contrast(colour, (0, 0, 0)) >= contrast(colour, (1, 1, 1)) else "#fff"


def _hexadecimal(colour: Colour) -> str:
    return "#" + "".join(f"{round(255 * value):02x}" for value in colour)
