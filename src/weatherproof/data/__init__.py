"""Labelled images: where they come from, how they are split, and how they arrive in batches."""

from .image_sets import ArrayImages, Data, FileImages, Frame, Images, ImageSet
from .loader import Batch, CentreFrame, Loader, ShortSide, default_workers
from .sources import open_data
from .splits import stratified

__all__ = [
    "ArrayImages", "Batch", "CentreFrame", "Data", "FileImages", "Frame", "ImageSet", "Images", "Loader", "ShortSide",
    "default_workers", "open_data", "stratified",
]  # fmt: skip
