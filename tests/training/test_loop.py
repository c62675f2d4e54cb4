"""The training loop against arithmetic that is written out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import tiny_recipe, write_tiny_npz
from torch import nn
from torch.nn import functional

import weatherproof
from benchmarks.training import bare_loop, our_loop
from weatherproof.data import ArrayImages, open_data
from weatherproof.defences import Nominal, Outcome
from weatherproof.errors import InputError
from weatherproof.training import Recipe
from weatherproof.training.recipe import parse_recipe


def recipe(folder: Path, **training: Any) -> Recipe:
    return parse_recipe("tiny", tiny_recipe(write_tiny_npz(folder / "tiny.npz"), **training))


def assert_same_weights(a: nn.Module, b: nn.Module) -> None:
    ours, theirs = a.state_dict(), b.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_the_loop_does_what_a_bare_loop_does_bit_for_bit(tmp_path: Path) -> None:
    plan = recipe(tmp_path, epochs=3, warmup_epochs=1)
    flat = parse_recipe("tiny", plan.mapping(), {"augment.standard": "crop_flip", "classifier": "resnet_small"})
    assert_same_weights(our_loop(flat), bare_loop(flat))


@pytest.mark.parametrize("channels_last", [False, True])
def test_accumulation_adds_up_to_the_whole_batch(tmp_path: Path, channels_last: bool) -> None:
    """Without BatchNorm, three parts of a batch give the gradient of the batch."""
    whole, parts = (
        weatherproof.train(
            parse_recipe("tiny", {**recipe(tmp_path).mapping(), "classifier": "helpers.PlainNet"}, changes),
            tmp_path / name,
            device="cpu",
            quiet=True,
        ).classifier()
        for name, changes in (
            ("whole", {"training.channels_last": channels_last}),
            ("parts", {"training.channels_last": channels_last, "training.accumulate": 3}),
        )
    )
    for a, b in zip(whole.parameters(), parts.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_the_average_of_the_weights_is_the_one_written_out(tmp_path: Path) -> None:
    """After one step from w0 to w1, an average of decay d holds d w0 + (1 - d) w1 ... from the second step on."""
    plan = recipe(tmp_path, epochs=1, batch_size=60, ema=0.9)
    history: list[torch.Tensor] = []

    class Recording(Nominal):
        def __call__(self, model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> Outcome:
            history.append(next(model.parameters()).detach().clone())
            return super().__call__(model, images, labels)

    from weatherproof.training import Loop, Prepared, Run
    from weatherproof.training.watch import Silent

    prepared = Prepared(plan, device="cpu", workers=0)
    loop = Loop(
        prepared.fabric, prepared.module, Recording(), prepared.pipeline, prepared.loader, plan.training, 0,
        Run(tmp_path / "run"), {}, lambda module: {}, lambda module: None, Silent(),
    )  # fmt: skip
    loop.train()
    after_one, after_two = history[1], next(prepared.module.parameters()).detach()
    # torch's AveragedModel starts with a copy of the weights after the first step.
    torch.testing.assert_close(next(loop.module_to_keep.parameters()), 0.9 * after_one + 0.1 * after_two)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_nominal_loss_is_the_formula(smoothing: float) -> None:
    """-sum_k q_k log p_k with q = (1 - s) onehot + s / K."""
    logits, labels = torch.randn(8, 5, dtype=torch.float64), torch.arange(8) % 5
    outcome = Nominal(smoothing)(nn.Identity(), logits, labels)
    target = (1 - smoothing) * functional.one_hot(labels, 5) + smoothing / 5
    expected = -(target * (logits - logits.exp().sum(1, keepdim=True).log())).sum(1).mean()
    torch.testing.assert_close(outcome.loss, expected)
    torch.testing.assert_close(outcome.metrics["accuracy"], (logits.argmax(1) == labels).float().mean())


@pytest.mark.parametrize(("epochs", "warmup", "progress", "expected"), [
    (10, 0, 0.0, 1.0),
    (10, 0, 5.0, 0.5),
    (10, 0, 10.0, 0.0),
    (10, 2, 0.0, 0.0),
    (10, 2, 1.0, 0.5),
    (10, 2, 2.0, 1.0),
    (10, 2, 4.0, (1 + math.cos(math.pi / 4)) / 2),
    (3, 3, 1.5, 0.5),
])  # fmt: skip
def test_learning_rates(epochs: int, warmup: float, progress: float, expected: float) -> None:
    settings = weatherproof.training.TrainingSettings(epochs=epochs, warmup_epochs=warmup, learning_rate=1.0)
    assert settings.learning_rate_at(progress) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("batch", "expected"), [(1024, 0.4), (4096, 1.6), (128, 0.1), (256, 0.1)])
def test_linear_scaling_is_the_papers(batch: int, expected: float) -> None:
    settings = weatherproof.training.TrainingSettings(epochs=1, batch_size=batch, linear_scaling=True)
    assert settings.peak_learning_rate == pytest.approx(expected)


@pytest.mark.parametrize(("key", "value"), [
    ("epochs", 0), ("batch_size", 0), ("learning_rate", 0), ("learning_rate", float("nan")), ("warmup_epochs", 3),
    ("momentum", 1), ("weight_decay", -1), ("accumulate", 0), ("accumulate", 25), ("ema", 1.0), ("ema", 0),
    ("checkpoint_minutes", -1),
])  # fmt: skip
def test_settings_out_of_range_are_refused(tmp_path: Path, key: str, value: float) -> None:
    with pytest.raises(InputError, match=f"training.{key} must be"):
        recipe(tmp_path, **{key: value})


def test_one_channel_goes_end_to_end(tmp_path: Path) -> None:
    npz = write_tiny_npz(tmp_path / "grey.npz", channels=1)
    run = weatherproof.train(parse_recipe("grey", tiny_recipe(npz)), tmp_path / "run", device="cpu", quiet=True)
    test = open_data(str(npz)).test
    assert isinstance(test.images, ArrayImages)
    assert test.images.pixels.shape[1] == 1
    result = weatherproof.evaluate(run.classifier(), test.images.pixels.permute(0, 2, 3, 1).numpy(), test.labels)
    assert result["clean_accuracy"] == run.metrics()[-1]["test_accuracy"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_classifier_learns(tmp_path: Path, precision: str) -> None:
    plan = recipe(tmp_path, epochs=8, precision=precision)
    run = weatherproof.train(plan, tmp_path / "run", device="cpu", quiet=True)
    assert run.finished
    assert run.metrics()[-1]["test_accuracy"] > 90


def test_training_leaves_the_callers_randomness_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    weatherproof.train(recipe(tmp_path, epochs=1), tmp_path / "run", device="cpu", quiet=True)
    assert torch.equal(torch.rand(1), expected)


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path: Path) -> None:
    plan = recipe(tmp_path, epochs=5, learning_rate=1e9)
    with pytest.raises(InputError, match=r"became (nan|inf).* at epoch \d+, step \d+ .*last good state"):
        weatherproof.train(plan, tmp_path / "run", device="cpu", quiet=True)
    from weatherproof.training import Run
    from weatherproof.training.checkpoint import read_note

    assert "recipe" in read_note(Run(tmp_path / "run").last_file)


def test_the_step_that_went_wrong_is_named(tmp_path: Path) -> None:
    plan = parse_recipe(
        "tiny",
        {
            **recipe(tmp_path, epochs=2).mapping(),
            "defence": {"class_path": "helpers.BreaksAt", "init_args": {"step": 8}},
        },
    )
    with pytest.raises(InputError, match="the loss became nan at epoch 2, step 3 "):
        weatherproof.train(plan, tmp_path / "run", device="cpu", quiet=True)
