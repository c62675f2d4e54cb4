"""The augmentations of ordinary training, for whole batches at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn import functional

from ..data import CentreFrame, Frame
from ..errors import InputError
from .augmix import AugMix
from .choice import OneOf
from .deepaugment import DeepAugment
from .prime import Prime

Indices = NDArray[np.int64]  # index arithmetic is numpy's: it starts up faster than torch's on a few hundred numbers


class Augmentation(Protocol):
    """Images to images: (B, C, H, W) of any dtype and device, with randomness from a CPU generator only."""

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor: ...


class Unchanged:
    """No augmentation."""

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        return images


class Flip:
    """Each image is mirrored left to right with probability 1/2."""

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        kept, mirrored, place = _toss(len(images), generator)
        stacked = torch.cat([_chosen(images, kept), _chosen(images, mirrored).flip(3)])
        return _chosen(stacked, place)


class CropFlip:
    """The field's habit for 32 pixels: pad with zeros, crop to the old size at random, mirror with probability 1/2."""

    def __init__(self, pad: int = 4) -> None:
        if pad < 0:
            raise InputError(f"crop_flip pads by 0 pixels or more; got {pad}")
        self.pad = pad

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        count, channels, height, width = images.shape
        if count == 0:
            return images
        pad = self.pad
        top, left = torch.randint(0, 2 * pad + 1, (2, count), generator=generator).numpy()
        kept, mirrored, place = _toss(count, generator)
        # All channels lie one below the other in one buffer, with `pad` zeros between rows and `pad` rows between
        # channels: what pads one on its right pads the next one on its left. A window then lies within one run of
        # height * wide values, which is copied in one piece; a view leaves out the columns that do not belong.
        tall, wide = height + pad, width + pad
        margin, size = pad * wide + pad, channels * tall * wide
        flat = images.new_zeros(margin + count * size + wide)
        padded = flat[margin:-wide].view(count, channels, tall, wide)[:, :, :height, :width]
        padded[: len(kept)] = _chosen(images, kept)
        padded[len(kept) :] = _chosen(images, mirrored).flip(3)
        starts = (place * size + top * wide + left)[:, None] + np.arange(0, size, tall * wide)
        runs = flat.as_strided((flat.numel() - height * wide + 1, height * wide), (1, 1))
        return _chosen(runs, starts.reshape(-1)).view(count, channels, height, wide)[..., :width]


class ResizedCropFlip:
    """The field's habit for photographs: a random part of the image at a random aspect, resized, and mirrored or not.

    `crop` is the side that the part is resized to (default: the images' own); `size`, if given, the side that this is
    resized to once more: the paper trains on 224 pixels brought down to 128. Images in files are cropped from their
    full size when they are opened (`on_files`), images in memory from what they are.
    """

    def __init__(
        self,
        crop: int | None = None,
        size: int | None = None,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
    ) -> None:
        if not 0 < scale[0] <= scale[1] <= 1 or not 0 < ratio[0] <= ratio[1]:
            raise InputError(
                f"resized_crop_flip wants 0 < scale <= 1 and 0 < ratio, low before high; got {scale}, {ratio}"
            )
        if any(side is not None and side < 1 for side in (crop, size)):
            raise InputError(f"resized_crop_flip wants crop and size of 1 pixel or more; got {crop}, {size}")
        self.crop, self.size, self.scale, self.ratio = crop, size, scale, ratio
        self.flip = Flip()

    def on_files(self, size: int) -> tuple[Frame, Augmentation]:
        """What happens when a file is opened, and what is left to do for the batch."""
        return _RandomFrame(self, self.crop or size), self.flip

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        height, width = images.shape[2:]
        boxes = random_boxes(len(images), height, width, self.scale, self.ratio, generator)
        cropped = crop_resized(images, boxes, self.crop or height)
        return self.flip(_resize(cropped, self.size) if self.size else cropped, generator)


class _RandomFrame:
    """A random part of an opened image, resized with antialiasing."""

    def __init__(self, settings: ResizedCropFlip, size: int) -> None:
        self.settings, self.size = settings, size

    def __call__(self, image: Image.Image, generator: torch.Generator) -> Image.Image:
        width, height = image.size
        settings = self.settings
        top, left, tall, wide = random_boxes(1, height, width, settings.scale, settings.ratio, generator)[0].tolist()
        part = image.resize((self.size, self.size), Image.Resampling.BILINEAR, box=(left, top, left + wide, top + tall))
        if settings.size and settings.size != self.size:
            part = part.resize((settings.size, settings.size), Image.Resampling.BILINEAR)
        return part


