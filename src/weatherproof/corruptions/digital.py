"""What files and processing do: elastic distortion, large pixels, JPEG."""

from __future__ import annotations

import functools
import io

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from .draws import Draws
from .filters import HEIGHT, WIDTH, as_bytes, smooth_field


def elastic_transform(pixels: Tensor, parameters: tuple[float, float, float], draws: Draws) -> Tensor:
    """An affine jolt, then a warp by smooth random displacements. Lengths are in pixels."""
    strength, sigma, jolt = parameters
    height, width = pixels.shape[1:3]
    values = _sampled(pixels.permute(0, 3, 1, 2).float(), *_jolted(height, width, jolt, draws), mirrored_at_edge=False)
    across, down = draws.uniform(-1, 1, 2, height, width).unbind(1)
    if strength:
        # The reference cuts its Gaussian off at 3 sigma here.
        x = torch.arange(width, device=pixels.device) + smooth_field(across, sigma, 3) * strength
        y = torch.arange(height, device=pixels.device)[:, None] + smooth_field(down, sigma, 3) * strength
        values = _sampled(values, x, y, mirrored_at_edge=True)
    return as_bytes(values.permute(0, 2, 3, 1)).contiguous()


def _jolted(height: int, width: int, jolt: float, draws: Draws) -> tuple[Tensor, Tensor]:
    """Where each pixel is read from under the affine map that moves three points by up to `jolt`: x, y (B, H, W)."""
    side = min(height, width) // 3
    middle = torch.tensor([width // 2, height // 2], dtype=torch.float64, device=draws.device)
    corners = torch.tensor([[side, side], [side, -side], [-side, -side]], dtype=torch.float64, device=draws.device)
    before = middle + corners
    after = before + draws.uniform(-jolt, jolt, 3, 2)
    # before = L after + t. With edges E = (p1 - p0, p2 - p0) as columns, L = E_before E_after^-1.
    a, b = (after[:, 1] - after[:, 0]).unbind(1), (after[:, 2] - after[:, 0]).unbind(1)
    c, d = (before[1] - before[0]).unbind(0), (before[2] - before[0]).unbind(0)
    determinant = a[0] * b[1] - b[0] * a[1]
    y, x = torch.arange(height, device=draws.device)[:, None], torch.arange(width, device=draws.device)
    x_after, y_after = (x - after[:, 0, 0, None, None]), (y - after[:, 0, 1, None, None])
    found = []
    for axis in (0, 1):
        along_x = (c[axis] * b[1] - d[axis] * a[1]) / determinant
        along_y = (d[axis] * a[0] - c[axis] * b[0]) / determinant
        found.append(before[0, axis] + along_x[:, None, None] * x_after + along_y[:, None, None] * y_after)
    return found[0], found[1]


def _sampled(values: Tensor, x: Tensor, y: Tensor, mirrored_at_edge: bool) -> Tensor:
    """Linear interpolation of NCHW at pixel coordinates (B, H, W).

    Outside lies the mirror image: at the outer edge of the last pixel (cba|abc), or at its middle (cb|abc).
    """
    height, width = values.shape[2:]
    if mirrored_at_edge:
        grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], dim=3)
    else:
        grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], dim=3)
    return F.grid_sample(
        values, grid.float(), mode="bilinear", padding_mode="reflection", align_corners=not mirrored_at_edge
    )


def pixelate(pixels: Tensor, share: float, draws: Draws) -> Tensor:
    """Shrunk to a share of each side by averaging, and enlarged again by repeating; Pillow's BOX filter, bit by bit."""
    repeats = []
    for dim in (WIDTH, HEIGHT):  # as Pillow does it: width first, with bytes in between
        length = pixels.shape[dim]
        taps, weights, repeated = _boxes(length, int(length * share), pixels.device)
        # One place more, which is black, for boxes that have fewer taps than the largest one.
        padded = torch.cat([pixels, torch.zeros_like(pixels.narrow(dim, 0, 1))], dim=dim)
        total = padded.index_select(dim, taps[0]).to(torch.int32)
        for tap in taps[1:]:
            total += padded.index_select(dim, tap)
        shape = [1] * 4
        shape[dim] = -1
        pixels = (total.mul_(weights.view(shape)).add_(1 << 21) >> 22).to(torch.uint8)
        repeats.append((dim, repeated))
    for dim, repeated in repeats:
        pixels = pixels.index_select(dim, repeated)
    return pixels


@functools.lru_cache(maxsize=64)
def _boxes(length: int, small: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """For each of `small` large pixels, which of `length` places are averaged into it, tap by tap (taps, small), and
    their weight in units of 2^-22 (small,); and to which large pixel each place belongs (length,). An unused tap is the
    place after the last one."""
    scale = length / small
    centre = (np.arange(small) + 0.5) * scale
    first, stop = (np.clip(np.floor(centre + side * scale / 2 + 0.5), 0, length).astype(int) for side in (-1, 1))
    taps = first + np.arange((stop - first).max())[:, None]
    # A box holds what lies within -1/2 < (place - centre) / scale <= 1/2.
    offset = (taps + 0.5 - centre) / scale
    held = (taps < stop) & (offset > -0.5) & (offset <= 0.5)
    weights = np.floor(0.5 + (1 << 22) / held.sum(axis=0)).astype(np.int32)
    repeated = np.floor((np.arange(length) + 0.5) * small / length).astype(int)
    found = np.where(held, taps, length), weights, repeated
    taps_, weights_, repeated_ = (torch.from_numpy(array).to(device) for array in found)
    return taps_, weights_, repeated_


def jpeg_compression(pixels: Tensor, quality: int, draws: Draws) -> Tensor:
    """Saved as a JPEG and opened again, by Pillow."""
    return through_jpeg(pixels, quality=quality)


def through_jpeg(pixels: Tensor, **options: int | bool) -> Tensor:
    """Bytes NHWC as they come back from a JPEG that was saved with these options."""
    images = [Image.fromarray(image) for image in (pixels[..., 0] if pixels.shape[3] == 1 else pixels).cpu().numpy()]
    out = np.empty(pixels.shape, np.uint8)
    for i, image in enumerate(images):
        file = io.BytesIO()
        image.save(file, "JPEG", **options)
        out[i] = np.asarray(Image.open(file)).reshape(out[i].shape)
    return torch.from_numpy(out).to(pixels.device)
