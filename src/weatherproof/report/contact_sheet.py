"""A contact sheet: rows of small images with a title each, as one PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from ..errors import InputError
from ..files import write_atomically

GAP, TITLE, SIDE = 6, 20, 96  # pixels: between images, of a title's line, of the least an image is shown at
CAPTION = 15  # pixels of a line below an image


def write_contact_sheet(
    path: Path, rows: Sequence[tuple[str, Tensor]], captions: Sequence[Sequence[str]] | None = None
) -> None:
    """Write `rows` of a title and float images (N, 1 or 3, H, W) in [0, 1], all of one size, as a PNG.

    `captions` has a line for each image of each row; an empty row has none. Small images are enlarged by whole factors
    without smoothing: what is seen is the data.
    """
    if not rows or len({tuple(images.shape[2:]) for _, images in rows}) != 1:
        raise InputError("a contact sheet wants at least one row, and images of one size")
    height, width = rows[0][1].shape[2:]
    factor = max(1, -(-SIDE // max(height, width)))
    tall, wide = factor * height, factor * width
    columns = max(len(images) for _, images in rows)
    said = list(captions or [[]] * len(rows))
    heights = [TITLE + tall + (CAPTION if lines else 0) + GAP for lines in said]
    sheet = Image.new("RGB", (GAP + columns * (wide + GAP), sum(heights) + GAP), "white")
    pen, font, small = ImageDraw.Draw(sheet), ImageFont.load_default(13), ImageFont.load_default(11)
    top = GAP
    for (title, images), lines, taken in zip(rows, said, heights, strict=True):
        pen.text((GAP, top), title, fill="#222222", font=font)
        for column, image in enumerate(images):
            left = GAP + column * (wide + GAP)
            sheet.paste(_opened(image).resize((wide, tall), Image.Resampling.NEAREST), (left, top + TITLE))
            if lines:
                pen.text((left, top + TITLE + tall + 1), _cut(lines[column], small, wide), fill="#222222", font=small)
        top += taken
    written = io.BytesIO()
    sheet.save(written, "PNG", optimize=True)
    write_atomically(path, written.getvalue())


def _cut(text: str, font: Any, width: int) -> str:
    """As much of a line as fits."""
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "…") > width:
        text = text[:-1]
    return text + "…"


def _opened(image: Tensor) -> Image.Image:
    pixels = (image.detach().float().clamp(0, 1) * 255).round().byte().cpu()
    return Image.fromarray(pixels.expand(3, -1, -1).permute(1, 2, 0).contiguous().numpy())
