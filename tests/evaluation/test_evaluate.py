"""Measuring a classifier: what is counted, what is refused, and that nothing is left changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import weatherproof
from weatherproof.evaluation import SUITES, Result


class Brightest(nn.Module):
    """Tells which third of the image is brightest: a classifier that can be checked by hand."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack([part.mean(dim=(1, 2, 3)) for part in images.chunk(3, dim=2)], dim=1)


def bars(labels: Any, side: int = 9) -> np.ndarray:
    """uint8 NHWC images whose brightest third is the label's."""
    images = np.full((len(labels), side, side, 3), 50, dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[3 * label : 3 * label + 3] = 200
    return images


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40), st.integers(1, 50))
def test_accuracy_is_the_share_of_correct_ones_whatever_the_batch(pairs: list[tuple[int, int]], batch: int) -> None:
    shown, labels = [a for a, _ in pairs], [b for _, b in pairs]
    result = weatherproof.evaluate(Brightest(), bars(shown), labels, batch_size=batch)
    expected = 100 * np.mean(np.equal(shown, labels))
    assert result["clean_accuracy"] == pytest.approx(expected)
    assert result["clean_error"] == pytest.approx(100 - expected)


def test_bytes_and_floats_arrays_and_tensors_are_the_same() -> None:
    images, labels = bars([0, 1, 2, 0]), [0, 1, 2, 2]
    floats = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).astype(np.float32) / 255
    forms = [images, torch.from_numpy(images), floats, torch.from_numpy(floats), torch.from_numpy(floats).double()]
    values = {weatherproof.evaluate(Brightest(), form, labels)["clean_accuracy"] for form in forms}
    assert values == {75.0}


class Touchy(nn.Module):
    """Has everything that an evaluation could disturb."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.frozen = nn.BatchNorm2d(3).eval()
        self.head = nn.Linear(3, 3)
        self.dropout = nn.Dropout(0.5)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.dropout(self.frozen(self.norm(images)).mean(dim=(2, 3))))
        return logits


@pytest.mark.parametrize("images", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("weights", [torch.float32, torch.float64])
def test_floats_of_any_precision_meet_classifiers_of_any_precision(images: Any, weights: torch.dtype) -> None:
    classifier = weatherproof.classifier("resnet_small", classes=3, width=4).to(weights)
    pixels = bars([0, 1, 2]).transpose(0, 3, 1, 2).astype(images) / 255
    assert weatherproof.evaluate(classifier, pixels.astype(images), [0, 1, 2]).metrics["clean_accuracy"].images == 3


def test_no_trace_is_left_in_the_classifier_or_the_generators() -> None:
    classifier = Touchy().train()
    classifier.frozen.eval()
    before = {key: value.clone() for key, value in classifier.state_dict().items()}
    modes = [module.training for module in classifier.modules()]
    state = torch.get_rng_state()
    results = [weatherproof.evaluate(classifier, bars([0, 1, 2]), [0, 1, 2]) for _ in range(2)]
    assert results[0] == results[1]
    assert [module.training for module in classifier.modules()] == modes
    assert all(torch.equal(before[key], value) for key, value in classifier.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in classifier.parameters())


def test_modes_are_restored_when_an_exception_flies() -> None:
    classifier = Touchy().train()
    with pytest.raises(weatherproof.InputError, match="cannot take images of shape"):
        weatherproof.evaluate(classifier, np.zeros((2, 8, 8, 1), dtype=np.uint8), [0, 1])
    assert classifier.training


class Gives(nn.Module):
    """A classifier with a fault."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output

    def forward(self, images: Tensor) -> Any:
        return self.output(images) if callable(self.output) else self.output


IMAGES, LABELS = bars([0, 1, 2]), [0, 1, 2]
REFUSED = {
    "float range": (lambda: (Brightest(), np.full((1, 3, 9, 9), 1.5), [0]), "values from 1.5 to 1.5"),
    "NaN": (lambda: (Brightest(), np.full((1, 3, 9, 9), np.nan), [0]), "NaN"),
    "NCHW bytes": (lambda: (Brightest(), IMAGES.transpose(0, 3, 1, 2), LABELS), "uint8 of shape"),
    "int64 images": (lambda: (Brightest(), IMAGES.astype(np.int64), LABELS), "got int64"),
    "one image": (lambda: (Brightest(), IMAGES[0], [0]), "3 dimensions"),
    "no images": (lambda: (Brightest(), IMAGES[:0], []), "no images"),
    "counts": (lambda: (Brightest(), IMAGES, [0, 1]), "2 labels for 3 images"),
    "negative label": (lambda: (Brightest(), IMAGES, [0, 1, -1]), "label -1 is out of range"),
    "label too large": (lambda: (Brightest(), IMAGES, [0, 1, 3]), "label 3 is out of range"),
    "float labels": (lambda: (Brightest(), IMAGES, [0.0, 1.0, 2.0]), "a vector of integers"),
    "one-hot labels": (lambda: (Brightest(), IMAGES, np.eye(3, dtype=int)), "a vector of integers"),
    "tuple": (lambda: (Gives((1, 2)), IMAGES, LABELS), "gave tuple"),
    "feature map": (lambda: (Gives(lambda x: x), IMAGES, LABELS), r"gave \(3, 3, 9, 9\)"),
    "no module": (lambda: (lambda images: images, IMAGES, LABELS), "a classifier is an nn.Module; got function"),
    "other channels": (
        lambda: (weatherproof.classifier("resnet_small", channels=1), IMAGES, LABELS),
        r"takes images with 1 channel\(s\); got 3",
    ),
    "grey for colour": (
        lambda: (weatherproof.classifier("resnet_small"), IMAGES[..., :1], LABELS),
        r"takes images with 3 channel\(s\); got 1",
    ),
    "other sizes": (
        lambda: (nn.Sequential(nn.Flatten(), nn.Linear(7, 3)), IMAGES, LABELS),
        r"the classifier cannot take images of shape \(3, 3, 9, 9\)",
    ),
    "NaN logits": (lambda: (Gives(torch.full((3, 3), float("nan"))), IMAGES, LABELS), "not finite"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_measured_is_refused_with_a_sentence(case: str) -> None:
    arguments, sentence = REFUSED[case]
    with pytest.raises(weatherproof.InputError, match=sentence):
        weatherproof.evaluate(*arguments())


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(weatherproof.InputError, match="did you mean 'clean'"):
        weatherproof.evaluate(Brightest(), IMAGES, LABELS, suite="claen")


@pytest.mark.parametrize("suite", SUITES)
def test_results_survive_a_round_trip(tmp_path: Path, suite: str) -> None:
    result = weatherproof.evaluate(Brightest(), IMAGES, LABELS, suite=suite)
    result.save(tmp_path / "result.json")
    assert Result.load(tmp_path / "result.json") == result
    assert json.loads((tmp_path / "result.json").read_text())["protocol"]["weatherproof"] == weatherproof.__version__
