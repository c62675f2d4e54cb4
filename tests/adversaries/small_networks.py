"""Corruption networks as users bring them: small, of every make that an adversary must cope with."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


class SuperResolver(nn.Module):
    """Residual blocks, up by a pixel shuffle, averaged down."""

    def __init__(self, features: int = 4) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, features, 3, padding=1)
        self.body = nn.Sequential(
            nn.Conv2d(features, features, 3, padding=1), nn.ReLU(), nn.Conv2d(features, features, 3, padding=1)
        )
        self.up = nn.Conv2d(features, 4 * features, 3, padding=1)
        self.tail = nn.Conv2d(features, 3, 3, padding=1)

    def forward(self, images: Tensor) -> Tensor:
        features = self.head(images)
        features = features + self.body(features)
        doubled = self.tail(functional.pixel_shuffle(self.up(features), 2))
        return (functional.avg_pool2d(doubled, 2) + images).clamp(0, 1)


class AutoEncoder(nn.Module):
    """Down and up again by strided convolutions, with BatchNorm and dropout on the way."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.encode = nn.Conv2d(channels, 6, 4, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.drop = nn.Dropout(0.5)
        self.decode = nn.ConvTranspose2d(6, channels, 4, stride=2, padding=1)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        padded = functional.pad(images, (0, width % 2, 0, height % 2), mode="replicate")
        change = self.decode(self.drop(functional.relu(self.norm(self.encode(padded)))))[..., :height, :width]
        return torch.sigmoid(4 * (images - 0.5) + change)


class Quantiser(nn.Module):
    """A codebook, an argmin and a straight-through gradient; the codebook is a buffer and stays."""

    codes: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Conv2d(3, 4, 2, stride=2)
        self.decode = nn.ConvTranspose2d(4, 3, 2, stride=2)
        self.register_buffer("codes", torch.randn(16, 4))

    def forward(self, images: Tensor) -> Tensor:
        latent = self.encode(images).permute(0, 2, 3, 1)
        nearest = self.codes[(latent[..., None, :] - self.codes).square().sum(-1).argmin(-1)]
        quantised = latent + (nearest - latent).detach()
        return (images + 0.3 * self.decode(quantised.permute(0, 3, 1, 2))).clamp(0, 1)


class Menagerie(nn.Module):
    """Layers of every kind: depthwise, dilated, 1x1, strided, transposed, one-dimensional, linear, scale and shift."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(3, 8, 1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.dilated = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2)
        self.scale = nn.GroupNorm(2, 8)
        self.down = nn.Conv2d(8, 16, 5, stride=2, padding=2)
        self.rows = nn.Conv1d(16, 16, 3, padding=1)
        self.mix = nn.Linear(16, 16)
        self.up = nn.ConvTranspose2d(16, 16, 4, stride=2, padding=1, groups=16)
        self.narrow = nn.Conv2d(16, 3, 3, padding=1, bias=False)
        self.shift = nn.Parameter(torch.zeros(3, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        features = self.scale(torch.tanh(self.dilated(self.depthwise(self.wide(images)))))
        features = self.down(features)
        flat = self.rows(features.flatten(2))
        mixed = self.mix(flat.transpose(1, 2)).transpose(1, 2).reshape(features.shape)
        return (images + 0.3 * torch.tanh(self.narrow(self.up(mixed)) + self.shift)).clamp(0, 1)


class Looker(SuperResolver):
    """One that looks at values, which vmap forbids."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images) if float(images.mean()) >= 0 else images


def trained_like(network: nn.Module, seed: int = 0) -> nn.Module:
    """The network with weights and statistics from a seed, in evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.2)
        for name, buffer in network.named_buffers():
            if buffer.is_floating_point():
                noise = torch.rand(buffer.shape, generator=generator)
                buffer.copy_(0.5 + noise if "var" in name else noise - 0.5)
    return network.eval()


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "super-resolver": SuperResolver,
    "auto-encoder": AutoEncoder,
    "quantiser": Quantiser,
    "menagerie": Menagerie,
}


class SmallClassifier(nn.Module):
    """Five classes, with BatchNorm and dropout."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 8, 3, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(8, 5)

    def forward(self, images: Tensor) -> Tensor:
        features = torch.tanh(self.norm(self.conv(images)))
        logits: Tensor = 3 * self.head(self.drop(features.mean(dim=(2, 3))))
        return logits


def batch(count: int = 6, size: tuple[int, int] = (16, 16), channels: int = 3, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Smooth images with some noise, float32, and labels of five classes."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, channels, 4, 4, generator=generator)
    smooth = functional.interpolate(coarse, size, mode="bilinear")
    images = (smooth + 0.05 * torch.randn(smooth.shape, generator=generator)).clamp(0, 1)
    return images, torch.arange(count) % 5
