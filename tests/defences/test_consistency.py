"""The Jensen-Shannon consistency, against the formula written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers import PlainNet
from scipy.special import log_softmax, rel_entr, softmax
from torch import Tensor, nn
from torch.nn import functional

from weatherproof import InputError, classifier
from weatherproof.defences import DEFENCES, Consistency


class Table(nn.Module):
    """Gives the images' own values as logits, and remembers what it was called with."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, images: Tensor) -> Tensor:
        self.shapes.append(tuple(images.shape))
        return images.flatten(1)


def logits_of(batch: int, views: int, classes: int, scale: float = 3.0) -> Tensor:
    return scale * torch.randn(batch, views, classes, 1, 1, generator=torch.Generator().manual_seed(0))


def labels_of(batch: int, classes: int) -> Tensor:
    return torch.arange(batch) % classes


def written_out(logits: np.ndarray, labels: np.ndarray, weight: float, smoothing: float) -> tuple[float, float]:
    """The loss and its second term, image by image and view by view, in float64: (B, V, classes)."""
    entropies, divergences = [], []
    for views, label in zip(logits.astype(np.float64), labels, strict=True):
        target = np.full(len(views[0]), smoothing / len(views[0]))
        target[label] += 1 - smoothing
        entropies.append(-(target * log_softmax(views[0])).sum())
        p = [softmax(view) for view in views]
        mixture = np.clip(sum(p) / len(p), 1e-7, 1)
        divergences.append(np.mean([rel_entr(one, mixture).sum() for one in p]))
    return float(np.mean(entropies) + weight * np.mean(divergences)), float(np.mean(divergences))


def the_references(logits: Tensor, labels: Tensor, weight: float) -> Tensor:
    """The reference's training loop, for three views: lists of logits, one for each view."""
    clean, one, two = logits.unbind(1)
    loss = functional.cross_entropy(clean, labels)
    p_clean, p_one, p_two = (functional.softmax(view, dim=1) for view in (clean, one, two))
    mixture = torch.clamp((p_clean + p_one + p_two) / 3.0, 1e-7, 1).log()
    parts = [functional.kl_div(mixture, p, reduction="batchmean") for p in (p_clean, p_one, p_two)]
    return loss + weight * (parts[0] + parts[1] + parts[2]) / 3.0


@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])  # at 30 the mixture's smallest entries are clamped
@pytest.mark.parametrize(("weight", "smoothing"), [(12.0, 0.0), (0.0, 0.0), (3.0, 0.1)])
@pytest.mark.parametrize("views", [2, 3, 5])
def test_loss_is_the_formula(views: int, weight: float, smoothing: float, scale: float) -> None:
    images, labels = logits_of(7, views, 10, scale), labels_of(7, 10)
    outcome = Consistency(weight, smoothing)(Table(), images, labels)
    loss, divergence = written_out(images.flatten(2).numpy(), labels.numpy(), weight, smoothing)
    assert outcome.loss.item() == pytest.approx(loss, rel=1e-5)
    assert outcome.metrics["consistency"].item() == pytest.approx(divergence, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_gradient_is_the_references(scale: float) -> None:
    images, labels = logits_of(7, 3, 10, scale), labels_of(7, 10)
    leaf = images.clone().requires_grad_()
    Consistency()(Table(), leaf, labels).loss.backward()
    exact = images.flatten(2).double().requires_grad_()
    the_references(exact, labels, 12.0).backward()
    assert leaf.grad is not None and exact.grad is not None
    torch.testing.assert_close(leaf.grad.flatten(2).double(), exact.grad, rtol=1e-4, atol=1e-6)


def test_all_views_go_through_the_model_at_once() -> None:
    model = Table()
    Consistency()(model, logits_of(4, 3, 10), labels_of(4, 10))
    assert model.shapes == [(12, 10, 1, 1)]


def test_views_that_agree_cost_nothing_and_opposites_most() -> None:
    same = logits_of(4, 1, 10).expand(-1, 3, -1, -1, -1)
    assert Consistency()(Table(), same, labels_of(4, 10)).metrics["consistency"].item() == pytest.approx(0, abs=1e-6)
    apart = (1000 * torch.eye(3)).expand(4, 3, 3)[..., None, None].clone().requires_grad_()
    outcome = Consistency()(Table(), apart, labels_of(4, 3))
    assert outcome.metrics["consistency"].item() == pytest.approx(np.log(3), rel=1e-6)
    outcome.loss.backward()
    assert apart.grad is not None and apart.grad.isfinite().all()


def test_accuracy_is_that_of_the_clean_view() -> None:
    labels = labels_of(6, 3)
    right, wrong = functional.one_hot(labels, 3).float(), functional.one_hot((labels + 1) % 3, 3).float()
    right[:2] = wrong[:2]
    images = torch.stack([right, wrong, wrong], dim=1)[..., None, None].requires_grad_()
    outcome = Consistency()(Table(), images, labels)
    assert outcome.metrics["accuracy"].item() == pytest.approx(4 / 6)
    assert not any(value.requires_grad for value in outcome.metrics.values())


def test_losses_are_in_float32_in_low_precision() -> None:
    images, labels = torch.rand(4, 3, 3, 16, 16), labels_of(4, 3)
    model = PlainNet()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = Consistency()(model, images, labels)
    assert low.loss.dtype == torch.float32
    rounded = Consistency()(Table(), logits_of(4, 3, 10).bfloat16(), labels_of(4, 10))
    exact, _ = written_out(logits_of(4, 3, 10).bfloat16().float().flatten(2).numpy(), labels_of(4, 10).numpy(), 12, 0)
    assert rounded.loss.dtype == torch.float32
    assert rounded.loss.item() == pytest.approx(exact, rel=1e-5)


def test_a_classifier_learns_from_it() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = classifier("resnet_small", classes=3, width=4)
    images, labels = torch.rand(12, 3, 3, 16, 16, generator=torch.Generator().manual_seed(1)), labels_of(12, 3)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), []
    for _ in range(12):
        outcome = Consistency()(model, images, labels)
        outcome.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(outcome.loss.item())
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("shape", [(4, 3, 8, 8), (4, 1, 3, 8, 8), (4, 3, 8)])
def test_images_without_views_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"wants 2 views or more of every image, \(B, V, C, H, W\); got shape"):
        Consistency()(Table(), torch.rand(shape), labels_of(4, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": -1.0}, "got -1.0"),
        ({"weight": float("inf")}, "got inf"),
        ({"weight": float("nan")}, "got nan"),
        ({"label_smoothing": 1.0}, "label smoothing lies in"),
        ({"label_smoothing": -0.1}, "label smoothing lies in"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Consistency(**options)


def test_its_name_and_how_many_views_it_wants() -> None:
    assert DEFENCES["consistency"] is Consistency
    assert Consistency.views == 3
