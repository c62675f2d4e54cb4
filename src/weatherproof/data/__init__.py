"""Labelled images: where they come from, how they are split, and how they arrive in batches."""

from .fingerprint import fingerprint
from .image_sets import ArrayImages, Data, FileImages, Frame, Images, ImageSet, Split
from .loader import Batch, CentreFrame, Loader, ShortSide, default_workers
from .sources import open_data, open_split
from .splits import stratified

__all__ = [
    "ArrayImages", "Batch", "CentreFrame", "Data", "FileImages", "Frame", "ImageSet", "Images", "Loader", "ShortSide",
    "Split", "default_workers", "fingerprint", "open_data", "open_split", "stratified",
]  # fmt: skip
