"""DeepAugment (Hendrycks et al. 2021): images through an image-to-image network whose weights are distorted."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...images import ImagesLike
from ...networks.corruption import CAE, EDSR
from ...networks.corruption.fitness import refuse_misfit
from ...networks.corruption.saved import named_network
from ...networks.evaluating import evaluating
from ...randomness import seed_of
from ..border import ImageAugmentation, in_kind
from .cae import DistortedCAE
from .draw import Draw, Weights
from .edsr import DistortedEDSR
from .generic import DistortedNetwork

Precision = Literal["auto", "float32", "bfloat16"]

# What a network computes from a pixel, and what is copied of its weights, is bounded by memory; the count by what is
# still faster.
BYTES, PER_PIXEL = 256 * 2**20, 1024
CPU_MOST, CUDA_MOST = 64, 128


class Distorted(Protocol):
    """What DeepAugment does to a network of some kind."""

    def change(self, weights: Weights, draw: Draw) -> None:
        """Draw operations for one image, and set the weights that they change."""

    def __call__(self, images: Tensor, weights: Sequence[Weights], draws: Sequence[Draw]) -> Tensor:
        """Images (B, C, H, W), each with its own weights, and with its own distortions on the way."""


class DeepAugment(ImageAugmentation):
    """``(images, generator=None, keys=None) -> images``: what a network makes of them that is broken at random, for
    each image in another way.

    network: ``edsr`` and ``cae``, the paper's two, each with its own operations on weights and activations; any other
        network by name, or run, or file; or a module from images in [0, 1] to images of the same shape. Networks that
        DeepAugment never had get one operation out of nine on some filters of one layer.
    chunk: images that go through the network together; memory follows it, the result does not. auto picks what is fast.
    precision: auto is the caller's (under autocast the lower one); float32 or bfloat16 insist.

    The reference draws new weights with probability .05 before each image, so that some 20 images in a row share them,
    and draws distortions of activations per image; here every image has weights of its own too. EDSR of other depths
    and widths, and the CAE of other widths, have what the reference counts in blocks and channels scaled to them.
    Activations and images that are not finite become 0 or are held inside [0, 1].
    """

    def __init__(
        self,
        network: nn.Module | str = "edsr",
        chunk: int | Literal["auto"] = "auto",
        precision: Precision = "auto",
    ) -> None:
        if chunk != "auto" and (isinstance(chunk, str) or chunk < 1):
            raise InputError(f"a chunk is auto, or 1 image or more; got {chunk!r}")
        if precision not in ("auto", "float32", "bfloat16"):
            raise InputError(f"a precision is auto, float32 or bfloat16; got '{precision}'")
        self.network = network if isinstance(network, nn.Module) else named_network(network)
        self.chunk, self.precision = chunk, precision
        self._ours = isinstance(network, str)
        self._distorted: Distorted = distorted(self.network)
        self._fit: set[tuple[int, ...]] = set()

    def __call__(
        self, images: ImagesLike, generator: torch.Generator | None = None, keys: Sequence[int] | None = None
    ) -> Tensor:
        """One number is drawn from `generator`. What becomes of an image follows from that number, the image and its
        key (by default its position) alone."""
        return in_kind(images, lambda pixels: self.augment(pixels, generator or torch.default_generator, keys))

    def augment(self, images: Tensor, generator: torch.Generator, keys: Sequence[int] | None = None) -> Tensor:
        """As `__call__`, for float images (B, C, H, W)."""
        keys = range(len(images)) if keys is None else [int(key) for key in keys]
        if len(keys) != len(images):
            raise InputError(f"keys: got {len(keys)} for {len(images)} images")
        base = int(torch.randint(2**63 - 1, (), generator=generator, device=generator.device))
        if self._ours:
            self.network.to(images.device)
        given = images.to(_dtype(self.network, images))
        self._refuse_misfit(given)
        changed, pristine = torch.empty_like(images), self._pristine()
        with evaluating(self.network, seed_of(base, "global")), self._computing(images.device.type):
            for part in torch.arange(len(images)).chunk(math.ceil(len(images) / self._size(images))):
                draws = [Draw(seed_of(base, keys[position])) for position in part.tolist()]
                rows = part.to(images.device)
                changed[rows] = self._chunk(given[rows], draws, pristine).to(images.dtype)
        return changed

    def _chunk(self, images: Tensor, draws: Sequence[Draw], pristine: dict[str, Tensor]) -> Tensor:
        weights = [Weights(pristine) for _ in draws]
        for mine, draw in zip(weights, draws, strict=True):
            self._distorted.change(mine, draw)
        result = self._distorted(images, weights, draws)
        return result.nan_to_num(nan=0.0, posinf=1.0, neginf=0.0).clamp(0, 1)

    def _pristine(self) -> dict[str, Tensor]:
        return {name: value.detach().cpu() for name, value in self.network.named_parameters()}

    def _size(self, images: Tensor) -> int:
        if isinstance(self.chunk, int):
            return self.chunk
        most = CUDA_MOST if images.is_cuda else CPU_MOST
        copied = sum(value.nbytes for value in self.network.parameters())
        return max(1, min(most, BYTES // (PER_PIXEL * images[0, 0].numel() + copied)))

    def _computing(self, device_type: str) -> contextlib.AbstractContextManager[object]:
        if self.precision == "auto":
            return contextlib.nullcontext()
        return torch.autocast(device_type, torch.bfloat16, enabled=self.precision == "bfloat16")

    def _refuse_misfit(self, images: Tensor) -> None:
        """A user's own module is tried once for each size of images."""
        if not self._ours and tuple(images.shape[1:]) not in self._fit:
            refuse_misfit(self.network, images)
            self._fit.add(tuple(images.shape[1:]))


def distorted(network: nn.Module) -> Distorted:
    """DeepAugment's own distortions where it has some for such a network, otherwise the generic ones."""
    if isinstance(network, EDSR):
        return DistortedEDSR(network)
    return DistortedCAE(network) if isinstance(network, CAE) else DistortedNetwork(network)


def _dtype(network: nn.Module, images: Tensor) -> torch.dtype:
    return next((value.dtype for value in network.parameters() if value.is_floating_point()), images.dtype)
