"""What corruption networks are trained for: their objectives, by name. Labels play no part."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..defences import Outcome
from ..errors import InputError
from ..networks.corruption.frame import bordered


class SuperResolution:
    """EDSR's: images averaged down by the network's scale and enlarged again by ``upscale``; mean absolute difference.
    Sides that cannot be divided by the scale repeat their border for it.

    EDSR shrinks by bicubic interpolation. Averaging is what a corruption network does to come back to its size, so that
    a network which has learned to undo it leaves an image nearly as it was.
    """

    methods = ("upscale",)

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        scale, (height, width) = int(model.scale), images.shape[2:]  # type: ignore[arg-type]
        small = functional.avg_pool2d(bordered(images, -height % scale, -width % scale), scale)
        enlarged = model.upscale(small)[..., :height, :width]  # type: ignore[operator]
        return Outcome(functional.l1_loss(enlarged.float(), images), _quality(enlarged, images))


class Reconstruction:
    """The autoencoder's: mean squared difference to the image itself, through bits that are drawn."""

    methods = ("unbounded",)

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        restored = model.unbounded(images)  # type: ignore[operator]
        return Outcome(functional.mse_loss(restored.float(), images), _quality(restored, images))


class VectorQuantisation:
    """The VQ-VAE's: squared error over the variance of the data, and `commitment` times the distance to the codes."""

    methods = ("reconstruct",)

    def __init__(self, commitment: float = 0.25, variance: float = 0.0633) -> None:
        if commitment < 0 or variance <= 0:
            raise InputError(f"wanted commitment >= 0 and variance > 0; got {commitment} and {variance}")
        self.commitment, self.variance = commitment, variance  # 0.0633: of CIFAR-10's pixels in [0, 1]

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        restored, distance = model.reconstruct(images)  # type: ignore[operator]
        loss = functional.mse_loss(restored.float(), images) / self.variance + self.commitment * distance.float()
        return Outcome(loss, _quality(restored, images))


class Inpainting:
    """The U-Net's: a share of the pixels drawn from [`least`, `most`] is zeroed in each image and is to be filled in.

    The loss is mean |d| + 0.5 * 0.1 * mean d^2 over all pixels.
    """

    methods = ("unbounded",)

    def __init__(self, least: float = 0.02, most: float = 0.35) -> None:
        if not 0 <= least <= most <= 1:
            raise InputError(f"wanted 0 <= least <= most <= 1; got {least} and {most}")
        self.least, self.most = least, most

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        count, _, height, width = images.shape
        share = self.least + (self.most - self.least) * torch.rand(count, 1, 1, 1, device=images.device)
        kept = torch.rand(count, 1, height, width, device=images.device) >= share
        restored = model.unbounded(images * kept).float()  # type: ignore[operator]
        difference = restored - images
        loss = difference.abs().mean() + 0.5 * 0.1 * difference.square().mean()
        return Outcome(loss, _quality(restored, images))


def methods_of(objective: object, model: nn.Module) -> tuple[str, ...]:
    """What an objective calls of a model besides the model itself; refused where the model has no such thing."""
    methods: tuple[str, ...] = getattr(objective, "methods", ())
    for method in methods:
        if not callable(getattr(model, method, None)):
            raise InputError(f"{type(objective).__name__} needs a network with a method {method}; "
                             f"{type(model).__name__} has none")  # fmt: skip
    return methods


TASKS = {
    "super_resolution": SuperResolution,
    "reconstruction": Reconstruction,
    "vector_quantisation": VectorQuantisation,
    "inpainting": Inpainting,
}


def _quality(restored: Tensor, images: Tensor) -> dict[str, Tensor]:
    error = (restored.detach().float().clamp(0, 1) - images).square().mean(dim=(1, 2, 3))
    return {"psnr": -10 * error.clamp_min(1e-10).log10().mean()}
