"""What an image is, at every public border: float NCHW in [0, 1], or uint8 NHWC. Anything else is refused, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .errors import InputError

ImagesLike = Tensor | np.ndarray

WANTED = "wanted float NCHW in [0, 1] or uint8 NHWC, with 1 or 3 channels"
SLACK = 1e-5  # resampling in float32 may end a hair outside [0, 1]


def to_unit(pixels: Tensor) -> Tensor:
    """uint8 pixels as float32 in [0, 1]; floats pass unchanged."""
    return pixels.to(torch.float32).div_(255) if pixels.dtype == torch.uint8 else pixels


def as_pixels(images: ImagesLike, name: str = "images") -> Tensor:
    """The same images as an NCHW tensor, uint8 or float, after checking layout, type and range.

    Raises `InputError` with what came and what was wanted.
    """
    tensor = _as_tensor(images, name)
    if tensor.ndim != 4:
        raise InputError(f"{name}: got {tensor.ndim} dimensions, shape {tuple(tensor.shape)}; {WANTED}")
    if tensor.dtype == torch.uint8:
        if tensor.shape[3] not in (1, 3):
            raise InputError(f"{name}: got uint8 of shape {tuple(tensor.shape)}; {WANTED}")
        return tensor.permute(0, 3, 1, 2)
    if not tensor.is_floating_point():
        raise InputError(f"{name}: got {_dtype(tensor)}; {WANTED}")
    if tensor.shape[1] not in (1, 3):
        raise InputError(f"{name}: got {_dtype(tensor)} of shape {tuple(tensor.shape)}; {WANTED}")
    _check_range(tensor, name)
    return tensor


def as_labels(labels: Any, count: int, classes: int | None = None, name: str = "labels") -> Tensor:
    """Labels as an int64 vector of `count` entries in 0..classes-1, checked."""
    tensor = _as_tensor(labels, name)
    whole = not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)
    if (not whole and tensor.numel()) or tensor.ndim != 1:  # an empty list has no type
        raise InputError(f"{name}: got {_dtype(tensor)} of shape {tuple(tensor.shape)}; wanted a vector of integers")
    if len(tensor) != count:
        raise InputError(f"{name}: got {len(tensor)} labels for {count} images")
    tensor = tensor.to(torch.int64)
    if count and int(tensor.min()) < 0:
        raise InputError(f"{name}: label {int(tensor.min())} is out of range; the first class is 0")
    if count and classes is not None and int(tensor.max()) >= classes:
        raise InputError(f"{name}: label {int(tensor.max())} is out of range for {classes} classes (0..{classes - 1})")
    return tensor


def _as_tensor(values: Any, name: str) -> Tensor:
    if isinstance(values, Tensor):
        return values
    try:
        return torch.as_tensor(_shareable(values) if isinstance(values, np.ndarray) else values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name}: got {type(values).__name__}, which is not an array of numbers ({error})") from error


def _shareable(array: np.ndarray) -> np.ndarray:
    """The array as torch can take it over: writable, in this machine's byte order, without negative strides."""
    array = np.require(array, array.dtype.newbyteorder("="), "W")
    return array if min(array.strides, default=0) >= 0 else np.ascontiguousarray(array)


def _check_range(tensor: Tensor, name: str) -> None:
    if tensor.numel() == 0:
        return
    low, high = (float(bound) for bound in torch.aminmax(tensor.detach()))
    if low != low or high != high:  # NaN is the only value that differs from itself
        raise InputError(f"{name}: some values are NaN; {WANTED}")
    if low < -SLACK or high > 1 + SLACK:
        raise InputError(f"{name}: got values from {low:.7g} to {high:.7g}; {WANTED}")


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
