"""A contact sheet: rows of small images with a title each, as one PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from ..errors import InputError
from ..files import write_atomically

GAP, TITLE, SIDE = 6, 20, 96  # pixels: between images, of a title's line, of the least an image is shown at


def write_contact_sheet(path: Path, rows: Sequence[tuple[str, Tensor]]) -> None:
    """Write `rows` of a title and float images (N, 1 or 3, H, W) in [0, 1], all of one size, as a PNG.

    Small images are enlarged by whole factors without smoothing: what is seen is the data.
    """
    if not rows or len({tuple(images.shape[2:]) for _, images in rows}) != 1:
        raise InputError("a contact sheet wants at least one row, and images of one size")
    height, width = rows[0][1].shape[2:]
    factor = max(1, -(-SIDE // max(height, width)))
    tall, wide = factor * height, factor * width
    columns = max(len(images) for _, images in rows)
    sheet = Image.new("RGB", (GAP + columns * (wide + GAP), len(rows) * (TITLE + tall + GAP) + GAP), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for row, (title, images) in enumerate(rows):
        top = GAP + row * (TITLE + tall + GAP)
        pen.text((GAP, top), title, fill="#222222", font=font)
        for column, image in enumerate(images):
            shown = _opened(image).resize((wide, tall), Image.Resampling.NEAREST)
            sheet.paste(shown, (GAP + column * (wide + GAP), top + TITLE))
    written = io.BytesIO()
    sheet.save(written, "PNG", optimize=True)
    write_atomically(path, written.getvalue())


def _opened(image: Tensor) -> Image.Image:
    pixels = (image.detach().float().clamp(0, 1) * 255).round().byte().cpu()
    return Image.fromarray(pixels.expand(3, -1, -1).permute(1, 2, 0).contiguous().numpy())
