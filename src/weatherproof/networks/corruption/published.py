"""Weights that others published, under their own key names: EDSR-PyTorch's EDSR-baselines, and DeepAugment's CAE."""

from __future__ import annotations

import pickle
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
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{path} is truncated, or holds more than tensors ({reason})") from error
    tensors = {_plain_key(key): value.float() for key, value in _state(content, path).items()}
    return _without_shifts(tensors, path)


def _state(content: Any, path: Path) -> Mapping[str, Tensor]:
    """The state dict, which some files keep below a key of its own."""
    for key in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise InputError(f"{path} holds no state dict: wanted names with tensors")
    return content


def _plain_key(key: str) -> str:
    """Without what wrappers put in front."""
    return key.removeprefix("module.").removeprefix("model.")


def _without_shifts(tensors: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    mean = torch.tensor(DIV2K_MEAN)
    for name, sign in _SHIFTS.items():
        weight, bias = tensors.pop(f"{name}.weight", None), tensors.pop(f"{name}.bias", None)
        if bias is not None and not torch.allclose(bias, sign * RANGE * mean, atol=0.1):
            raise InputError(f"{path}: {name}.bias is {bias.tolist()}; wanted {(sign * RANGE * mean).tolist()}")
        if weight is not None and not torch.allclose(weight.view(3, 3), torch.eye(3), atol=1e-3):
            raise InputError(f"{path}: {name}.weight is not the identity")
    return tensors
