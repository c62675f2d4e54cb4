"""The compressive autoencoder that DeepAugment uses: images to bits and back."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .frame import CorruptionNetwork


class CAE(CorruptionNetwork):
    """Two strided convolutions and three residual blocks to bits at a quarter of the size, and their mirror back.

    Keys as in the published model (with the default widths). The bits are drawn in training mode, from `generator` or
    the global one, and the likelier ones in evaluation mode; gradients pass straight through.
    """

    least = 12  # its first convolution of bits takes a border off a quarter of the size

    def __init__(self, width: int = 128, bits: int = 32, stem: int = 64, fine: int = 256, last: int = 16) -> None:
        super().__init__()
        self.e_conv_1 = _halving(3, stem)
        self.e_conv_2 = _halving(stem, width)
        self.e_block_1, self.e_block_2, self.e_block_3 = (_residual(width) for _ in range(3))
        self.e_conv_3 = nn.Sequential(nn.Conv2d(width, bits, 5, padding=2), nn.Tanh())
        self.d_up_conv_1 = _doubling(bits, stem, width)
        self.d_block_1, self.d_block_2, self.d_block_3 = (_residual(width) for _ in range(3))
        self.d_up_conv_2 = _doubling(width, bits, fine)
        self.d_up_conv_3 = nn.Sequential(
            nn.Conv2d(fine, last, 3), nn.LeakyReLU(), nn.ReflectionPad2d(2), nn.Conv2d(last, 3, 3), nn.Tanh()
        )

    def encode(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) in [0, 1] to (B, bits, H/4, W/4) in [-1, 1]."""
        return self.e_conv_3(self.features(images))  # type: ignore[no-any-return]

    def features(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) in [0, 1] to (B, width, H/4, W/4), what the code is made of."""
        x: Tensor = self.e_conv_2(self.e_conv_1(images))
        for block in (self.e_block_1, self.e_block_2, self.e_block_3):
            x = x + block(x)
        return x

    def binarise(self, code: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """-1 or +1: +1 with probability (1 + z)/2 in training mode, the sign of z in evaluation mode."""
        with torch.no_grad():
            if self.training:
                draws = torch.rand(code.shape, generator=generator, dtype=code.dtype, device=code.device)
                bits = drawn_bits(code, draws)
            else:
                bits = torch.where(code >= 0, 1.0, -1.0)
        return code + (bits.to(code.dtype) - code).detach()

    def decode(self, code: Tensor) -> Tensor:
        """(B, bits, H/4, W/4) to (B, 3, H, W) in [-1, 1]."""
        x = self.d_up_conv_1(code)
        for block in (self.d_block_1, self.d_block_2, self.d_block_3):
            x = x + block(x)
        return self.rebuild(x)

    def rebuild(self, x: Tensor) -> Tensor:
        """What the decoder's last block gives, (B, width, H/2, W/2), to (B, 3, H, W) in [-1, 1]."""
        return self.d_up_conv_3(self.d_up_conv_2(x))  # type: ignore[no-any-return]

    def forward(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.framed(images, lambda fitted: self.restore(fitted, generator))

    def restore(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.decode(self.binarise(self.encode(images), generator))


def drawn_bits(code: Tensor, draws: Tensor) -> Tensor:
    """-1 or +1: +1 where a draw from U(0, 1) is at most (1 + z)/2."""
    return torch.where(draws <= (1 + code) / 2, 1.0, -1.0)


def _halving(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(inputs, outputs, 5, stride=2), nn.LeakyReLU())


def _residual(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ZeroPad2d(1), nn.Conv2d(width, width, 3), nn.LeakyReLU(), nn.ZeroPad2d(1), nn.Conv2d(width, width, 3)
    )


def _doubling(inputs: int, middle: int, outputs: int) -> nn.Sequential:
    # The convolution takes a border off, the zeros put it back.
    return nn.Sequential(
        nn.Conv2d(inputs, middle, 3), nn.LeakyReLU(), nn.ZeroPad2d(1), nn.ConvTranspose2d(middle, outputs, 2, stride=2)
    )
