"""Pictures inside the page: checked to be pictures, and made smaller where many would make it heavy."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from PIL import Image

from ..errors import InputError

PREFIX = "data:image/png;base64,"
BUDGET = 1_000_000  # characters of pictures in a page that should stay under 2 MB
FEW_PIXELS = 64  # a side
LARGEST = 1_024  # pixels a side; records hold pictures far smaller
SMALLER = ((96, 85), (80, 75), (64, 65), (48, 50), (32, 40))  # pixels a side and WebP quality, tried in this order


def checked_picture(uri: Any, where: str) -> str:
    """The same data URI, when it is a PNG of moderate size that can be decoded; else an `InputError`."""
    if not isinstance(uri, str) or not uri.startswith(PREFIX):
        raise InputError(f"{where} is not a {PREFIX}... picture")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a picture that is a bomb only warns
            picture = Image.open(io.BytesIO(base64.b64decode(uri[len(PREFIX) :], validate=True)), formats=("PNG",))
            if max(picture.size) > LARGEST:
                raise InputError(f"{where} is {picture.width} x {picture.height}; at most {LARGEST} pixels a side")
            picture.load()
    except InputError:
        raise
    except Exception as error:  # a broken file can make Pillow raise anything
        raise InputError(f"{where} is a broken PNG") from error
    return uri


@dataclass(frozen=True)
class Shown:
    """A picture as the page has it. Few pixels are to be shown as squares: smoothed, they would not be the data."""

    source: str
    few_pixels: bool


def lighter(pictures: Iterable[str], budget: int = BUDGET) -> dict[str, Shown]:
    """For each picture what to show: itself while all of them together fit into the budget, else a smaller WebP of it.

    The first of `SMALLER` that fits is taken, the last one at any rate.
    """
    unique = list(dict.fromkeys(pictures))
    found = {uri: uri for uri in unique}
    for side, quality in SMALLER:
        if sum(map(len, found.values())) <= budget:
            break
        found = {uri: _webp(uri, side, quality) for uri in unique}
    return {uri: Shown(source, max(_opened(uri).size) <= FEW_PIXELS) for uri, source in found.items()}


def _webp(uri: str, side: int, quality: int) -> str:
    picture = _opened(uri).convert("RGB")
    picture.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=quality, method=4)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def _opened(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri[len(PREFIX) :])), formats=("PNG",))
