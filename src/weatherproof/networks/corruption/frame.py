"""What every corruption network shares: images of any size and of one channel, and an output within [0, 1]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional


class CorruptionNetwork(nn.Module, ABC):
    """Float images in [0, 1], (B, 1 or 3, H, W), to images of the same shape in [0, 1].

    A network of ours says in `restore` what it does to three channels whose sides are divisible by `multiple` and at
    least `least`; the rest is done here. Modules of others need not derive from this.
    """

    multiple, least = 4, 4

    @abstractmethod
    def restore(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W), near [0, 1] but not held inside."""

    def forward(self, images: Tensor) -> Tensor:
        return self.framed(images, self.restore)

    def framed(self, images: Tensor, restore: Callable[[Tensor], Tensor]) -> Tensor:
        """What `forward` does, with something else in place of `restore`."""
        channels, height, width = images.shape[-3:]
        coloured = images.expand(-1, 3, -1, -1) if channels == 1 else images
        below, right = self._missing(height), self._missing(width)
        if below or right:
            coloured = functional.pad(coloured, (0, right, 0, below), mode="replicate")
        restored = restore(coloured)[..., :height, :width].clamp(0, 1)
        return restored.mean(dim=-3, keepdim=True) if channels == 1 else restored

    def _missing(self, side: int) -> int:
        """How many pixels a side lacks."""
        return max(self.least, -(-side // self.multiple) * self.multiple) - side
