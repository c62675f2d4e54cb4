"""Snow, frost, fog, brightness, spatter. One image at a time, (H, W, 3)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from skimage.color import hsv2rgb, rgb2hsv

from .blur import clipped_zoom, gaussian, magick_motion_blur

Pixels = np.ndarray

WATER = np.float32([175, 238, 238]) / 255
MUD = np.float32([63, 42, 20]) / 255


def snow(x: Pixels, row: tuple[float, ...], rng: np.random.Generator, angle: float | None = None) -> Pixels:
    mean, sigma, zoom, threshold, radius, motion_sigma, mix = row
    x = x.astype(np.float32)
    layer = clipped_zoom(rng.normal(mean, sigma, x.shape[:2])[..., None], zoom)[..., 0]
    layer[layer < threshold] = 0
    flakes = (layer.clip(0, 1) * 255).astype(np.uint8)  # truncated
    angle = rng.uniform(-135, -45) if angle is None else angle
    layer = magick_motion_blur(flakes, radius, motion_sigma, angle)[..., None] / 255.0
    grey = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[..., None]
    x = mix * x + (1 - mix) * np.maximum(x, grey * 1.5 + 0.5)
    return (x + layer + np.rot90(layer, 2)).clip(0, 1)


def frost_folder() -> Path:
    import imagecorruptions

    return Path(imagecorruptions.__file__).parent / "frost"


@lru_cache
def frost_photographs(resize: float) -> list[Pixels]:
    """The five that are used, RGB; the sixth never is."""
    names = ["frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg"]
    photographs = [cv2.imread(str(frost_folder() / name)) for name in names]
    if resize != 1:
        photographs = [cv2.resize(photograph, (0, 0), fx=resize, fy=resize) for photograph in photographs]
    return [photograph[..., ::-1] for photograph in photographs]


def frost(image: Pixels, row: tuple[float, float], rng: np.random.Generator, resize: float = 1) -> Pixels:
    of_image, of_frost = row
    photograph = frost_photographs(resize)[rng.integers(5)]
    height, width = image.shape[:2]
    top = rng.integers(photograph.shape[0] - height)
    left = rng.integers(photograph.shape[1] - width)
    crop = photograph[top : top + height, left : left + width]
    return (of_image * image.astype(np.float64) + of_frost * crop).clip(0, 255)


def plasma(side: int, decay: float, rng: np.random.Generator) -> Pixels:
    """Diamond-square heights on a torus, in [0, 1]."""
    heights = np.zeros((side, side))
    step, wibble = side, 100.0

    def wobbled(total: Pixels) -> Pixels:
        return total / 4 + wibble * rng.uniform(-wibble, wibble, total.shape)  # so the amplitude is wibble squared

    while step >= 2:
        half = step // 2
        corners = heights[::step, ::step].copy()
        pairs = corners + np.roll(corners, -1, axis=0)
        centres = wobbled(pairs + np.roll(pairs, -1, axis=1))
        heights[half::step, half::step] = centres
        heights[::step, half::step] = wobbled(
            corners + np.roll(corners, -1, axis=1) + centres + np.roll(centres, 1, axis=0)
        )
        heights[half::step, ::step] = wobbled(
            corners + np.roll(corners, -1, axis=0) + centres + np.roll(centres, 1, axis=1)
        )
        step, wibble = half, wibble / decay
    heights -= heights.min()
    return heights / heights.max()


def fog(x: Pixels, row: tuple[float, float], rng: np.random.Generator, side: int = 32) -> Pixels:
    strength, decay = row
    height, width = x.shape[:2]
    brightest = x.max()
    x = x + strength * plasma(side, decay, rng)[:height, :width, None]
    return (x * brightest / (brightest + strength)).clip(0, 1)


def brightness(x: Pixels, added: float, rng: np.random.Generator) -> Pixels:
    hsv = rgb2hsv(x)
    hsv[..., 2] = (hsv[..., 2] + added).clip(0, 1)
    return hsv2rgb(hsv).clip(0, 1)


def spatter(x: Pixels, row: tuple[float, ...], rng: np.random.Generator) -> Pixels:
    mean, sigma, blur, threshold, strength, mud = row
    x = x.astype(np.float32)
    liquid = gaussian(rng.normal(mean, sigma, x.shape[:2]), blur)
    liquid[liquid < threshold] = 0
    if mud:
        cover = gaussian((liquid > threshold).astype(np.float32), strength)
        cover[cover < 0.8] = 0
        return (x * (1 - cover[..., None]) + cover[..., None] * MUD).clip(0, 1)
    film = (liquid * 255).astype(np.uint8)
    distance = cv2.distanceTransform(255 - cv2.Canny(film, 50, 150), cv2.DIST_L2, 5)
    distance = np.minimum(distance, 20)
    distance = cv2.equalizeHist(cv2.blur(distance, (3, 3)).astype(np.uint8))
    distance = cv2.filter2D(distance, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    cover = film * cv2.blur(distance, (3, 3)).astype(np.float32)
    cover = cover / cover.max() * strength
    return (x + cover[..., None] * WATER).clip(0, 1)
