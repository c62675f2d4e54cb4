"""What every corruption network shares: images of any size and of one channel, and an output within [0, 1]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional


class CorruptionNetwork(nn.Module, ABC):
    """Float images in [0, 1], (B, 1 or 3, H, W), to images of the same shape in [0, 1].

    A network of ours says in `restore` what it does to three channels whose sides are divisible by `multiple` and at
    least `least`; the rest is done here, in training too: `fitted` makes such images of any, and `cut_back` undoes it.
    Modules of others need not derive from this.
    """

    multiple, least = 4, 4

    @abstractmethod
    def restore(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, 3, H, W), near [0, 1] but not held inside."""

    def forward(self, images: Tensor) -> Tensor:
        return self.framed(images, self.restore)

    def framed(self, images: Tensor, restore: Callable[[Tensor], Tensor]) -> Tensor:
        """What `forward` does, with something else in place of `restore`."""
        return self.cut_back(restore(self.fitted(images)).clamp(0, 1), images)

    def unbounded(self, images: Tensor) -> Tensor:
        """What `forward` does, but not held inside [0, 1], where gradients would end: for training."""
        return self.cut_back(self.restore(self.fitted(images)), images)

    def fitted(self, images: Tensor) -> Tensor:
        """Images with three channels, whose sides repeat their border until they fit the network."""
        height, width = images.shape[-2:]
        coloured = images.expand(-1, 3, -1, -1) if images.shape[-3] == 1 else images
        return bordered(coloured, self._missing(height), self._missing(width))

    def cut_back(self, restored: Tensor, images: Tensor, scale: int = 1) -> Tensor:
        """What was made of fitted `images`, with their channels and with `scale` times their size."""
        height, width = images.shape[-2:]
        restored = restored[..., : scale * height, : scale * width]
        return restored.mean(dim=-3, keepdim=True) if images.shape[-3] == 1 else restored

    def _missing(self, side: int) -> int:
        """How many pixels a side lacks."""
        return max(self.least, -(-side // self.multiple) * self.multiple) - side


def bordered(images: Tensor, below: int, right: int) -> Tensor:
    """Images with as many rows and columns more, which repeat the last ones."""
    return functional.pad(images, (0, right, 0, below), mode="replicate") if below or right else images
