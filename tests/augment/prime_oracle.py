"""The primitives of PRIME as one writes them for a single image, in numpy and float64: (C, H, W) in [0, 1]."""

from __future__ import annotations

import numpy as np


def displaced(image: np.ndarray, amplitudes: np.ndarray) -> np.ndarray:
    """Modes added up one by one, then every pixel read bilinearly; `amplitudes` are (2, rows, columns)."""
    channels, height, width = image.shape
    x, y = np.linspace(0, 1, width), np.linspace(0, 1, height)
    field = np.zeros((2, height, width))
    for direction in range(2):
        for j in range(1, amplitudes.shape[1] + 1):
            for i in range(1, amplitudes.shape[2] + 1):
                wave = np.sin(np.pi * j * y)[:, None] * np.sin(np.pi * i * x)
                field[direction] += amplitudes[direction, j - 1, i - 1] * wave
    result = np.empty_like(image)
    for row in range(height):
        for column in range(width):
            across = np.clip(column - width * field[0, row, column], 0, width - 1)
            down = np.clip(row - height * field[1, row, column], 0, height - 1)
            left, top = int(across), int(down)
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            u, v = across - left, down - top
            result[:, row, column] = (
                (1 - v) * (1 - u) * image[:, top, left]
                + (1 - v) * u * image[:, top, right]
                + v * (1 - u) * image[:, bottom, left]
                + v * u * image[:, bottom, right]
            )
    assert result.shape == (channels, height, width)
    return result


def recoloured(image: np.ndarray, amplitudes: np.ndarray) -> np.ndarray:
    """`amplitudes` are (C, modes)."""
    result = image.copy()
    for channel in range(len(image)):
        for k in range(1, amplitudes.shape[1] + 1):
            result[channel] += amplitudes[channel, k - 1] * np.sin(np.pi * k * image[channel])
    return np.clip(result, 0, 1)


def filtered(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """With zeros around the image; the kernel is not turned round."""
    side = len(kernel)
    _, height, width = image.shape
    padded = np.pad(image, ((0, 0), (side // 2, side // 2), (side // 2, side // 2)))
    result = np.zeros_like(image)
    for row in range(side):
        for column in range(side):
            result += kernel[row, column] * padded[:, row : row + height, column : column + width]
    return np.clip(result, 0, 1)
