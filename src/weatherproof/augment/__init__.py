"""Augmentations: batches of images to batches of images, on any device, seeded."""

from .augmix import AugMix
from .border import ImageAugmentation
from .choice import OneOf
from .deepaugment import DeepAugment
from .prime import Prime
from .standard import AUGMENTATIONS, Augmentation, CropFlip, Flip, ResizedCropFlip, Unchanged, on_files

__all__ = [
    "AUGMENTATIONS",
    "AugMix",
    "Augmentation",
    "CropFlip",
    "DeepAugment",
    "Flip",
    "ImageAugmentation",
    "OneOf",
    "Prime",
    "ResizedCropFlip",
    "Unchanged",
    "on_files",
]
