"""Measure the classic photographs of frost: where the numbers in `corruptions/ice.py` come from, and whether they do.

For each photograph: its mean colour, the two main directions in which its colours vary, and how much they vary along
them in each octave of spatial frequency. For a trained classifier: its error at each severity through the photographs
and through our own ice, which no classifier took part in drawing. Needs imagecorruptions-imaug.

    python scripts/measure_frost.py
    python scripts/measure_frost.py runs/cifar10-desk-nominal --scale cifar
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from weatherproof.api import evaluate_on
from weatherproof.corruptions import SEVERITIES
from weatherproof.corruptions.frost import PHOTOGRAPHS, PROCEDURAL, _pictures
from weatherproof.corruptions.ice import octaves


def measure(picture: np.ndarray) -> None:
    """Print the row of one photograph, uint8 (H, W, 3)."""
    values = picture.astype(np.float64)
    mean = values.mean(axis=(0, 1))
    _, directions = np.linalg.eigh(np.cov((values - mean).reshape(-1, 3).T))
    print("mean", mean.round().astype(int).tolist())
    for direction in directions[:, :0:-1].T:
        direction = direction * np.sign(direction[np.abs(direction).argmax()])
        field = (values - mean) @ direction
        skew = (field**3).mean() / field.std() ** 3
        print(
            "  direction", direction.round(2).tolist(), "octaves", octaves(torch.from_numpy(field)), f"skew {skew:.2f}"
        )


def compare(run: str, scale: str) -> None:
    """Print the error of a run under either frost."""
    results = [
        evaluate_on(run, suite="corruptions", corruptions=["frost"], scale=scale, frost=frost)
        for frost in (PHOTOGRAPHS, PROCEDURAL)
    ]
    print(f"severity  {PHOTOGRAPHS}  {PROCEDURAL}  difference   (error in %, {results[0].protocol})")
    for severity in SEVERITIES:
        theirs, ours = (result[f"error/frost/{severity}"] for result in results)
        print(f"{severity:8}  {theirs:11.2f}  {ours:10.2f}  {ours - theirs:+10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", help="of a classifier, to compare its errors")
    parser.add_argument("--scale", default="auto")
    known = parser.parse_args()
    if known.run:
        compare(known.run, known.scale)
        return
    for picture in _pictures(PHOTOGRAPHS):
        measure(picture.numpy())


if __name__ == "__main__":
    main()
