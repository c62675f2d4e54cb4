"""Weights that others published, under their own key names: EDSR-PyTorch's EDSR-baselines, and DeepAugment's CAE."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from .edsr import DIV2K_MEAN, RANGE

# EDSR-PyTorch keeps the subtraction and addition of the mean colour as 1x1 convolutions; ours are arithmetic.
_SHIFTS = {"sub_mean": -1, "add_mean": 1}


def read_published(path: Path) -> dict[str, Tensor]:
    """The tensors of a published checkpoint, by the key names that our modules have too.

    Read by torch's unpickler that admits tensors and plain containers only: nothing in the file is executed.
    """
    if not path.is_file():
        raise InputError(f"there is no weights file {path}")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # whatever the bytes of another format mean to an unpickler
        foreign = re.search(r"Unsupported global: GLOBAL ([\w.]+)", str(error))
        what = f"holds more than tensors ({foreign[1]})" if foreign else "holds more than tensors"
        raise InputError(f"{path} is truncated, or {what}, or is no file that torch.save has written") from error
    tensors = {_plain_key(key): value.float() for key, value in _state(content, path).items()}
    return _without_shifts(tensors, path)


def edsr_scale(tensors: Mapping[str, Tensor]) -> int | None:
    """By how much an EDSR enlarges: by 4 in two steps, by 2 or 3 through scale^2 times its features at once; None where
    the tensors do not tell."""
    if "tail.0.2.weight" in tensors:
        return 4
    shape = tensors["tail.0.0.weight"].shape if "tail.0.0.weight" in tensors else ()
    if len(shape) != 4:
        return None
    return next((scale for scale in (2, 3) if shape[0] == scale**2 * shape[1]), None)


def _state(content: Any, path: Path) -> Mapping[str, Tensor]:
    """The state dict, which some files keep below a key of its own."""
    for key in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping):
        raise InputError(f"{path} holds no state dict: wanted names with tensors; got a {type(content).__name__}")
    strange = [key for key, value in content.items() if not (isinstance(key, str) and isinstance(value, Tensor))]
    if strange:
        came = ", ".join(f"the {type(key).__name__} {key!r} with a {type(content[key]).__name__}" for key in strange)
        raise InputError(f"{path} holds no state dict: wanted names with tensors; got {came}")
    return content


def _plain_key(key: str) -> str:
    """Without what wrappers put in front."""
    return key.removeprefix("module.").removeprefix("model.")


def _without_shifts(tensors: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """The tensors that are learned, once those that we do without are known to be what ours stand for."""
    mean = RANGE * torch.tensor(DIV2K_MEAN)
    wanted = {f"{name}.bias": sign * mean for name, sign in _SHIFTS.items()}
    wanted |= {f"{name}.weight": torch.eye(3).view(3, 3, 1, 1) for name in _SHIFTS}
    faults = [_shift_fault(key, tensors[key], want) for key, want in wanted.items() if key in tensors]
    if any(faults):
        raise InputError(f"{path} shifts colours as EDSR does not: {'; '.join(filter(None, faults))}")
    return {key: value for key, value in tensors.items() if key not in wanted}


def _shift_fault(key: str, came: Tensor, wanted: Tensor) -> str:
    """In what a shift differs from the wanted one; nothing where it does not."""
    if came.shape != wanted.shape:
        return f"{key} is of shape {tuple(came.shape)} instead of {tuple(wanted.shape)}"
    if torch.allclose(came, wanted, rtol=1e-5, atol=0.1 if came.ndim == 1 else 1e-3):
        return ""
    return f"{key} is {came.flatten().tolist()} instead of {[round(value, 3) for value in wanted.flatten().tolist()]}"
