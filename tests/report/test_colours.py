"""Colours that can be read, and told apart without seeing red or green."""

from __future__ import annotations

import re

import numpy as np
import pytest
from skimage.color import rgb2lab

from weatherproof.report.colours import CLASSIFIERS, Colour, contrast, level, scale
from weatherproof.report.page import TEMPLATE


def rgb(text: str) -> Colour:
    digits = text.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


def page_colours(dark: bool) -> dict[str, Colour]:
    """The variables of the style sheet."""
    blocks = re.findall(r":root \{(.*?)\}", (TEMPLATE / "page.css").read_text(encoding="utf-8"), re.DOTALL)
    return {name: rgb(value) for name, value in re.findall(r"--([\w-]+): (#\w+)", blocks[dark])}


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast(rgb("#777"), rgb("#fff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("dark", [False, True])
def test_figures_can_be_read_on_every_colour(dark: bool) -> None:
    assert min(contrast(rgb(step.fill), rgb(step.ink)) for step in scale(dark)) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_words_and_lines_can_be_read_on_the_page(dark: bool) -> None:
    found = page_colours(dark)
    for name in ("ink", "soft", "accent"):
        assert contrast(found[name], found["page"]) >= 4.5
        assert contrast(found[name], found["faint"]) >= 4.5
    assert contrast(found["tip-ink"], found["tip"]) >= 4.5
    assert min(contrast(rgb(pair[dark]), found["page"]) for pair in CLASSIFIERS) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_lightness_falls_or_rises_in_even_steps(dark: bool) -> None:
    lightness = rgb2lab(np.array([[rgb(step.fill) for step in scale(dark)]]))[0, :, 0]
    steps = np.diff(lightness) * (1 if dark else -1)
    assert steps.min() > 0.5
    assert steps.max() < 3


def test_levels() -> None:
    assert [level(value, 80) for value in (-1, 0, 40, 80, 90)] == [0, 0, 25, 50, 50]
