"""Measure the classic photographs of frost: where the numbers in `corruptions/ice.py` come from.

For each photograph: its mean colour, the two main directions in which its colours vary, and how much they vary along
them in each octave of spatial frequency. Needs imagecorruptions-imaug.

    python scripts/measure_frost.py
"""

from __future__ import annotations

import numpy as np
import torch

from weatherproof.corruptions.frost import PHOTOGRAPHS, _pictures
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


def main() -> None:
    for picture in _pictures(PHOTOGRAPHS):
        measure(picture.numpy())


if __name__ == "__main__":
    main()
