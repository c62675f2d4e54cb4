"""What a training depends on beside its recipe: the weights of networks that the recipe names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ..training import Recipe

SUFFIXES = (".safetensors", ".pt", ".pth", ".state")


def ingredients(recipe: Recipe) -> dict[str, str]:
    """A checksum for each network that the augmentation takes, shipped or in a file; a user's module has none."""
    names = sorted(set(_texts(recipe.mapping()["augment"])))
    files = {name: _weights(name) for name in names}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for name, file in files.items() if file}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(entry)


def _weights(name: str) -> Any:
    """The file of weights that is meant by a name, by a name and whose weights (``edsr@FILE``), or by a path."""
    name, _, whose = name.partition("@")
    return (_file(whose) if whose else None) or _file(name)


def _file(name: str) -> Any:
    shipped = resources.files("weatherproof") / "networks" / "corruption" / "weights" / f"{name}.safetensors"
    if "/" not in name and shipped.is_file():
        return shipped
    path = Path(name).expanduser()
    if path.is_dir():
        path = path / "model.safetensors"
    return path if path.suffix in SUFFIXES and path.is_file() else None
