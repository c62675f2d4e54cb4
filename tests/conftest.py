"""What many tests need: small data sets on disk, real ones where there are some, and property tests that repeat."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numbered import MakeFolder, MakeNpz, numbered_image
from PIL import Image

# The same examples in every run: a test that fails fails for everybody, on the first try.
# How long drawing them takes says how busy the machine is, not whether the code is right.
settings.register_profile(
    "steady", derandomize=True, deadline=None, max_examples=60, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("steady")


@pytest.fixture
def make_folder() -> MakeFolder:
    """Writes ``root/class/NNN.png``: `classes` maps a class to its number of images, numbered through all classes."""

    def make(root: Path, classes: Mapping[str, int], size: tuple[int, int] = (12, 12), first: int = 0) -> Path:
        number = first
        for name, count in classes.items():
            (root / name).mkdir(parents=True)
            for _ in range(count):
                Image.fromarray(numbered_image(number, size)).save(root / name / f"{number:03}.png")
                number += 1
        return root

    return make


@pytest.fixture
def make_npz() -> MakeNpz:
    """Writes a .npz with 24 training and 12 test images of three classes; keywords replace, add or (None) drop one."""

    def make(file: Path, **changes: np.ndarray | None) -> Path:
        arrays: dict[str, np.ndarray | None] = {
            "x_train": np.stack([numbered_image(number) for number in range(24)]),
            "y_train": np.arange(24) % 3,
            "x_test": np.stack([numbered_image(number) for number in range(24, 36)]),
            "y_test": np.arange(12) % 3,
        }
        arrays.update(changes)
        np.savez(file, **{name: array for name, array in arrays.items() if array is not None})  # type: ignore[arg-type]
        return file

    return make


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder that holds published data sets; without one the test is skipped."""
    named = os.environ.get("WEATHERPROOF_DATA")
    if not named:
        pytest.skip("$WEATHERPROOF_DATA names no folder with published data sets")
    if not Path(named).is_dir():
        pytest.skip("the folder that $WEATHERPROOF_DATA names is not there")
    return Path(named)


@pytest.fixture(scope="session")
def real_cifar10(real_data: Path) -> Path:
    """The folder of the published CIFAR-10; without one the test is skipped."""
    folder = real_data / "cifar-10-batches-py"
    if not folder.is_dir():
        pytest.skip("$WEATHERPROOF_DATA holds no cifar-10-batches-py")
    return folder