AUGMENTATIONS: dict[str, Callable[..., Augmentation]] = {
    "none": Unchanged,
    "flip": Flip,
    "crop_flip": CropFlip,
    "resized_crop_flip": ResizedCropFlip,
    "augmix": AugMix,
    "prime": Prime,
    "deepaugment": DeepAugment,
    "one_of": OneOf,
}


def on_files(augmentation: Augmentation, size: int) -> tuple[Frame, Augmentation]:
    """How files are opened for an augmentation, and what it does to the batch: most crop the centre and then act."""
    split = getattr(augmentation, "on_files", None)
    return split(size) if split else (CentreFrame(size), augmentation)


def _toss(count: int, generator: torch.Generator) -> tuple[Indices, Indices, Indices]:
    """A coin for each image: positions of those that stay, of those that are mirrored, and where each image is when
    the former are followed by the latter."""
    coins = torch.rand(count, generator=generator).numpy() < 0.5
    kept, mirrored = np.flatnonzero(~coins), np.flatnonzero(coins)
    place = np.empty(count, dtype=np.int64)
    place[kept], place[mirrored] = np.arange(len(kept)), np.arange(len(kept), count)
    return kept, mirrored, place


def _chosen(rows: Tensor, indices: Indices) -> Tensor:
    """Rows by number. Whole rows are copied in one piece; ``rows[indices]`` would go value by value."""
    return rows.index_select(0, torch.from_numpy(indices).to(rows.device))


def random_boxes(
    count: int, height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float],
    generator: torch.Generator, attempts: int = 10,
) -> Tensor:  # fmt: skip
    """`count` boxes (top, left, height, width), int64 (count, 4), inside an image: area and log aspect uniform.

    The first of ten attempts that fits is taken, as the field does it; when none fits, the largest box in the middle
    whose aspect is allowed.
    """
    draws = torch.rand(4, attempts, count, generator=generator, dtype=torch.float64)
    area = height * width * (scale[0] + (scale[1] - scale[0]) * draws[0])
    low, high = math.log(ratio[0]), math.log(ratio[1])
    aspect = torch.exp(low + (high - low) * draws[1])
    wide, tall = (area * aspect).sqrt().round().long(), (area / aspect).sqrt().round().long()
    fits = (wide > 0) & (wide <= width) & (tall > 0) & (tall <= height)
    top = (draws[2] * (height - tall + 1)).long()
    left = (draws[3] * (width - wide + 1)).long()
    first = fits.to(torch.uint8).argmax(dim=0, keepdim=True)
    boxes = torch.stack([top, left, tall, wide], dim=-1).gather(0, first[..., None].expand(1, count, 4))[0]
    boxes[~fits.any(dim=0)] = _middle_box(height, width, ratio)
    return boxes


def _middle_box(height: int, width: int, ratio: tuple[float, float]) -> Tensor:
    wide, tall = width, height
    if width / height < ratio[0]:
        tall = max(1, min(height, round(width / ratio[0])))
    elif width / height > ratio[1]:
        wide = max(1, min(width, round(height * ratio[1])))
    return torch.tensor([(height - tall) // 2, (width - wide) // 2, tall, wide])


def crop_resized(images: Tensor, boxes: Tensor, size: int) -> Tensor:
    """Each image's box (top, left, height, width), resized to `size` by bilinear interpolation; dtype is kept."""
    height, width = images.shape[2:]
    if len(images) == 0:  # a grid of nothing is an error to torch
        return images.new_empty(0, images.shape[1], size, size)
    top, left, tall, wide = boxes.to(images.device, torch.float32).unbind(1)
    # affine_grid maps the output square [-1, 1]^2 onto the box, in the input's own [-1, 1]^2.
    zero = torch.zeros_like(top)
    rows = [
        torch.stack([wide / width, zero, (2 * left + wide) / width - 1], dim=1),
        torch.stack([zero, tall / height, (2 * top + tall) / height - 1], dim=1),
    ]
    grid = functional.affine_grid(torch.stack(rows, dim=1), [len(images), 1, size, size], align_corners=False)
    sampled = functional.grid_sample(images.float(), grid, padding_mode="border", align_corners=False)
    return _as_dtype(sampled, images.dtype)


def _resize(images: Tensor, size: int) -> Tensor:
    if len(images) == 0:
        return images.new_empty(0, images.shape[1], size, size)
    resized = functional.interpolate(images.float(), (size, size), mode="bilinear", antialias=True)
    return _as_dtype(resized, images.dtype)


def _as_dtype(images: Tensor, dtype: torch.dtype) -> Tensor:
    return images.round().to(dtype) if dtype == torch.uint8 else images.to(dtype)
