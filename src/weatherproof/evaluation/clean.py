"""How often a classifier is right on the images as they are."""

from __future__ import annotations

from torch import Tensor, nn

from ..data import Loader
from ..measures import wilson
from .accuracy import hits
from .findings import Findings
from .result import Metric


class Clean:
    """Accuracy and error on unchanged images, with Wilson intervals."""

    def __call__(self, classifier: nn.Module, loader: Loader) -> Findings:
        correct = hits(classifier, loader)
        return Findings(accuracy_and_error(correct), hits={"clean": correct})


def accuracy_and_error(correct: Tensor) -> list[Metric]:
    """Both sides of one count: `correct` is bool (N,)."""
    right = wilson(int(correct.sum()), len(correct))
    low, value, high = (100 * share for share in (right.low, right.value, right.high))
    return [
        Metric("clean_accuracy", value, low, high, len(correct)),
        Metric("clean_error", 100 - value, 100 - high, 100 - low, len(correct)),
    ]
