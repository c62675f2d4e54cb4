"""Noise on every value: Gaussian, shot, impulse, speckle. x is float64 in [0, 1]; so is what comes back."""

from __future__ import annotations

import numpy as np

Pixels = np.ndarray


def gaussian_noise(x: Pixels, sigma: float, rng: np.random.Generator) -> Pixels:
    return (x + rng.normal(0, sigma, x.shape)).clip(0, 1)


def shot_noise(x: Pixels, photons: float, rng: np.random.Generator) -> Pixels:
    return (rng.poisson(x * photons) / photons).clip(0, 1)


def impulse_noise(x: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    flipped = rng.random(x.shape) < amount
    salt = rng.random(x.shape) < 0.5
    return np.where(flipped, np.where(salt, 1.0, 0.0), x)


def speckle_noise(x: Pixels, sigma: float, rng: np.random.Generator) -> Pixels:
    return (x + x * rng.normal(0, sigma, x.shape)).clip(0, 1)
