"""Sums over neighbourhoods, which several corruptions are made of: Gaussian and motion blur, zoom.

Images are float32 NHWC in 0..255 and stay so: a shift along height or width is then a run of memory. Every value is
summed on its own in a fixed order, so that an image comes out the same whatever it is batched with.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

HEIGHT, WIDTH = 1, 2

# What lies outside of "abcd": "edge" aaa|abcd|ddd, "mirror" dcb|abcd|cba (OpenCV's default), "symmetric" cba|abcd|dcb.
Border = Literal["edge", "mirror", "symmetric"]


def outside(length: int, before: int, after: int, border: Border) -> np.ndarray:
    """The places 0..length-1 that the places -before..length+after-1 are read from."""
    places = np.arange(-before, length + after)
    if border == "edge":
        return places.clip(0, length - 1)
    period = max(2 * length - 2, 1) if border == "mirror" else 2 * length
    turned = places % period
    return np.minimum(turned, period - turned if border == "mirror" else period - 1 - turned)


def widened(values: Tensor, margin: int, border: Border, dims: tuple[int, ...] = (HEIGHT, WIDTH)) -> Tensor:
    """The images with `margin` pixels more on either side along `dims`."""
    for dim in dims if margin else ():
        length = values.shape[dim]
        places = torch.from_numpy(outside(length, margin, margin, border)).to(values.device)
        sides = [values.index_select(dim, part) for part in (places[:margin], places[margin + length :])]
        values = torch.cat([sides[0], values, sides[1]], dim=dim)
    return values


def correlated(values: Tensor, weights: list[float], dim: int) -> Tensor:
    """sum_k weights[k] values[.. + k ..] along one dimension, which becomes shorter by len(weights) - 1."""
    length = values.shape[dim] - len(weights) + 1
    total = values.narrow(dim, 0, length) * weights[0]
    for k in range(1, len(weights)):
        total.add_(values.narrow(dim, k, length), alpha=weights[k])
    return total


def bell(sigma: float, radius: int) -> np.ndarray:
    """exp(-k^2 / (2 sigma^2)) for k = -radius..radius, normalised to sum 1."""
    k = np.arange(-radius, radius + 1, dtype=np.float64)
    weights: np.ndarray = np.exp(-(k**2) / (2 * max(sigma, 1e-12) ** 2))
    weights /= weights.sum()
    return weights


def gaussian(values: Tensor, sigma: float) -> Tensor:
    """Gaussian blur, cut off at 4 sigma; outside lies the edge."""
    radius = int(4 * sigma + 0.5)
    weights = bell(sigma, radius).tolist()
    for dim in (HEIGHT, WIDTH):
        values = correlated(widened(values, radius, "edge", (dim,)), weights, dim)
    return values


def smooth_field(field: Tensor, sigma: float, cutoff: float) -> Tensor:
    """Gaussian blur of (B, H, W), cut off at `cutoff` sigma, symmetric border; sigma may be far larger than the image.

    Such a blur is a matrix on either side. In float64, because the order in which a matrix product sums is not ours.
    """
    radius = int(cutoff * sigma + 0.5)
    rows, columns = (_blur_matrix(length, sigma, radius, field.device) for length in field.shape[1:])
    return (rows @ field.double() @ columns.T).float()


@functools.lru_cache(maxsize=32)
def _blur_matrix(length: int, sigma: float, radius: int, device: torch.device) -> Tensor:
    """float64 (length, length): row i holds the weights of all places in the blurred place i."""
    places = outside(length, radius, radius, "symmetric")
    weights, matrix = bell(sigma, radius), np.zeros((length, length))
    for k, weight in enumerate(weights):
        np.add.at(matrix, (np.arange(length), places[k : k + length]), weight)
    return torch.from_numpy(matrix).to(device)


def motion_blurred(values: Tensor, radius: float, sigma: float, angles: Tensor) -> Tensor:
    """ImageMagick's motion blur, rounded to whole numbers; each image along its own angle, in degrees: (B,).

    out(p) = sum_i k_i in(p + round(i (cos a, sin a))), k_i ~ exp(-i^2 / (2 sigma^2)), i = 0..2 ceil(radius); the sum
    goes one way only, so the image moves as well. Outside lies the edge.
    """
    taps = 2 * math.ceil(radius) + 1
    i = torch.arange(taps, dtype=torch.float64, device=values.device)
    weights = torch.exp(-(i**2) / (2 * sigma**2))
    weights /= weights.sum()
    # A tail that float32 does not see is left out.
    taps = min(taps, int((weights.flip(0).cumsum(0).flip(0) > 1e-8).sum()))
    radians = torch.deg2rad(angles.double())[:, None]
    across = torch.ceil(i[:taps] * radians.cos() - 0.5).long()
    down = torch.ceil(i[:taps] * radians.sin() - 0.5).long()

    batch, height, width, channels = values.shape
    wide = widened(values, taps - 1, "edge")
    stride = wide.shape[WIDTH] * channels  # from a row to the next
    # Row y of image b, read `across` to the right and `down` below, is a run of memory: one of all runs there are.
    runs = wide.view(-1).as_strided((wide.numel() - width * channels + 1, width * channels), (1, 1))
    firsts = torch.arange(batch, device=values.device)[:, None] * wide.shape[HEIGHT] + torch.arange(
        taps - 1, taps - 1 + height, device=values.device
    )
    firsts = firsts * stride + (taps - 1) * channels
    moves = down * stride + across * channels
    total = torch.zeros(batch * height, width * channels, dtype=values.dtype, device=values.device)
    for tap in range(taps):
        total.add_(runs.index_select(0, (firsts + moves[:, tap, None]).view(-1)), alpha=float(weights[tap]))
    return total.add_(0.5).floor_().view(values.shape)


def zoomed(values: Tensor, factor: float) -> Tensor:
    """The middle of each image, enlarged to the image's size: linear interpolation between the ends of the crop."""
    height, width = values.shape[1:3]
    tall, wide = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - tall) // 2, (width - wide) // 2
    crop = values[:, top : top + tall, left : left + wide]
    size = round(tall * factor), round(wide * factor)
    # NHWC is what torch calls NCHW with channels last.
    large = F.interpolate(crop.permute(0, 3, 1, 2), size=size, mode="bilinear", align_corners=True).permute(0, 2, 3, 1)
    top, left = (size[0] - height) // 2, (size[1] - width) // 2
    return large[:, top : top + height, left : left + width]


def as_bytes(values: Tensor) -> Tensor:
    """Values clipped to 0..255 and truncated, as the references do; what is whole up to rounding stays whole."""
    return values.add(1e-3).clamp_(0, 255).to(torch.uint8)
