"""Frost: the image seen through ice on a window.

The ice is cut out of five pictures at random. They are the classic photographs where the package imagecorruptions is
installed or a folder is named; otherwise five that `ice.py` draws.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from ..errors import InputError, did_you_mean
from . import ice
from .draws import Draws
from .filters import as_bytes
from .tables import FROST_RESIZE
from .weather import luma

PHOTOGRAPHS, PROCEDURAL = "photographs", "procedural"
# There is a sixth photograph; the published sets were made without it.
CLASSIC = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")
PACKAGE = "imagecorruptions"


@dataclass(frozen=True)
class Ice:
    """Pictures of ice, one after the other in one run of memory: uint8 `values`, each picture's first value, height and
    width in int64 (n,)."""

    values: Tensor
    firsts: Tensor
    heights: Tensor
    widths: Tensor


def frost(pixels: Tensor, weights: tuple[float, float], draws: Draws, *, ice: Ice) -> Tensor:
    """A weighted sum of the image and of a part of the ice."""
    height, width, channels = pixels.shape[1:]
    chosen = draws.integers(0, len(ice.firsts))
    top = draws.integers(0, ice.heights[chosen] - height)
    left = draws.integers(0, ice.widths[chosen] - width)
    # A row of a cut is a run of memory: one of all runs of that length there are.
    runs = ice.values.as_strided((ice.values.numel() - width * channels + 1, width * channels), (1, 1))
    rows = top[:, None] + torch.arange(height, device=pixels.device)
    starts = ice.firsts[chosen, None] + (rows * ice.widths[chosen, None] + left[:, None]) * channels
    cut = runs.index_select(0, starts.view(-1)).view(pixels.shape)
    return as_bytes(pixels.float().mul_(weights[0]).add_(cut, alpha=weights[1]))


def frost_in_use(source: str) -> str:
    """What "auto" comes to here: photographs or procedural; a folder stays what it is, "photographs" is checked."""
    installed = importlib.util.find_spec(PACKAGE) is not None
    if source == "auto":
        return PHOTOGRAPHS if installed else PROCEDURAL
    if source == PHOTOGRAPHS and not installed:
        raise InputError(
            "the photographs of frost come with imagecorruptions, which is not installed; "
            "pip install imagecorruptions-imaug, name a folder that holds them, or say procedural"
        )
    return source


@functools.lru_cache(maxsize=8)
def ice_for(source: str, scale: str, height: int, width: int, channels: int, device: torch.device) -> Ice:
    """The ice to cut from for images of a size."""
    pictures = [_fitting(picture, FROST_RESIZE[scale], height, width) for picture in _pictures(frost_in_use(source))]
    if channels == 1:
        pictures = [luma(picture.float()).round().to(torch.uint8) for picture in pictures]
    firsts = np.cumsum([0, *(picture.numel() for picture in pictures)])[:-1]
    return Ice(
        torch.cat([picture.flatten() for picture in pictures]).to(device),
        torch.from_numpy(firsts).to(device),
        torch.tensor([picture.shape[0] for picture in pictures], device=device),
        torch.tensor([picture.shape[1] for picture in pictures], device=device),
    )


@functools.lru_cache(maxsize=2)
def _pictures(source: str) -> list[Tensor]:
    """uint8 (H, W, 3)."""
    if source == PROCEDURAL:
        return ice.pictures()
    folder = _installed_folder() if source == PHOTOGRAPHS else Path(source).expanduser()
    if not folder.is_dir():
        known = ("auto", PHOTOGRAPHS, PROCEDURAL)
        raise InputError(
            f"frost is auto, photographs, procedural or a folder of photographs; there is no '{source}'"
            f"{did_you_mean(source, known)}"
        )
    files = [folder / name for name in CLASSIC if (folder / name).is_file()] or sorted(folder.iterdir())
    found = [picture for file in files if (picture := _opened(file)) is not None]
    if not found:
        raise InputError(f"{folder} holds no photographs to take frost from")
    return found


def _installed_folder() -> Path:
    # Found, not imported: the package brings OpenCV and numba along.
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "frost"


def _opened(file: Path) -> Tensor | None:
    try:
        with Image.open(file) as picture:
            return torch.from_numpy(np.asarray(picture.convert("RGB")).copy())  # transparency is dropped
    except (UnidentifiedImageError, IsADirectoryError):
        return None
    except (OSError, SyntaxError) as error:
        raise InputError(f"{file} is a broken photograph ({error})") from error


def _fitting(picture: Tensor, factor: float, height: int, width: int) -> Tensor:
    """The picture resized by a factor, by linear interpolation as OpenCV does it, and enlarged if a cut of that height
    and width would not fit into it: uint8 (H, W, 3)."""
    tall, wide = (side * factor for side in picture.shape[:2])
    factor *= max(1.0, math.ceil(height + 1) / math.floor(tall), math.ceil(width + 1) / math.floor(wide))
    if factor == 1:
        return picture
    values = picture.permute(2, 0, 1)[None].float()
    size = [round(side * factor + 1e-6) for side in picture.shape[:2]]
    values = F.interpolate(values, scale_factor=factor + 1e-9, mode="bilinear", recompute_scale_factor=False)
    return values[0, :, : size[0], : size[1]].permute(1, 2, 0).add_(0.5).to(torch.uint8).contiguous()
