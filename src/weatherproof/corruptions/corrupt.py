"""One door to all corruptions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, did_you_mean
from ..images import as_pixels
from .blur import defocus_blur, gaussian_blur, glass_blur, motion_blur, zoom_blur
from .colour import brightness, contrast, saturate
from .digital import elastic_transform, jpeg_compression, pixelate, through_jpeg
from .draws import Draws
from .frost import frost as frosted
from .frost import ice_for
from .noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from .spatter import spatter
from .tables import GROUPS, SCALES, SEVERITIES, scale_for, strength
from .weather import fog, snow

FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "gaussian_noise": gaussian_noise, "shot_noise": shot_noise, "impulse_noise": impulse_noise,
    "defocus_blur": defocus_blur, "glass_blur": glass_blur, "motion_blur": motion_blur, "zoom_blur": zoom_blur,
    "snow": snow, "frost": frosted, "fog": fog, "brightness": brightness,
    "contrast": contrast, "elastic_transform": elastic_transform, "pixelate": pixelate,
    "jpeg_compression": jpeg_compression,
    "speckle_noise": speckle_noise, "gaussian_blur": gaussian_blur, "spatter": spatter, "saturate": saturate,
}  # fmt: skip
"""Each takes bytes (B, H, W, C), what `tables.strength` says and the images' `Draws`; it gives bytes of that shape."""

SMALLEST = 8  # pixels a side
AT_ONCE = 1 << 18  # values: a few copies of them fit into a processor's cache
RECOMPRESSION = 85  # the quality at which ImageNet-C's images were saved

Images = TypeVar("Images", Tensor, np.ndarray)


def corrupt(
    images: Images,
    name: str,
    severity: int,
    scale: str = "auto",
    seed: int = 0,
    numbers: Sequence[int] | None = None,
    *,
    frost: str = "auto",
    recompress: bool = False,
) -> Images:
    """The images under a common corruption: same shape, type and device as they came.

    `images`: uint8 NHWC, or float NCHW in [0, 1], of 8 pixels a side or more, grey or RGB, as a tensor or an array.
    Corruptions work on bytes: floats are rounded to 1/255 first, and what comes back are multiples of 1/255.
    `name`: one of `CORRUPTIONS` or `EXTRA_CORRUPTIONS`; `severity`: 1 to 5.
    `scale`: whose strengths: cifar (CIFAR-10-C), tiny (Tiny-ImageNet-C), imagenet (ImageNet-C), or auto by image size:
    below 48 pixels cifar, below 112 tiny.
    `seed`: of what is random. Image i is corrupted by its number ``numbers[i]`` (default: i): the same number gets the
    same draws in whatever batch it comes.
    `frost`: photographs, procedural, a folder of photographs, or auto: photographs where they are installed.
    `recompress`: add the JPEG pass of quality 85 that every image of ImageNet-C went through.
    """
    pixels = as_pixels(images)
    _check(name, severity, scale, pixels)
    height, width = pixels.shape[2:]
    scale = scale_for(height, width) if scale == "auto" else scale
    function = FUNCTIONS[name]
    if name == "frost":
        ice = ice_for(frost, scale, height, width, pixels.shape[1], pixels.device)
        function = functools.partial(frosted, ice=ice)
    identities = torch.arange(len(pixels)) if numbers is None else torch.as_tensor(numbers)
    if identities.shape != (len(pixels),) or (identities.is_floating_point() and len(pixels)):
        raise InputError(f"wanted a whole number for each of {len(pixels)} images; got {identities.dtype} of shape "
                         f"{tuple(identities.shape)}")  # fmt: skip
    identities = identities.to(torch.int64)
    parameters, words = strength(name, severity, scale), ("corrupt", name, severity)
    changed = pixels.new_empty((len(pixels), height, width, pixels.shape[1]), dtype=torch.uint8)
    step = max(1, AT_ONCE // max(1, pixels[:1].numel()))
    with torch.no_grad():
        for first in range(0, len(pixels), step):
            part = slice(first, first + step)
            draws = Draws(seed, words, identities[part].to(pixels.device))
            corrupted = function(_bytes(pixels[part]), parameters, draws)
            changed[part] = through_jpeg(corrupted, quality=RECOMPRESSION, optimize=True) if recompress else corrupted
    if pixels.dtype != torch.uint8:
        changed = changed.permute(0, 3, 1, 2).to(pixels.dtype).div_(255).contiguous()
    return changed.numpy() if isinstance(images, np.ndarray) else changed


def _check(name: str, severity: int, scale: str, pixels: Tensor) -> None:
    if name in GROUPS:
        raise InputError(f"{name} is a group of corruptions; corrupt takes one of them: {', '.join(GROUPS[name])}")
    if name not in FUNCTIONS:
        raise InputError(f"there is no corruption '{name}'{did_you_mean(str(name), FUNCTIONS)}")
    if not isinstance(severity, Integral) or isinstance(severity, bool) or severity not in SEVERITIES:
        raise InputError(f"severities are whole numbers from 1 to 5; got {severity!r}")
    if scale not in (*SCALES, "auto"):
        raise InputError(f"there is no scale '{scale}'{did_you_mean(str(scale), (*SCALES, 'auto'))}")
    height, width = pixels.shape[2:]
    if min(height, width) < SMALLEST:
        raise InputError(
            f"{name} needs images of at least {SMALLEST}x{SMALLEST} pixels, since smaller ones have no "
            f"surroundings to take it from; got {height}x{width}"
        )


def _bytes(pixels: Tensor) -> Tensor:
    """uint8 NHWC of uint8 or float NCHW."""
    if pixels.dtype != torch.uint8:
        pixels = (pixels.float() * 255).round_().clamp_(0, 255).to(torch.uint8)
    return pixels.permute(0, 2, 3, 1).contiguous()
