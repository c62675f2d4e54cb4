"""Corruption networks: images in [0, 1] to images of the same size, whose weights an inner player can disturb.

Ours are listed in `NETWORKS`; any `nn.Module` that maps images to images of the same size works without being listed.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from .affine import Affine
from .cae import CAE
from .edsr import EDSR
from .frame import CorruptionNetwork
from .unet import UNet
from .vqvae import VQVAE


def edsr(scale: int = 2) -> nn.Module:
    """EDSR-baseline, enlarging by 2 (the paper's) and averaged down again."""
    return EDSR(scale=scale)


def cae() -> nn.Module:
    """The compressive autoencoder that DeepAugment uses."""
    return CAE()


def vqvae() -> nn.Module:
    """The paper's VQ-VAE; its codebook keeps 99,330 numbers more."""
    return VQVAE()


def unet() -> nn.Module:
    """The paper's U-Net, which fills in missing pixels."""
    return UNet()


def affine() -> nn.Module:
    """A spatial transformer of one affine map, at first the identity."""
    return Affine()


def edsr_desk() -> nn.Module:
    """EDSR with 2 blocks of 16 features."""
    return EDSR(features=16, blocks=2)


def cae_desk() -> nn.Module:
    """The compressive autoencoder with an eighth of its widths and 16 bits a place."""
    return CAE(width=16, bits=16, stem=8, fine=32, last=8)


def vqvae_desk() -> nn.Module:
    """The VQ-VAE with a quarter of its widths and 128 codes of 16 numbers."""
    return VQVAE(width=32, narrow=16, size=16, codes=128)


def unet_desk() -> nn.Module:
    """The U-Net with 10, 20 and 40 channels."""
    return UNet((10, 20, 40))


NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "edsr": edsr,
    "cae": cae,
    "vqvae": vqvae,
    "unet": unet,
    "affine": affine,
    "edsr_desk": edsr_desk,
    "cae_desk": cae_desk,
    "vqvae_desk": vqvae_desk,
    "unet_desk": unet_desk,
}

__all__ = ["CAE", "EDSR", "NETWORKS", "VQVAE", "Affine", "CorruptionNetwork", "UNet"]
