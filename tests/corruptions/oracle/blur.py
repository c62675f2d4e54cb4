"""The blurs: Gaussian, glass, defocus, motion, zoom. One image at a time, (H, W, C)."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import cv2
import numpy as np
from PIL import Image
from scipy import ndimage

try:
    from wand.image import Image as Magick
except ImportError:  # Wand raises it too where ImageMagick's library is missing
    Magick = None

Pixels = np.ndarray


def gaussian(x: Pixels, sigma: float, mode: str = "nearest", truncate: float = 4.0) -> Pixels:
    """Each channel of (H, W, C), or (H, W), blurred by itself."""
    axes = (sigma, sigma, 0)[: x.ndim]
    return ndimage.gaussian_filter(x, axes, mode=mode, truncate=truncate)


def gaussian_blur(x: Pixels, sigma: float, rng: np.random.Generator) -> Pixels:
    return gaussian(x, sigma).clip(0, 1)


def glass_blur(x: Pixels, row: tuple[float, int, int], rng: np.random.Generator, offsets: Any = None) -> Pixels:
    """`offsets`: one (rounds, rows, columns, 2) array of (dx, dy), in the order in which pixels are visited."""
    sigma, reach, rounds = row
    height, width = x.shape[:2]
    shuffled = np.uint8(gaussian(x, sigma) * 255)  # truncated
    rows, columns = np.arange(height - reach, reach, -1), np.arange(width - reach, reach, -1)
    if offsets is None:
        offsets = rng.integers(-reach, reach, (rounds, len(rows), len(columns), 2))  # the upper end never comes
    source = list(range(height * width))  # where the pixel that is now here came from
    for dx, dy in zip(offsets[..., 0], offsets[..., 1], strict=True):
        here = rows[:, None] * width + columns
        there = (rows[:, None] + dy) * width + columns + dx
        # The original swaps two views of one array, x[h, w], x[h', w'] = x[h', w'], x[h, w]: the second assignment
        # reads what the first has just written, so the pixel is copied and x[h', w'] keeps its value.
        for target, origin in zip(here.ravel().tolist(), there.ravel().tolist(), strict=True):
            source[target] = source[origin]
    shuffled = shuffled.reshape(height * width, -1)[source].reshape(x.shape)
    return gaussian(shuffled / 255.0, sigma).clip(0, 1)


def disk(radius: float, alias_blur: float) -> Pixels:
    if radius <= 8:
        line, side = np.arange(-8, 9), 3
    else:
        line, side = np.arange(-radius, radius + 1), 5
    inside = (line[:, None] ** 2 + line**2 <= radius**2).astype(np.float32)
    return cv2.GaussianBlur(inside / inside.sum(), (side, side), sigmaX=alias_blur)


def defocus_blur(x: Pixels, row: tuple[float, float], rng: np.random.Generator) -> Pixels:
    kernel = disk(*row)
    return np.dstack([cv2.filter2D(x[..., c], -1, kernel) for c in range(x.shape[2])]).clip(0, 1)


def magick_motion_blur(image: Pixels, radius: float, sigma: float, angle: float) -> Pixels:
    """ImageMagick's own, on uint8 (H, W, 3) or (H, W); angle in degrees."""
    if Magick is None:
        raise RuntimeError("motion blur needs Wand and ImageMagick's library")
    png = BytesIO()
    Image.fromarray(image).save(png, "PNG")
    with Magick(blob=png.getvalue()) as picture:
        picture.motion_blur(radius=radius, sigma=sigma, angle=angle)
        picture.depth = 8
        blob = picture.make_blob("RGB")
    blurred = np.frombuffer(blob, np.uint8).reshape(*image.shape[:2], 3)
    return blurred if image.ndim == 3 else blurred[..., 0]


def motion_blur(
    image: Pixels, row: tuple[float, float], rng: np.random.Generator, angle: float | None = None
) -> Pixels:
    radius, sigma = row
    return magick_motion_blur(image, radius, sigma, rng.uniform(-45, 45) if angle is None else angle)


def clipped_zoom(x: Pixels, factor: float) -> Pixels:
    """The middle of (H, W, C), enlarged; sides may exceed those of x by nothing but are never short."""
    height, width = x.shape[:2]
    rows, columns = int(np.ceil(height / factor)), int(np.ceil(width / factor))
    top, left = (height - rows) // 2, (width - columns) // 2
    large = ndimage.zoom(x[top : top + rows, left : left + columns], (factor, factor, 1), order=1)
    top, left = (large.shape[0] - height) // 2, (large.shape[1] - width) // 2
    return large[top : top + height, left : left + width]


def zoom_blur(x: Pixels, row: tuple[float, float], rng: np.random.Generator) -> Pixels:
    stop, step = row
    factors = np.arange(1, stop, step)  # floating-point steps: some of these end one factor later than one would think
    x = x.astype(np.float32)
    total = np.zeros_like(x)
    for factor in factors:
        total += clipped_zoom(x, factor)
    return ((x + total) / (len(factors) + 1)).clip(0, 1)
