"""The objectives of corruption networks, held against their formulas, and pre-training from the command line."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny import tiny_recipe, write_tiny_npz
from torch import Tensor, nn

import weatherproof
from weatherproof.api import resume_pretraining
from weatherproof.cli.main import main
from weatherproof.data.splits import holdout_count
from weatherproof.defences import Outcome
from weatherproof.errors import InputError
from weatherproof.files import load_tensors, save_tensors
from weatherproof.networks.corruption import CAE, EDSR, VQVAE
from weatherproof.training import Interrupted, Loop, Prepared, Run, load_recipe, recipe_names
from weatherproof.training.recipe import parse_recipe
from weatherproof.training.tasks import TASKS, Inpainting, Reconstruction, SuperResolution, VectorQuantisation
from weatherproof.training.watch import Silent

LABELS = torch.zeros(6, dtype=torch.int64)


def images(seed: int = 0) -> Tensor:
    return torch.rand(6, 3, 16, 16, generator=torch.Generator().manual_seed(seed))


def test_super_resolution_is_l1_to_the_image_before_averaging() -> None:
    network, x = EDSR(features=8, blocks=1), images()
    small = x.unfold(2, 2, 2).unfold(3, 2, 2).mean(dim=(-1, -2))
    by_hand = (network.upscale(small) - x).abs().mean()
    assert torch.allclose(SuperResolution()(network, x, LABELS).loss, by_hand)


def test_reconstruction_is_mean_squared_through_drawn_bits() -> None:
    network, x = CAE(width=8, bits=8, stem=8, fine=8, last=8).train(), images()
    torch.manual_seed(1)
    loss = Reconstruction()(network, x, LABELS).loss
    torch.manual_seed(1)
    restored = network.decode(network.binarise(network.encode(x)))
    assert torch.allclose(loss, ((restored - x) ** 2).mean())


def test_vector_quantisation_is_error_over_variance_and_commitment() -> None:
    network, x = VQVAE(width=8, narrow=4, size=4, codes=6).eval(), images()
    loss = VectorQuantisation(commitment=0.25, variance=0.05)(network, x, LABELS).loss
    code = network.encode(x)
    quantised, _ = network.codebook(code)
    by_hand = ((network.decode(quantised) - x) ** 2).mean() / 0.05 + 0.25 * ((code - quantised) ** 2).mean()
    assert torch.allclose(loss, by_hand)


class Remembers(nn.Module):
    """An inpainting network that keeps what it was shown."""

    def unbounded(self, shown: Tensor) -> Tensor:
        self.shown = shown
        return shown


def test_inpainting_zeroes_whole_pixels_and_adds_both_errors() -> None:
    network, x = Remembers(), torch.rand(400, 3, 16, 16) * 0.9 + 0.1
    torch.manual_seed(0)
    outcome = Inpainting(0.02, 0.35)(network, x, torch.zeros(400))
    gone = (network.shown == 0).all(dim=1)
    assert torch.equal(network.shown, x * ~gone[:, None])  # all channels of a pixel, or none
    share = gone.float().mean(dim=(1, 2))
    assert share.min() >= 0.0 and share.max() < 0.35 + 0.12  # 256 pixels: a standard error of .03
    assert share.mean() == pytest.approx((0.02 + 0.35) / 2, abs=0.02)
    difference = network.shown - x
    by_hand = difference.abs().mean() + 0.05 * difference.square().mean()
    assert torch.allclose(outcome.loss, by_hand)


GREY = torch.rand(6, 1, 13, 15, generator=torch.Generator().manual_seed(8))
PADDED = torch.cat([GREY, GREY[..., -1:]], dim=-1)  # to 16 columns
PADDED = torch.cat([PADDED, *[PADDED[..., -1:, :]] * 3], dim=-2).expand(-1, 3, -1, -1)  # to 16 rows, and colours


def cut(restored: Tensor) -> Tensor:
    return restored[..., :13, :15].mean(dim=1, keepdim=True)


def test_grey_images_of_odd_sizes_are_padded_and_cut_back_in_training() -> None:
    """Each task on 13 x 15 grey pixels, against its formula with the padding written out; nothing is clamped."""
    torch.manual_seed(0)
    edsr = EDSR(features=8, blocks=1)
    small = PADDED[..., :14, :].unfold(2, 2, 2).unfold(3, 2, 2).mean(dim=(-1, -2))
    by_hand = (cut(edsr.upscale(small)) - GREY).abs().mean()
    assert torch.allclose(SuperResolution()(edsr, GREY, LABELS).loss, by_hand)

    cae = CAE(width=8, bits=8, stem=8, fine=8, last=8).eval()
    by_hand = (cut(cae.restore(PADDED)) - GREY).square().mean()
    assert torch.allclose(Reconstruction()(cae, GREY, LABELS).loss, by_hand)
    assert cae.restore(PADDED).detach().min() < 0  # where clamping would end the gradients

    vqvae = VQVAE(width=8, narrow=4, size=4, codes=6).eval()
    code = vqvae.encode(PADDED)
    quantised, _ = vqvae.codebook(code)
    error = (cut(vqvae.decode(quantised)) - GREY).square().mean()
    by_hand = error / 0.05 + 0.25 * (code - quantised).square().mean()
    assert torch.allclose(VectorQuantisation(variance=0.05)(vqvae, GREY, LABELS).loss, by_hand)

    unet = weatherproof.corruption_network("unet_desk")
    difference = cut(unet.restore(PADDED)) - GREY
    by_hand = difference.abs().mean() + 0.05 * difference.square().mean()
    assert torch.allclose(Inpainting(0, 0)(unet, GREY, LABELS).loss, by_hand)


@pytest.mark.parametrize("settings", [{"least": 0.5, "most": 0.2}, {"least": -0.1}, {"most": 1.5}])
def test_inpainting_refuses_shares_out_of_range(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match="0 <= least <= most <= 1"):
        Inpainting(**settings)


@pytest.mark.parametrize("name", TASKS)
def test_quality_is_logged(name: str) -> None:
    networks = {
        "super_resolution": EDSR(features=4, blocks=1),
        "reconstruction": CAE(width=8, bits=4, stem=4, fine=8, last=4),
        "vector_quantisation": VQVAE(width=8, narrow=4, size=4, codes=6),
        "inpainting": weatherproof.corruption_network("unet_desk", weights=None),
    }
    outcome: Outcome = TASKS[name]()(networks[name], images(), LABELS)
    outcome.loss.backward()
    assert 0 < float(outcome.metrics["psnr"]) < 60


@pytest.mark.parametrize("name", ["edsr_desk", "cae_desk", "vqvae_desk", "unet_desk"])
def test_pretraining_end_to_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real command on tiny data: it learns, keeps a card with measured quality, draws, and can be used at once."""
    monkeypatch.chdir(tmp_path)
    npz = write_tiny_npz(tmp_path / "tiny.npz")
    options = ["--data", str(npz), "--training.batch_size", "12", "--epochs", "3"]
    options += ["--training.precision", "fp32", "--device", "cpu", "--training.warmup_epochs", "0"]
    assert main(["pretrain", name, "-o", "run", *options]) == 0
    assert "test quality" in capsys.readouterr().out
    metrics = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["train_loss"] < metrics[0]["train_loss"]
    card = json.loads(Path("run/model.json").read_text())
    assert card["measured"]["test_images"] == 60
    assert card["checksum"] == hashlib.sha256(Path("run/model.safetensors").read_bytes()).hexdigest()
    with Image.open("run/reconstructions.png") as picture:
        assert picture.width > picture.height
    network = weatherproof.corruption_network(name, "run")
    assert network(images()).shape == (6, 3, 16, 16)
    assert main(["pretrain", "--resume", "run"]) == 0  # finished: measured and drawn again, nothing trained
    assert len(Path("run/metrics.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize("name", ["edsr_desk", "cae_desk", "vqvae_desk", "unet_desk"])
def test_pretraining_takes_any_size_and_grey(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 256, (40, 13, 13, 3), dtype=np.uint8)
    labels = np.arange(40) % 2
    np.savez("odd.npz", x_train=pixels, y_train=labels, x_test=pixels[:4], y_test=labels[:4])
    options = ["--data", "odd.npz", "--data.channels", "1", "--epochs", "1", "--device", "cpu", "--quiet"]
    assert main(["pretrain", name, "-o", "run", *options]) == 0
    assert weatherproof.corruption_network(name, "run")(GREY).shape == GREY.shape


@pytest.mark.parametrize("name", [name for name in recipe_names() if name.startswith("pretrain/")])
def test_shipped_recipes_hold_out_a_share_of_any_set(name: str) -> None:
    holdout = load_recipe(name).data.holdout
    if not name.endswith("-paper"):
        assert (holdout_count(holdout, 50_000), holdout_count(holdout, 64)) == (2000, 3)


def test_weights_that_are_not_those_of_the_finished_run_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    overrides = {"data.source": str(write_tiny_npz(tmp_path / "tiny.npz")), "training.epochs": 1}
    weatherproof.pretrain("unet_desk", "run", overrides=overrides, device="cpu", quiet=True)
    weights = load_tensors(Path("run/model.safetensors"))[0]
    save_tensors(Path("run/model.safetensors"), {name: value + 1 for name, value in weights.items()})
    with pytest.raises(InputError, match="not the file that its card speaks of: its checksum does not fit"):
        weatherproof.corruption_network("unet_desk", "run")


def test_a_resumed_pretraining_ends_as_an_uninterrupted_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adam's averages and the codebook are part of the state: stopped by Ctrl-C in the second epoch, bit for bit."""
    monkeypatch.chdir(tmp_path)
    npz = write_tiny_npz(tmp_path / "tiny.npz")
    overrides = {"data.source": str(npz), "data.holdout": 12, "training.batch_size": 12, "training.epochs": 3}
    overrides |= {"training.precision": "fp32"}
    whole = weatherproof.pretrain("vqvae_desk", "whole", overrides=overrides, device="cpu", quiet=True)

    step, count = Loop._step, 0

    def stopping(self: Loop, batch: object, epoch: int) -> None:
        nonlocal count
        step(self, batch, epoch)  # type: ignore[arg-type]
        count += 1
        if count == 13:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Loop, "_step", stopping)
    with pytest.raises(Interrupted):
        weatherproof.pretrain("vqvae_desk", "parts", overrides=overrides, device="cpu", quiet=True)
    monkeypatch.undo()
    parts = resume_pretraining(tmp_path / "parts", device="cpu", quiet=True)
    ours, theirs = ((tmp_path / folder / "model.safetensors").read_bytes() for folder in ("whole", "parts"))
    assert ours == theirs
    assert parts.card.measured == whole.card.measured


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pretrain"], "name a network to train or a run"),
        (["pretrain", "edsr_dek"], "there is no recipe 'edsr_dek'"),
        (["pretrain", "affine"], "affine needs no training: it starts as the identity"),
        (
            ["pretrain", "unet_desk", "--data", "photos10", "--data.holdout", "4000"],
            "data.holdout: cannot hold out 4000 of 4,000 training images",
        ),
        (["pretrain", "photos10/nominal"], "trains a classifier, not a corruption network"),
        (
            ["pretrain", "unet_desk", "--data", "photos10", "--task", "super_resolution"],
            "needs a network with a method upscale; UNet has none",
        ),
        (["pretrain", "unet_desk", "--data.source", "photos10", "--task.least", "2"], "task"),
        (["train", "pretrain/unet_desk", "--defence.class_path", "nominal"], "'defence' belongs to the training of a"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_images_too_small_are_refused_before_a_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pixels, labels = np.zeros((40, 8, 8, 3), dtype=np.uint8), np.arange(40) % 2
    np.savez("small.npz", x_train=pixels, y_train=labels, x_test=pixels[:4], y_test=labels[:4])
    assert main(["pretrain", "cae_desk", "--data", "small.npz", "-o", "run", "--device", "cpu"]) == 2
    assert capsys.readouterr().err == "weatherproof: SSIM needs images of at least 11x11; got 8x8\n"
    assert not Path("run").exists()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_task_runs_in_the_precision_that_its_recipe_asks_for(tmp_path: Path, precision: str) -> None:
    """Tasks call a network's own methods, to which Fabric gives no precision on one device."""
    seen: list[bool] = []

    class Watching(Reconstruction):
        def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
            seen.append(torch.is_autocast_enabled("cpu"))
            return super().__call__(model, images, labels)

    content = tiny_recipe(write_tiny_npz(tmp_path / "tiny.npz"), epochs=1, precision=precision)
    del content["classifier"]
    plan = parse_recipe("tiny", {**content, "network": "unet_desk", "task": "reconstruction"})
    prepared = Prepared(plan, device="cpu", workers=0)
    Loop(
        prepared.fabric, prepared.module, Watching(), prepared.pipeline, prepared.loader, plan.training, 0,
        Run(tmp_path / "run"), {}, lambda module: {}, lambda module: None, Silent(),
    ).train()  # fmt: skip
    assert set(seen) == {precision == "bf16"}
