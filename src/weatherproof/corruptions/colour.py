"""Changes of brightness, saturation and contrast."""

from __future__ import annotations

import torch
from torch import Tensor

from .draws import Draws
from .filters import as_bytes


def brightness(pixels: Tensor, change: float, draws: Draws) -> Tensor:
    """V of HSV becomes V + change. Hue and saturation stay, so every channel is scaled by (V + change) / V."""
    value = _largest(pixels).long()
    v = torch.arange(256, dtype=torch.float32, device=pixels.device)
    scale = (v + 255 * change).clamp_(max=255) / v.clamp_min(1)
    scaled = pixels * scale.take(value)
    return as_bytes(scaled + (value == 0) * scale[0])  # black has no colour to scale: it becomes grey


def saturate(pixels: Tensor, parameters: tuple[float, float], draws: Draws) -> Tensor:
    """S of HSV becomes factor S + more. x = V - V S t with t of the hue alone, so V - x is scaled by S' / S."""
    if pixels.shape[3] == 1:
        return pixels.clone()  # grey has no saturation
    factor, more = parameters
    value, least = _largest(pixels).float(), _smallest(pixels).float()
    saturation = (value - least) / value.clamp_min(1)
    wanted = (factor * saturation + more).clamp_(0, 1)
    scaled = value - (value - pixels) * (wanted / saturation.clamp_min(1e-9))
    # Without saturation there is no hue, and none counts as red.
    red = value * (1 - wanted * torch.tensor([0.0, 1.0, 1.0], device=pixels.device))
    return as_bytes(torch.where(saturation == 0, red, scaled))


def contrast(pixels: Tensor, factor: float, draws: Draws) -> Tensor:
    """Every value moves towards the mean of its channel."""
    values = pixels.float()
    # Sums of a row are exact in float32; those of the image need more.
    mean = values.sum(dim=2, keepdim=True).double().sum(dim=1, keepdim=True) / (pixels.shape[1] * pixels.shape[2])
    return as_bytes(values.mul_(factor).add_((mean * (1 - factor)).float()))


def _largest(pixels: Tensor) -> Tensor:
    """Of each pixel's channels: (B, H, W, 1)."""
    channels = pixels.unbind(3)
    return (torch.maximum(torch.maximum(channels[0], channels[1]), channels[2]) if channels[1:] else channels[0])[
        ..., None
    ]


def _smallest(pixels: Tensor) -> Tensor:
    channels = pixels.unbind(3)
    return torch.minimum(torch.minimum(channels[0], channels[1]), channels[2])[..., None]
