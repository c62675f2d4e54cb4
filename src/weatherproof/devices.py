"""Which device to work on."""

from __future__ import annotations

import torch

from .errors import InputError


def pick_device(name: str) -> torch.device:
    """auto (CUDA where there is some), cpu or cuda; one that is not there is refused."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"a device is auto, cpu or cuda; got '{name}'")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("there is no CUDA device here; auto or cpu will do")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
