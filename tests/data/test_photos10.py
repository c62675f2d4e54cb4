"""The shipped photos10 files: what they hold, and that train and test never share a pixel of a source image."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from weatherproof.data import photos10
from weatherproof.data.photos10 import load_photos10

ASSETS = Path(photos10.__file__).parent / "assets" / "photos10"
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "build_photos10.py"


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    """The build script as a module."""
    if not SCRIPT.exists():
        pytest.skip("the build script is not part of this installation")
    spec = importlib.util.spec_from_file_location("build_photos10", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_photos10"] = module
    spec.loader.exec_module(module)
    return module


def test_arrays_have_the_promised_shapes_and_types() -> None:
    train_images, train_labels, test_images, test_labels, names = load_photos10()
    assert train_images.shape == (4000, 32, 32, 3) and test_images.shape == (1000, 32, 32, 3)
    assert train_images.dtype == np.uint8 and test_images.dtype == np.uint8
    assert train_labels.dtype == np.int64 and test_labels.dtype == np.int64
    assert len(names) == 10 and len(set(names)) == 10 and all(isinstance(name, str) for name in names)


def test_classes_are_balanced_also_in_a_prefix_and_in_a_stride() -> None:
    _, train_labels, _, test_labels, _ = load_photos10()
    assert np.bincount(train_labels).tolist() == [400] * 10
    assert np.bincount(test_labels).tolist() == [100] * 10
    assert np.bincount(test_labels[:50]).tolist() == [5] * 10
    assert np.bincount(test_labels[::10]).tolist() == [10] * 10


def test_labels_belong_to_their_crops() -> None:
    """Facts about the photographs that a shuffled label would break: four are grey, galaxies are darkest."""
    _, _, images, labels, names = load_photos10()
    grey = {names[label] for label in range(10) if np.ptp(images[labels == label], axis=-1).max() == 0}
    assert grey == {"brick", "camera", "grass", "gravel"}
    medians = [np.median(images[labels == label]) for label in range(10)]
    assert names[int(np.argmin(medians))] == "galaxies"
    red, _, blue = images[labels == names.index("retina")].mean(axis=(0, 1, 2))
    assert red > 1.5 * blue


def test_no_crop_occurs_twice() -> None:
    train_images, _, test_images, _, _ = load_photos10()
    crops = {crop.tobytes() for images in (train_images, test_images) for crop in images}
    assert len(crops) == 5000


def test_files_are_small_and_the_sources_are_listed() -> None:
    assert sum(path.stat().st_size for path in ASSETS.iterdir()) < 6_000_000
    described = json.loads((ASSETS / "photos10.json").read_text(encoding="utf-8"))
    sources = (ASSETS / "SOURCES.md").read_text(encoding="utf-8")
    for name in described["classes"]:
        assert f"| {name} | `{described['sources'][name]['file']}` |" in sources


@pytest.mark.parametrize(("height", "width"), [(300, 451), (512, 512), (872, 1000)])
def test_crops_stay_inside_their_region(builder: ModuleType, height: int, width: int) -> None:
    mask = builder.test_region(height, width)
    assert 0.15 < mask.mean() < 0.25
    rng = np.random.default_rng(0)
    for region in (mask, ~mask):
        for _ in range(200):
            box = builder.bounding_box(*builder.draw_place(rng, region))
            left, top, right, bottom = box
            assert builder.inside(box, region) and region[top:bottom, left:right].all()
            assert not builder.inside(box, ~region)


def test_a_crop_reads_nothing_outside_its_bounding_box(builder: ModuleType) -> None:
    """Change every pixel outside the box: the crop must not change, at any angle."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (200, 200, 3), dtype=np.uint8)
    place = (100.3, 90.7, 41.9)
    left, top, right, bottom = builder.bounding_box(*place)
    changed = 255 - pixels
    changed[top:bottom, left:right] = pixels[top:bottom, left:right]
    for angle in (0.0, 33.0, 45.0, 200.0):
        crops = [np.asarray(builder.cut(builder.Image.fromarray(array), place, angle)) for array in (pixels, changed)]
        np.testing.assert_array_equal(*crops)


def test_a_crop_is_never_padded(builder: ModuleType) -> None:
    """Turning leaves black corners in the turned square; a white image shows that no crop reaches them."""
    white = builder.Image.new("RGB", (200, 200), "white")
    for angle in np.linspace(0, 360, 37):
        for side in (18.0, 31.4, 60.2):
            assert np.asarray(builder.cut(white, (100.3, 90.7, side), float(angle))).min() == 255


@pytest.mark.slow
def test_the_build_script_makes_the_shipped_pixels(builder: ModuleType) -> None:
    pytest.importorskip("skimage")
    assert builder.differences(builder.build(), ASSETS) == []
