"""From an image set to batches on a device: from memory, or from files through workers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ..errors import InputError
from ..randomness import seed_of, stream
from .image_sets import ArrayImages, FileImages, Frame, ImageSet

CENTRE_SHARE = 0.875  # the share of the shorter side that a centre crop keeps: 224 of 256, the field's habit


@dataclass(frozen=True)
class Batch:
    """Examples on a device: `images` uint8 (B, C, H, W), `labels` int64 (B,), `indices` their positions in the set."""

    images: Tensor
    labels: Tensor
    indices: Tensor


class CentreFrame:
    """Resize and crop the centre to a square; an image that has the size already is left alone."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, image: Image.Image, generator: torch.Generator) -> Image.Image:
        if image.size == (self.size, self.size):
            return image
        width, height = image.size
        scale = round(self.size / CENTRE_SHARE) / min(width, height)
        # One resampling from the box that the crop keeps; the same as resizing the whole and cropping.
        half = self.size / scale / 2
        box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
        return image.resize((self.size, self.size), Image.Resampling.BILINEAR, box=box, reducing_gap=3.0)


class ShortSide:
    """Resize so that the shorter side has `size` pixels; nothing is cut off."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, image: Image.Image, generator: torch.Generator) -> Image.Image:
        shorter = min(image.size)
        if shorter == self.size:
            return image
        width, height = (max(1, round(side * self.size / shorter)) for side in image.size)
        return image.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=3.0)


class Loader:
    """Batches of an image set, epoch after epoch.

    Order and every random draw follow from `seed`, the epoch and the position alone: not from workers, nor from where
    an epoch is entered. Without a seed the order is the set's own. With one, and where the set has copies, each image
    is drawn in one of its versions, all equally likely.
    """

    def __init__(
        self,
        images: ImageSet,
        batch_size: int,
        size: int,
        *,
        frame: Frame | None = None,
        seed: int | None = None,
        drop_last: bool = False,
        device: torch.device | str = "cpu",
        workers: int = 0,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"a batch has at least 1 image; got {batch_size}")
        if workers < 0:
            raise InputError(f"images are opened by 0 worker processes or more; got {workers}")
        self.images = images
        self.batch_size = batch_size
        self.size = size
        self.frame = frame or CentreFrame(size)
        self.seed = seed
        self.drop_last = drop_last
        self.device = torch.device(device)
        self.workers = workers

    def __len__(self) -> int:
        """Batches in an epoch."""
        if self.drop_last:
            return max(1, len(self.images) // self.batch_size)  # a set smaller than a batch is one batch
        return -(-len(self.images) // self.batch_size)

    def of(self, images: ImageSet) -> Loader:
        """A loader of other images with the same settings."""
        return Loader(
            images,
            self.batch_size,
            self.size,
            frame=self.frame,
            seed=self.seed,
            drop_last=self.drop_last,
            device=self.device,
            workers=self.workers,
        )

    def epoch(self, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """The batches of one epoch, from number `start` on."""
        parts = torch.split(self._order(epoch), self.batch_size)[start : len(self)]
        versions = self._versions(epoch)
        if isinstance(self.images.images, ArrayImages):
            pixels: Iterator[Tensor] = (self._gather(self.images.images, part, versions) for part in parts)
        else:
            pixels = self._stream(self.images.images, parts, versions, epoch)
        for part, images in zip(parts, pixels, strict=True):
            labels = self.images.labels[part]
            yield Batch(self._send(images), self._send(labels), part)

    def _order(self, epoch: int) -> Tensor:
        if self.seed is None:
            return torch.arange(len(self.images))
        return torch.randperm(len(self.images), generator=stream(self.seed, "order", epoch))

    def _versions(self, epoch: int) -> Tensor | None:
        """For each image which version an epoch shows: 0 is itself, n the n-th copy. None where there are no copies."""
        if self.seed is None or not self.images.copies:
            return None
        choices = 1 + len(self.images.copies)
        return torch.randint(choices, (len(self.images),), generator=stream(self.seed, "version", epoch))

    def _gather(self, images: ArrayImages, part: Tensor, versions: Tensor | None) -> Tensor:
        pixels = images.pixels.index_select(0, part)
        if versions is None:
            return pixels
        for number, copy in enumerate(self.images.copies, start=1):
            rows = (versions[part] == number).nonzero()[:, 0]
            pixels[rows] = copy.pixels[part[rows]]  # type: ignore[union-attr]  # copies are of the set's own kind
        return pixels

    def _stream(
        self, files: FileImages, parts: Sequence[Tensor], versions: Tensor | None, epoch: int
    ) -> Iterator[Tensor]:
        opened = _Opened([files, *self.images.copies], versions, self.frame, seed_of(self.seed or 0, "open", epoch))
        batches: DataLoader[Any] = DataLoader(
            opened,
            batch_sampler=[part.tolist() for part in parts],
            num_workers=min(self.workers, len(parts)),
            collate_fn=_stack,
            generator=torch.Generator(),  # workers take their seeds from here, not from the global generator
        )
        for images in batches:
            if isinstance(images, InputError):
                raise images
            yield images

    def _send(self, tensor: Tensor) -> Tensor:
        if self.device.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.device, non_blocking=True)


def default_workers() -> int:
    """Processes that open images, when nobody says how many: one per processor that this process may use, up to 8."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(8, available)


class _Opened(Dataset[Any]):
    """Opened and framed images; what cannot be opened travels as an error, so that its sentence stays whole."""

    def __init__(self, versions: list[Any], chosen: Tensor | None, frame: Frame, seed: int) -> None:
        self.versions, self.chosen, self.frame, self.seed = versions, chosen, frame, seed

    def __getitem__(self, index: int) -> Tensor | InputError:
        files: FileImages = self.versions[0 if self.chosen is None else int(self.chosen[index])]
        try:
            image = self.frame(files.open(index), stream(self.seed, index))
        except InputError as error:
            return error
        array = np.asarray(image)
        return torch.from_numpy(array.reshape(*array.shape[:2], -1).copy()).permute(2, 0, 1)


def _stack(images: list[Tensor | InputError]) -> Tensor | InputError:
    failed = next((image for image in images if isinstance(image, InputError)), None)
    return failed or torch.stack([image for image in images if isinstance(image, Tensor)])
