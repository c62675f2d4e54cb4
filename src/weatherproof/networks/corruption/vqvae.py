"""The VQ-VAE of the paper (van den Oord et al. 2017), its codebook kept by exponential moving averages."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..per_example import within_transform
from .frame import CorruptionNetwork

EPSILON = 1e-5


class _ResidualStack(nn.Module):
    def __init__(self, width: int, narrow: int, layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.ReLU(), nn.Conv2d(width, narrow, 3, padding=1), nn.ReLU(), nn.Conv2d(narrow, width, 1))
            for _ in range(layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return functional.relu(x)


class Codebook(nn.Module):
    """Quantises vectors to the nearest of `codes` entries; the entries follow the data in training mode, though not
    under vmap and its kin, where every example would have entries of its own.

    All state is in buffers: entries N x K, the running sums that they are a quotient of (with and without correction
    for their start at zero, as the reference library keeps them), and the two counters of that correction.
    """

    entries: Tensor

    def __init__(self, size: int, codes: int, decay: float = 0.99) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("entries", torch.randn(size, codes) * (1 / 3 / codes) ** 0.5)
        for name, shape in (("count", (codes,)), ("sum", (size, codes))):
            self.register_buffer(f"{name}_hidden", torch.zeros(shape))
            self.register_buffer(f"{name}_average", torch.zeros(shape))
            self.register_buffer(f"{name}_steps", torch.zeros((), dtype=torch.int64))

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """(B, size, H, W) to its quantised form, with straight-through gradients, and the commitment loss."""
        with torch.autocast(vectors.device.type, enabled=False):  # which entry is nearest is no matter for bf16
            vectors = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
            flat = vectors.detach().movedim(-3, -1).reshape(-1, vectors.shape[-3])
            entries = self.entries.to(flat.dtype)
            # |v - e|^2 = |v|^2 - 2 v e + |e|^2, of which the first term is the same for all entries
            nearest = (entries.square().sum(dim=0) - 2 * flat @ entries).argmin(dim=1)
            quantised = functional.embedding(nearest, entries.t())
            if self.training and not within_transform():
                self._follow(flat, nearest)
        shape = (*vectors.shape[:-3], *vectors.shape[-2:], vectors.shape[-3])
        quantised = quantised.reshape(shape).movedim(-1, -3)
        commitment = functional.mse_loss(vectors, quantised.detach())
        return vectors + (quantised - vectors).detach(), commitment

    @torch.no_grad()
    def _follow(self, flat: Tensor, nearest: Tensor) -> None:
        chosen = functional.one_hot(nearest, self.entries.shape[1]).to(flat.dtype)
        count, total = self._average("count", chosen.sum(dim=0)), self._average("sum", flat.t() @ chosen)
        n = count.sum()
        smoothed = (count + EPSILON) / (n + count.numel() * EPSILON) * n  # Laplace: no entry is divided by zero
        self.entries.copy_(total / smoothed)

    def _average(self, name: str, value: Tensor) -> Tensor:
        hidden, average, steps = (getattr(self, f"{name}_{part}") for part in ("hidden", "average", "steps"))
        steps += 1
        hidden.mul_(self.decay).add_(value, alpha=1 - self.decay)
        average.copy_(hidden / (1 - self.decay ** steps.double()).to(hidden.dtype))
        return average  # type: ignore[no-any-return]


class VQVAE(CorruptionNetwork):
    """Two strided convolutions and a residual stack to a quarter of the size, 512 codes of 64 numbers, and back."""

    def __init__(self, width: int = 128, narrow: int = 32, size: int = 64, codes: int = 512) -> None:
        super().__init__()
        half = width // 2
        self.encoder = nn.Sequential(
            nn.Conv2d(3, half, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(half, width, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), _ResidualStack(width, narrow),
            nn.Conv2d(width, size, 1),
        )  # fmt: skip
        self.codebook = Codebook(size, codes)
        self.decoder = nn.Sequential(
            nn.Conv2d(size, width, 3, padding=1), _ResidualStack(width, narrow),
            nn.ConvTranspose2d(width, half, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(half, 3, 4, stride=2, padding=1),
        )  # fmt: skip

    def encode(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) in [0, 1] to (B, size, H/4, W/4), before it is quantised."""
        return self.encoder(images - 0.5)  # type: ignore[no-any-return]

    def decode(self, code: Tensor) -> Tensor:
        """(B, size, H/4, W/4) to (B, 3, H, W), near [0, 1]."""
        return self.decoder(code) + 0.5  # type: ignore[no-any-return]

    def reconstruct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """What `unbounded` gives for images of any size, and the commitment loss."""
        restored, commitment = self._reconstructed(self.fitted(images))
        return self.cut_back(restored, images), commitment

    def restore(self, images: Tensor) -> Tensor:
        return self._reconstructed(images)[0]

    def _reconstructed(self, images: Tensor) -> tuple[Tensor, Tensor]:
        quantised, commitment = self.codebook(self.encode(images))
        return self.decode(quantised), commitment
