"""Contrast, elastic, pixelate, JPEG, saturate. One image at a time, (H, W, 3)."""

from __future__ import annotations

from io import BytesIO

import cv2
import numpy as np
from PIL import Image
from scipy import ndimage
from skimage.color import hsv2rgb, rgb2hsv

from .blur import gaussian

Pixels = np.ndarray


def contrast(x: Pixels, factor: float, rng: np.random.Generator) -> Pixels:
    mean = x.mean(axis=(0, 1), keepdims=True)
    return ((x - mean) * factor + mean).clip(0, 1)


def saturate(x: Pixels, row: tuple[float, float], rng: np.random.Generator) -> Pixels:
    factor, offset = row
    hsv = rgb2hsv(x)
    hsv[..., 1] = (hsv[..., 1] * factor + offset).clip(0, 1)
    return hsv2rgb(hsv).clip(0, 1)


def pixelate(image: Pixels, factor: float, rng: np.random.Generator) -> Pixels:
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize((int(width * factor), int(height * factor)), Image.Resampling.BOX)
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(image: Pixels, quality: int, rng: np.random.Generator) -> Pixels:
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def elastic_transform(x: Pixels, row: tuple[float, ...], rng: np.random.Generator, side: int = 32) -> Pixels:
    alpha, sigma, affine = (side * value for value in row)
    x = x.astype(np.float32)
    height, width = x.shape[:2]

    centre, s = np.float32((height, width)) // 2, min(height, width) // 3
    before = np.float32([centre + s, [centre[0] + s, centre[1] - s], centre - s])
    after = before + rng.uniform(-affine, affine, before.shape).astype(np.float32)
    matrix = cv2.getAffineTransform(before, after)
    x = cv2.warpAffine(x, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101)

    dx, dy = (gaussian(rng.uniform(-1, 1, (height, width)), sigma, "reflect", truncate=3) * alpha for _ in range(2))
    rows, columns = np.mgrid[:height, :width]
    places = [rows + dy.astype(np.float32), columns + dx.astype(np.float32)]
    channels = [ndimage.map_coordinates(x[..., c], places, order=1, mode="reflect") for c in range(x.shape[2])]
    return np.dstack(channels).clip(0, 1)
