"""A task that trains in a second, for tests of everything around the training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

SIDE, CLASSES = 16, 3


def tiny_images(count: int, seed: int, channels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Noise with a bright bar, whose height tells the class: uint8 (N, 16, 16, C), int64 (N,)."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % CLASSES
    images = generator.integers(0, 120, (count, SIDE, SIDE, channels), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[5 * label : 5 * label + 5] += 100
    return images, labels.astype(np.int64)


def write_tiny_npz(file: Path, channels: int = 3) -> Path:
    """A .npz with 120 training and 60 test images."""
    train_images, train_labels = tiny_images(120, 0, channels)
    test_images, test_labels = tiny_images(60, 1, channels)
    np.savez(file, x_train=train_images, y_train=train_labels, x_test=test_images, y_test=test_labels)
    return file


def tiny_recipe(npz: Path, **training: Any) -> dict[str, Any]:
    """A recipe for it, in plain values."""
    return {
        "data": {"source": str(npz)},
        "classifier": {"class_path": "resnet_small", "init_args": {"width": 4}},
        "augment": {"standard": {"class_path": "crop_flip", "init_args": {"pad": 1}}},
        "training": {"epochs": 2, "batch_size": 24, "learning_rate": 0.05, **training},
    }


def write_tiny_recipe(folder: Path, **training: Any) -> Path:
    """The data and the recipe as files; returns the recipe's."""
    npz = write_tiny_npz(folder / "tiny.npz")
    file = folder / "tiny.yaml"
    file.write_text(yaml.safe_dump(tiny_recipe(npz, **training)), encoding="utf-8")
    return file
