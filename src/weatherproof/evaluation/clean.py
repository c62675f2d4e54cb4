"""How often a classifier is right on the images as they are."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from ..data import Loader
from ..measures import wilson
from .accuracy import hits
from .result import Metric


class Clean:
    """Accuracy and error on unchanged images, with Wilson intervals."""

    def __call__(self, classifier: nn.Module, loader: Loader) -> Iterator[Metric]:
        correct = hits(classifier, loader)
        right = wilson(int(correct.sum()), len(correct))
        yield Metric("clean_accuracy", 100 * right.value, 100 * right.low, 100 * right.high, len(correct))
        yield Metric(
            "clean_error", 100 * (1 - right.value), 100 * (1 - right.high), 100 * (1 - right.low), len(correct)
        )
