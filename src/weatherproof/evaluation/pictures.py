"""Pictures for a report: one image under every condition, and the surest mistakes."""

from __future__ import annotations

import base64
import heapq
import io
from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from ..data import ImageSet

Condition = tuple[str, int]

LARGEST = 96  # pixels a side; larger images are shown smaller
FAILURES = 24


class Album:
    """Collects while images pass by: the first image under each condition, and the mistakes made with most confidence,
    no image twice."""

    def __init__(self, images: ImageSet, conditions: Sequence[Condition]) -> None:
        self.images = images
        self.samples: dict[Condition | None, str] = {}
        self._failures: dict[int, tuple[float, dict[str, Any]]] = {}  # by image: its surest mistake

    def offer(
        self,
        condition: Condition | None,
        images: Tensor,
        places: Tensor,
        labels: Tensor,
        predicted: Tensor,
        confidences: Tensor,
    ) -> None:
        """A batch, as the classifier saw it."""
        first = (places == 0).nonzero()
        if len(first) and condition not in self.samples:
            self.samples[condition] = data_uri(images[int(first[0])])
        if condition is not None:
            self._keep_failures(condition, images, places, labels, predicted, confidences)

    def _keep_failures(
        self,
        condition: Condition,
        images: Tensor,
        places: Tensor,
        labels: Tensor,
        predicted: Tensor,
        confidences: Tensor,
    ) -> None:
        wrong = torch.where(predicted == labels, -1.0, confidences.float())
        surest = wrong.topk(min(FAILURES, len(wrong)))
        for confidence, row in zip(surest.values.tolist(), surest.indices.tolist(), strict=True):
            place = int(places[row])
            known = self._failures.get(place)
            if confidence <= self._threshold():
                break  # the surest come first
            if known and confidence <= known[0]:
                continue
            self._failures[place] = (
                confidence,
                {
                    "image": data_uri(images[row]),
                    "corruption": condition[0],
                    "severity": condition[1],
                    "true": self._class(int(labels[row])),
                    "predicted": self._class(int(predicted[row])),
                    "confidence": round(100 * confidence, 1),
                },
            )
            if len(self._failures) > FAILURES:
                del self._failures[min(self._failures, key=lambda key: self._failures[key][0])]

    def _threshold(self) -> float:
        full = len(self._failures) >= FAILURES
        return min(confidence for confidence, _ in self._failures.values()) if full else 0.0

    def _class(self, label: int) -> str:
        return self.images.classes[label] if label < len(self.images.classes) else str(label)

    def content(self) -> dict[str, Any]:
        """What a result keeps."""
        samples: dict[str, dict[str, str]] = {}
        for condition, uri in self.samples.items():
            if condition is not None:
                samples.setdefault(condition[0], {})[str(condition[1])] = uri
        failures = heapq.nlargest(FAILURES, self._failures.values(), key=lambda entry: entry[0])
        clean = [self.samples[None]] if None in self.samples else []
        return {"clean": clean, "samples": samples, "failures": [failure for _, failure in failures]}


def data_uri(image: Tensor, largest: int = LARGEST) -> str:
    """A PNG of one image (C, H, W), uint8 or float in [0, 1], that stands for itself in a page; at most `largest`
    pixels a side."""
    pixels = image.cpu() if image.dtype == torch.uint8 else (image.float().cpu() * 255).round().to(torch.uint8)
    array = pixels.permute(1, 2, 0).numpy()
    picture = Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)
    picture.thumbnail((largest, largest), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
