"""Numbers about errors under corruption, as the field defines them. Errors are shares in [0, 1] here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor

# AlexNet's mean errors over five severities of ImageNet-C, by which mCE is normalised (Hendrycks and Dietterich 2019).
ALEXNET = {
    "gaussian_noise": 0.886428, "shot_noise": 0.894468, "impulse_noise": 0.922640, "defocus_blur": 0.819880,
    "glass_blur": 0.826268, "motion_blur": 0.785948, "zoom_blur": 0.798360, "snow": 0.866816, "frost": 0.826572,
    "fog": 0.819324, "brightness": 0.564592, "contrast": 0.853204, "elastic_transform": 0.646056,
    "pixelate": 0.717840, "jpeg_compression": 0.606500,
}  # fmt: skip
ALEXNET_CLEAN = 0.4348  # torchvision's AlexNet, 56.52% top-1

CALIBRATION_BINS = 15

Number = TypeVar("Number", float, Tensor)


def mean_corruption_error(errors: Mapping[str, Number]) -> Number:
    """mCE: the mean over the 15 corruptions of error / AlexNet's error, each a mean over five severities.

    `errors` are numbers, or tensors (N,) with an entry for each image, and so is what comes back.
    """
    total: Any = sum(errors[name] / ALEXNET[name] for name in ALEXNET)
    return total / len(ALEXNET)  # type: ignore[no-any-return]


def relative_mean_corruption_error(errors: Mapping[str, Number], clean: Number) -> Number:
    """The mean over the 15 corruptions of (error - clean error) / (AlexNet's error - AlexNet's clean error)."""
    total: Any = sum((errors[name] - clean) / (ALEXNET[name] - ALEXNET_CLEAN) for name in ALEXNET)
    return total / len(ALEXNET)  # type: ignore[no-any-return]


def expected_calibration_error(confidences: Tensor, hits: Tensor, bins: int = CALIBRATION_BINS) -> float:
    """How far confidence is from accuracy: sum_b n_b/N |accuracy_b - confidence_b| over bins of equal width in (0, 1].

    `confidences` float (N,) in [0, 1], `hits` bool (N,). (Guo et al. 2017)
    """
    chosen = (confidences.double() * bins).ceil().long().clamp(1, bins) - 1
    gaps = torch.zeros(bins, dtype=torch.float64).index_add_(0, chosen, hits.double() - confidences.double())
    return float(gaps.abs().sum() / len(hits))
