"""Build photos10: 32x32 RGB crops of ten photographs and textures that are CC0 or in the public domain.

What: each class is one image of the scikit-image wheel. Every image is cut into a 5x5 grid of cells; five cells, one
per row and per column, are the test region and the other twenty the train region. Crops have a random place, scale,
angle and exposure, and a crop is kept only if the square around its bounding circle lies in one region, so no pixel
that a test crop was made from was used for a train crop.
Why: the package can then run its main job with no download, on data anyone may redistribute.
Command (needs scikit-image, Pillow and numpy; no network):

    python scripts/build_photos10.py            # rewrite the shipped files
    python scripts/build_photos10.py --check    # compare the shipped pixels with freshly made ones, write nothing

The pixels depend on the seed, the source images and Pillow's resampling (and, for the three JPEG sources, on a JPEG
decoder that agrees with the libjpeg-turbo in Pillow's wheels); the bytes of the WebP files also depend on the version
of libwebp inside Pillow, which is why --check compares pixels.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

ASSETS = Path(__file__).resolve().parents[1] / "src" / "weatherproof" / "data" / "assets" / "photos10"
SEED = 10
SIDE = 32
COLUMNS = 10  # crops side by side in a sheet
COUNTS = {"train": 400, "test": 100}  # crops per class
# The crop's side as a fraction of the source's shorter side, so that a 300-pixel and a 1411-pixel photograph show
# about as much of their subject in one crop.
SCALES = (0.06, 0.12)
GRID = 5
TEST_CELLS = ((0, 0), (1, 2), (2, 4), (3, 1), (4, 3))  # (row, column): one per row and per column, none side by side
# A crop with less spread of grey than this shows only sky, shadow or blank skin: nobody could name its photograph.
LEAST_CONTRAST = 6.0
# Every source is one photograph with one exposure, so without this the mean colour alone would tell most classes apart
# and any change of brightness would be fatal. Each crop is re-exposed by up to this many stops, either way.
STOPS = 0.35
MOST_TRIES = 100_000
Pixels = NDArray[np.uint8]
Box = tuple[int, int, int, int]  # left, top, right, bottom


class Source(NamedTuple):
    """One class: its name, the file in scikit-image's data folder, that file's hash, and the part of it to use."""

    name: str
    file: str
    sha256: str
    part: Box | None = None


SOURCES = (
    Source("astronaut", "astronaut.png", "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5"),
    Source("brick", "brick.png", "7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf"),
    Source("camera", "camera.png", "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a"),
    Source("cat", "chelsea.png", "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb"),
    Source("coffee", "coffee.png", "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7"),
    Source("galaxies", "hubble_deep_field.jpg", "3a19c5dd8a927a9334bb1229a6d63711b1c0c767fb27e2286e7c84a3e2c2f5f4"),
    Source("grass", "grass.png", "b6b6022426b38936c43a4ac09635cd78af074e90f42ffa8227ac8b7452d39f89"),
    Source("gravel", "gravel.png", "c48615b451bf1e606fbd72c0aa9f8cc0f068ab7111ef7d93bb9b0f2586440c12"),
    Source(
        "retina",
        "retina.jpg",
        "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
        (206, 206, 1206, 1206),
    ),
    Source("rocket", "rocket.jpg", "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c"),
)


def source_folder() -> Path:
    """Return scikit-image's data folder, found without importing the package."""
    spec = importlib.util.find_spec("skimage")
    if spec is None or spec.origin is None:
        raise SystemExit("scikit-image is not installed: pip install scikit-image")
    return Path(spec.origin).parent / "data"


def open_source(source: Source) -> Image.Image:
    """Read one source image as RGB, after checking that it is the very file the shipped crops came from."""
    path = source_folder() / source.file
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if source.sha256 and found != source.sha256:
        raise SystemExit(f"{path} has sha256 {found}, not {source.sha256}: photos10 was built from another version")
    return Image.open(path).convert("RGB").crop(source.part)


def test_region(height: int, width: int) -> NDArray[np.bool_]:
    """Return a mask of the pixels that belong to the test region; all the others belong to the train region."""
    row_edges, column_edges = (np.linspace(0, length, GRID + 1).round().astype(int) for length in (height, width))
    mask = np.zeros((height, width), dtype=bool)
    for row, column in TEST_CELLS:
        mask[row_edges[row] : row_edges[row + 1], column_edges[column] : column_edges[column + 1]] = True
    return mask


def bounding_box(x: float, y: float, side: float) -> Box:
    """Return the square of whole pixels that holds the crop at any angle, and the pixels its resampling reads."""
    radius = side / math.sqrt(2) + 2  # bicubic resampling reads up to two pixels past the crop's own edge
    return math.floor(x - radius), math.floor(y - radius), math.ceil(x + radius), math.ceil(y + radius)


def inside(box: Box, region: NDArray[np.bool_]) -> bool:
    """Say whether every pixel of the box is in the image and in the region."""
    left, top, right, bottom = box
    height, width = region.shape
    return left >= 0 and top >= 0 and right <= width and bottom <= height and bool(region[top:bottom, left:right].all())


