"""Importing the package costs next to nothing, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import weatherproof

HEAVY = ("torch", "lightning_fabric", "jsonargparse", "rich", "numpy", "PIL")


@pytest.mark.parametrize(
    "statement", ["import weatherproof", "from weatherproof.cli.main import main; main(['--help'])"]
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    code = f"{statement}; import sys; print([name for name in {HEAVY} if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip().endswith("[]")


@pytest.mark.parametrize("name", weatherproof.__all__)
def test_public_names_resolve(name: str) -> None:
    thing = getattr(weatherproof, name)
    assert callable(thing) or isinstance(thing, tuple | dict)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = weatherproof.nonsense
