"""Augmentations: batches of images to batches of images, on any device, seeded."""

from .prime import Prime
from .standard import AUGMENTATIONS, Augmentation, CropFlip, Flip, ResizedCropFlip, Unchanged, on_files

__all__ = [
    "AUGMENTATIONS",
    "Augmentation",
    "CropFlip",
    "Flip",
    "Prime",
    "ResizedCropFlip",
    "Unchanged",
    "on_files",
]
