"""Augmentations: batches of images to batches of images, on any device, seeded."""

from .augmix import AugMix
from .standard import AUGMENTATIONS, Augmentation, CropFlip, Flip, ResizedCropFlip, Unchanged, on_files

__all__ = ["AUGMENTATIONS", "AugMix", "Augmentation", "CropFlip", "Flip", "ResizedCropFlip", "Unchanged", "on_files"]
