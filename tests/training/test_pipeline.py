"""The stages that a batch goes through: their order, their draws, and the views that an objective compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import tiny_recipe, write_tiny_npz
from torch import Tensor, nn
from torch.nn import functional

import weatherproof
from weatherproof import InputError
from weatherproof.adversaries import Attack
from weatherproof.data import Batch
from weatherproof.defences import Outcome
from weatherproof.randomness import stream
from weatherproof.training import Prepared
from weatherproof.training.pipeline import Pipeline
from weatherproof.training.recipe import parse_recipe


class Stamp:
    """An augmentation that adds a digit behind those that are there, and notes what it draws."""

    def __init__(self, digit: int = 0) -> None:
        self.digit, self.drawn = digit, list[int]()

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        self.drawn.append(int(torch.randint(2**40, (), generator=generator)))
        return images.float() * 10 + self.digit


class StampingAdversary(Stamp):
    """The same as an adversary, which sees the model."""

    def attack(
        self, classifier: nn.Module, images: Any, labels: Any, generator: torch.Generator | None = None
    ) -> Attack:
        assert generator is not None and isinstance(classifier, nn.Identity)
        return Attack(self(images, generator), {"stamped": torch.ones(len(images))}, {"stamping": 0.25})


class TwoViews:
    """An objective that wants to see an image and one further view of it."""

    views = 2
    seen: list[tuple[int, ...]] = []  # noqa: RUF012

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        self.seen.append(tuple(images.shape))
        return Outcome(functional.cross_entropy(model(images[:, 1]), labels))


def batch() -> Batch:
    return Batch(torch.zeros(2, 3, 4, 4), torch.zeros(2, dtype=torch.int64), torch.arange(2))


def digits(images: Tensor) -> list[int]:
    """What each view of the first image was stamped with."""
    flat = images[:1].flatten(0, 1) if images.ndim == 5 else images[:1]
    assert torch.equal(flat, flat[:, :1, :1, :1].expand_as(flat))
    return [int(value) for value in flat[:, 0, 0, 0]]


def test_stages_come_in_the_papers_order_each_with_its_own_stream() -> None:
    sample, standard, adversary, last = Stamp(1), Stamp(2), StampingAdversary(3), Stamp(4)
    images, metrics = Pipeline(standard, sample, adversary, last)(nn.Identity(), batch(), seed=5, number=7)
    assert digits(images) == [1234]
    assert metrics["attack_stamped"] == 1 and metrics["attack_seconds_stamping"] == 0.25
    for stage, name in ((sample, "sample"), (standard, "augment"), (adversary, "adversary"), (last, "last")):
        assert stage.drawn == [int(torch.randint(2**40, (), generator=stream(5, name, 7)))]


def test_views_share_an_attack_and_differ_in_what_comes_last() -> None:
    adversary, last = StampingAdversary(3), Stamp(4)
    images, _ = Pipeline(Stamp(2), None, adversary, last, views=3)(nn.Identity(), batch(), seed=0, number=0)
    assert images.shape == (2, 3, 3, 4, 4) and digits(images) == [2, 234, 234]
    assert len(adversary.drawn) == 1 and len(set(last.drawn)) == 2


def test_without_a_last_stage_every_view_has_an_attack_of_its_own() -> None:
    adversary = StampingAdversary(3)
    images, _ = Pipeline(Stamp(2), None, adversary, views=3)(nn.Identity(), batch(), seed=0, number=0)
    assert digits(images) == [2, 23, 23] and len(set(adversary.drawn)) == 2


def test_recipes_name_all_stages(tmp_path: Path) -> None:
    content = tiny_recipe(write_tiny_npz(tmp_path / "tiny.npz"), epochs=1, accumulate=2)
    content["augment"] |= {"sample": "flip", "last": "flip"}
    content["defence"] = f"{__name__}.TwoViews"
    recipe = parse_recipe("tiny", content)
    assert parse_recipe("again", recipe.mapping()).mapping() == {**recipe.mapping(), "name": "tiny"}
    TwoViews.seen.clear()
    weatherproof.train(recipe, tmp_path / "run", device="cpu", quiet=True)
    assert set(TwoViews.seen) == {(12, 2, 3, 16, 16)}
    content["augment"] = {"standard": "crop_flip"}
    with pytest.raises(InputError, match=r"compares an image with what augment\.adversary or augment\.last makes"):
        Prepared(parse_recipe("tiny", content), device="cpu", workers=0)
    with pytest.raises(InputError, match="augment: unknown key 'lasts'; did you mean 'last'"):
        parse_recipe("tiny", {**content, "augment": {"lasts": "flip"}})
    with pytest.raises(InputError, match=r"augment\.sample: there is no 'flap'; did you mean 'flip'"):
        parse_recipe("tiny", {**content, "augment": {"sample": "flap"}})
