"""An adversary in a recipe and in the training step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import tiny_recipe, write_tiny_npz
from torch import Tensor, nn

import weatherproof
from weatherproof import InputError
from weatherproof.adversaries import AdversarialAugment, Attack
from weatherproof.files import load_tensors
from weatherproof.randomness import stream
from weatherproof.training import Run
from weatherproof.training.recipe import parse_recipe

ADA = {"class_path": "ada", "init_args": {"networks": "edsr_desk", "radius": 0.02, "steps": 1, "rule": "normalized"}}


def recipe_with(folder: Path, adversary: Any, **training: Any) -> dict[str, Any]:
    content = tiny_recipe(write_tiny_npz(folder / "tiny.npz"), **training)
    content["augment"]["adversary"] = adversary
    return content


def train(folder: Path, content: dict[str, Any]) -> Run:
    return weatherproof.train(parse_recipe("tiny", content), folder, device="cpu", quiet=True)


class Notes:
    """An adversary that turns images upside down, and remembers what it was called with."""

    calls: list[dict[str, Any]] = []  # noqa: RUF012

    def attack(
        self, classifier: nn.Module, images: Any, labels: Any, generator: torch.Generator | None = None
    ) -> Attack:
        assert generator is not None
        self.calls.append(
            {
                "seed": generator.initial_seed(),
                "autocast": torch.is_autocast_enabled("cpu"),
                "training": classifier.training,
                "range": (float(images.min()), float(images.max())),
                "dtype": images.dtype,
            }
        )
        return Attack(1 - images, {"inverted": torch.ones(len(images))}, {"turning": 0.5})


class Remembers(nn.Module):
    """A classifier that keeps the mean of what it was trained on."""

    seen: list[float] = []  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 3)

    def forward(self, images: Tensor) -> Tensor:
        if self.training:
            self.seen.append(float(images.mean()))
        logits: Tensor = self.head(images.mean(dim=(2, 3)))
        return logits


def test_the_step_trains_on_what_the_adversary_made(tmp_path: Path) -> None:
    Notes.calls.clear(), Remembers.seen.clear()
    content = recipe_with(tmp_path, f"{__name__}.Notes", precision="bf16", epochs=1)
    content["classifier"] = f"{__name__}.Remembers"
    run = train(tmp_path / "run", content)
    assert [call["seed"] for call in Notes.calls] == [stream(0, "adversary", n).initial_seed() for n in range(5)]
    assert all(call["autocast"] and call["dtype"] == torch.float32 for call in Notes.calls)
    assert all(0 <= call["range"][0] < call["range"][1] <= 1 for call in Notes.calls)
    inverted = Remembers.seen[1:]  # the first is the try before the training
    Remembers.seen.clear()
    del content["augment"]["adversary"]
    train(tmp_path / "plain", content)
    assert len(inverted) == 5
    assert inverted == pytest.approx([1 - mean for mean in Remembers.seen[1:]], abs=4e-3)  # bf16
    (entry,) = run.metrics()
    assert entry["train_attack_inverted"] == 1 and entry["train_attack_seconds_turning"] == 0.5
    assert entry["train_seconds_step"] > 0


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_with_ada_repeats_and_reports(tmp_path: Path, precision: str) -> None:
    runs = [train(tmp_path / name, recipe_with(tmp_path, ADA, precision=precision)) for name in ("once", "again")]
    weights = [load_tensors(run.folder / "model.safetensors")[0] for run in runs]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())
    for entry in runs[0].metrics():
        assert entry["train_attack_loss_after"] > entry["train_attack_loss_before"]
        assert 0 < entry["train_attack_ssim_distance"] < entry["train_attack_ssim_distance_p95"] <= 0.301
        assert 0 <= entry["train_attack_guarded"] <= 1 and 0 < entry["train_attack_fooled"] <= 1
        parts = [entry[f"train_attack_seconds_{part}"] for part in ("ascent", "guard", "judge")]
        assert min(parts) > 0 and sum(parts) < entry["train_seconds_step"]


def test_the_resolved_recipe_keeps_the_adversary(tmp_path: Path) -> None:
    recipe = parse_recipe("tiny", recipe_with(tmp_path, ADA), {"augment.adversary.init_args.guard": 0.7})
    again = parse_recipe("tiny", recipe.mapping())
    assert again == recipe
    ada = again.build_adversary()
    assert isinstance(ada, AdversarialAugment)
    assert ada.guard == weatherproof.SSIMGuard(0.7) and ada.rule == "normalized" and ada.radii == [0.02]
    assert parse_recipe("tiny", tiny_recipe(tmp_path / "tiny.npz")).build_adversary() is None


def test_what_a_recipe_can_say_of_an_adversary(tmp_path: Path) -> None:
    arguments = {
        "networks": ["edsr_desk", "unet_desk"],
        "radius": [0.01, 0.02],
        "guard": {"class_path": "weatherproof.SSIMGuard", "init_args": {"threshold": 0.5, "mode": "paper"}},
        "chunk": 4,
    }
    ada = parse_recipe("tiny", recipe_with(tmp_path, {"class_path": "ada", "init_args": arguments})).build_adversary()
    assert isinstance(ada, AdversarialAugment)
    assert ada.guard == weatherproof.SSIMGuard(0.5, "paper") and ada.radii == [0.01, 0.02] and ada.chunk == 4
    assert [type(network).__name__ for network in ada.networks] == ["EDSR", "UNet"]


@pytest.mark.parametrize(
    ("adversary", "sentence"),
    [
        ("adda", "augment.adversary: there is no 'adda'; did you mean 'ada'"),
        ({"class_path": "ada", "init_args": {"radus": 1}}, "unknown key 'radus'; did you mean 'radius'"),
        (3, "augment.adversary: wanted a name"),
    ],
)
def test_recipes_that_are_refused_when_they_are_read(tmp_path: Path, adversary: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_recipe("tiny", recipe_with(tmp_path, adversary))


@pytest.mark.parametrize(
    ("adversary", "sentence"),
    [
        ({"class_path": "ada", "init_args": {"networks": "esdr"}}, "did you mean 'edsr'"),
        ({"class_path": "ada", "init_args": {"steps": "many"}}, "augment.adversary.steps"),
        ({"class_path": "ada", "init_args": {"radius": [0.1, 0.1]}}, "got 2 radii for 1 networks"),
        ("torch.nn.Identity", "gave a Identity, which has no attack"),
    ],
)
def test_adversaries_that_cannot_be_built(tmp_path: Path, adversary: Any, sentence: str) -> None:
    recipe = parse_recipe("tiny", recipe_with(tmp_path, adversary))
    with pytest.raises(InputError, match=sentence):
        recipe.build_adversary()


def test_networks_have_no_adversary(tmp_path: Path) -> None:
    content = recipe_with(tmp_path, ADA)
    del content["classifier"]
    content |= {"network": "edsr_desk", "task": "reconstruction"}
    with pytest.raises(InputError, match=r"augment\.adversary attacks a classifier; this recipe trains a network"):
        parse_recipe("tiny", content)