def draw_place(rng: np.random.Generator, region: NDArray[np.bool_]) -> tuple[float, float, int]:
    """Draw a crop's centre and side, uniformly among those whose bounding box lies in the region."""
    height, width = region.shape
    side = round(min(height, width) * rng.uniform(*SCALES))
    # The crop's edges fall between pixels: resizing from fractional edges rounds differently in some Pillow versions.
    half = side % 2 / 2
    for _ in range(MOST_TRIES):
        x, y = rng.integers(0, width) + half, rng.integers(0, height) + half
        if inside(bounding_box(x, y, side), region):
            return x, y, side
    raise RuntimeError(f"a crop {side} pixels wide fits nowhere in this region")


def cut(image: Image.Image, place: tuple[float, float, float], angle: float) -> Image.Image:
    """Cut one crop: turn its surroundings about its centre, then shrink the square to SIDE pixels."""
    x, y, side = place
    left, top, right, bottom = bounding_box(x, y, side)
    # Only the bounding box is handed on, so pixels outside it cannot reach the crop whatever the resampling does.
    around = image.crop((left, top, right, bottom))
    centre = (x - left, y - top)
    turned = around.rotate(angle, resample=Image.Resampling.BICUBIC, center=centre)
    square = (centre[0] - side / 2, centre[1] - side / 2, centre[0] + side / 2, centre[1] + side / 2)
    # Pillow's resize widens its filter when it shrinks, so fine texture does not turn into aliasing.
    return turned.resize((SIDE, SIDE), resample=Image.Resampling.BICUBIC, box=square)


def exposed(crop: Image.Image, stops: float) -> Image.Image:
    """Brighten or darken a crop through a table, so that the result is the same on every machine."""
    table = np.clip(np.floor(np.arange(256) * 2.0**stops + 0.5), 0, 255).astype(int).tolist()
    return crop.point(table * 3)


def crops_of(image: Image.Image, region: NDArray[np.bool_], count: int, rng: np.random.Generator) -> Pixels:
    """Return `count` crops of one image from one region, as an array (count, SIDE, SIDE, 3)."""
    crops: list[Pixels] = []
    while len(crops) < count:
        place = draw_place(rng, region)
        crop = exposed(cut(image, place, rng.uniform(0, 360)), rng.uniform(-STOPS, STOPS))
        if np.asarray(crop.convert("L")).std() >= LEAST_CONTRAST:
            crops.append(np.asarray(crop))
    return np.stack(crops)


def build() -> dict[str, Pixels]:
    """Return, for each split, one sheet of COLUMNS crops per row, class after class in the order of SOURCES."""
    blocks: dict[str, list[Pixels]] = {split: [] for split in COUNTS}
    for label, source in enumerate(SOURCES):
        image = open_source(source)
        mask = test_region(image.height, image.width)
        for number, (split, count) in enumerate(COUNTS.items()):
            # One generator per class and split: changing a class leaves the others as they were.
            rng = np.random.Generator(np.random.PCG64([SEED, label, number]))
            crops = crops_of(image, mask if split == "test" else ~mask, count, rng)
            blocks[split].append(
                crops.reshape(-1, COLUMNS, SIDE, SIDE, 3).swapaxes(1, 2).reshape(-1, COLUMNS * SIDE, 3)
            )
    return {split: np.concatenate(parts) for split, parts in blocks.items()}


def description() -> dict[str, Any]:
    """Return what photos10.json says: the class names and how the crops were made."""
    return {
        "classes": [source.name for source in SOURCES],
        "crops_per_class": COUNTS,
        "side": SIDE,
        "layout": f"{COLUMNS} crops per row of a sheet; class after class, each class the same number of rows",
        "grid": [GRID, GRID],
        "test_cells_row_column": [list(cell) for cell in TEST_CELLS],
        "crop_side_as_fraction_of_shorter_side": list(SCALES),
        "exposure_stops": [-STOPS, STOPS],
        "rotation_degrees": [0, 360],
        "least_standard_deviation_of_grey": LEAST_CONTRAST,
        "seed": SEED,
        "sources": {s.name: {"file": s.file, "sha256": s.sha256, "part": s.part} for s in SOURCES},
    }


def write(sheets: dict[str, Pixels], folder: Path) -> None:
    """Write the sheets, lossless, and photos10.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, sheet in sheets.items():
        Image.fromarray(sheet).save(folder / f"{split}.webp", lossless=True, quality=100, method=6, exact=True)
    (folder / "photos10.json").write_text(json.dumps(description(), indent=2) + "\n", encoding="utf-8")


def differences(sheets: dict[str, Pixels], folder: Path) -> list[str]:
    """Name the shipped files whose content is not what this script makes."""
    wrong = [
        f"{split}.webp"
        for split, sheet in sheets.items()
        if not np.array_equal(np.asarray(Image.open(folder / f"{split}.webp").convert("RGB")), sheet)
    ]
    if json.loads((folder / "photos10.json").read_text(encoding="utf-8")) != json.loads(json.dumps(description())):
        wrong.append("photos10.json")
    return wrong


def main() -> int:
    """Build, then write or check."""
    parser = argparse.ArgumentParser(description="Build the photos10 data set from scikit-image's sample images.")
    parser.add_argument("--out", type=Path, default=ASSETS, help="folder to write or to check")
    parser.add_argument("--check", action="store_true", help="compare with the files in the folder and write nothing")
    arguments = parser.parse_args()
    sheets = build()
    if not arguments.check:
        write(sheets, arguments.out)
        return 0
    wrong = differences(sheets, arguments.out)
    print("different: " + ", ".join(wrong) if wrong else "photos10 matches what this script builds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
