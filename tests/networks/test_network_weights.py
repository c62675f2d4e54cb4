"""Weights of corruption networks on disk: shipped ones, those of runs, published ones, and broken ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import weatherproof
from weatherproof.api import evaluate_on
from weatherproof.data import Loader, open_data
from weatherproof.errors import InputError
from weatherproof.files import load_tensors, save_tensors
from weatherproof.networks.corruption import NETWORKS
from weatherproof.networks.corruption.saved import card_of, named_card, named_network, shipped_file
from weatherproof.training import Prepared
from weatherproof.training.recipe import parse_recipe
from weatherproof.training.trainees import fidelity

TRAINED = [name for name in NETWORKS if name != "affine"]
LEAST_SSIM = {"edsr": 0.97, "unet": 0.95, "edsr_desk": 0.97, "unet_desk": 0.95}  # at nu = 0 on CIFAR-10's test images


def shipped_copy(folder: Path, name: str = "unet_desk") -> Path:
    """A shipped network as files of one's own."""
    source = shipped_file(name)
    assert source is not None
    for suffix in (".safetensors", ".json"):
        shutil.copy(source.with_suffix(suffix), folder / f"mine{suffix}")
    return folder / "mine.safetensors"


@pytest.mark.parametrize("name", TRAINED)
def test_cards_say_where_weights_come_from(name: str) -> None:
    card = card_of(weatherproof.corruption_network(name))
    assert (card.weights, card.size, card.origin["recipe"]) == ("ours-cifar10", 32, f"pretrain/{name}")
    assert card.measured["psnr"] > 20
    assert card.protocol() == f"{name} (ours-cifar10 at 32 px)"


def test_shipped_weights_stay_small() -> None:
    folder = shipped_file("edsr").parent
    assert sum(file.stat().st_size for file in folder.iterdir()) < 20_000_000


@pytest.mark.parametrize("name", TRAINED)
def test_shipped_networks_are_as_good_as_their_cards(name: str, real_cifar10: Path) -> None:
    """On 50 test images; the card speaks of many more, so the bound is a few standard errors wide."""
    data = open_data("cifar10", data_dir=real_cifar10.parent)
    network = weatherproof.corruption_network(name)
    found = fidelity(network, Loader(data.test.take(range(50)), 50, 32))
    card = card_of(network)
    assert found["ssim"] == pytest.approx(card.measured["ssim"], abs=0.03)
    assert found["ssim"] >= LEAST_SSIM.get(name, 0)


@pytest.mark.parametrize("name", TRAINED)
def test_shipped_networks_know_photographs_too(name: str) -> None:
    """photos10 comes with the package and is not what they were trained on."""
    data = open_data("photos10")
    found = fidelity(weatherproof.corruption_network(name), Loader(data.test.take(range(0, 1000, 40)), 25, 32))
    assert found["ssim"] > {"edsr": 0.97, "unet": 0.9, "edsr_desk": 0.97, "unet_desk": 0.9}.get(name, 0.5)


def published_edsr(scale: int) -> dict[str, Tensor]:
    """A state dict by the keys that EDSR-PyTorch documents: mean shifts, head, 16 blocks, upsampler, tail."""
    generator = torch.Generator().manual_seed(scale)

    def layer(key: str, outputs: int, inputs: int) -> dict[str, Tensor]:
        weight = torch.randn(outputs, inputs, 3, 3, generator=generator) * 0.02
        return {f"{key}.weight": weight, f"{key}.bias": torch.randn(outputs, generator=generator) * 0.02}

    mean = 255 * torch.tensor([0.4488, 0.4371, 0.4040])
    shifts = {"sub_mean.weight": torch.eye(3).view(3, 3, 1, 1), "sub_mean.bias": -mean}
    shifts |= {"add_mean.weight": torch.eye(3).view(3, 3, 1, 1), "add_mean.bias": mean}
    layers = layer("head.0", 64, 3)
    for block in range(16):
        layers |= layer(f"body.{block}.body.0", 64, 64) | layer(f"body.{block}.body.2", 64, 64)
    layers |= layer("body.16", 64, 64) | layer("tail.1", 3, 64)
    layers |= layer("tail.0.0", 576 if scale == 3 else 256, 64)
    if scale == 4:
        layers |= layer("tail.0.2", 256, 64)
    return shifts | layers


@pytest.mark.parametrize(("scale", "parameters"), [(2, 1_369_859), (3, 1_554_499), (4, 1_517_571)])
def test_published_edsr_loads(tmp_path: Path, scale: int, parameters: int) -> None:
    state = published_edsr(scale)
    torch.save(state, tmp_path / "edsr_baseline.pt")
    network = weatherproof.corruption_network("edsr", tmp_path / "edsr_baseline.pt", scale=scale)
    assert sum(value.numel() for value in network.parameters()) == parameters
    assert all(torch.equal(value, state[key]) for key, value in network.state_dict().items())
    assert card_of(network).protocol() == "edsr (published)"


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_published_edsr_tells_its_scale(tmp_path: Path, scale: int) -> None:
    """A recipe names a file and nothing else."""
    torch.save(published_edsr(scale), tmp_path / "edsr.pt")
    network = named_network(f"edsr@{tmp_path / 'edsr.pt'}")
    assert network.scale == scale
    assert card_of(network).network == {"class_path": "edsr", "init_args": {"scale": scale}}
    with pytest.raises(InputError, match="holds another architecture"):
        weatherproof.corruption_network("edsr", tmp_path / "edsr.pt", scale=2 if scale == 4 else 4)


def published_cae() -> dict[str, Tensor]:
    """A state dict by the keys of the autoencoder that DeepAugment uses, in its own order."""
    generator, state = torch.Generator().manual_seed(0), {}
    shapes = {"e_conv_1.1": (64, 3, 5, 5), "e_conv_2.1": (128, 64, 5, 5), "e_conv_3.0": (32, 128, 5, 5)}
    shapes |= {f"{side}_block_{i}.{j}": (128, 128, 3, 3) for side in "ed" for i in (1, 2, 3) for j in (1, 4)}
    shapes |= {"d_up_conv_1.0": (64, 32, 3, 3), "d_up_conv_1.3": (64, 128, 2, 2)}
    shapes |= {"d_up_conv_2.0": (32, 128, 3, 3), "d_up_conv_2.3": (32, 256, 2, 2)}
    shapes |= {"d_up_conv_3.0": (16, 256, 3, 3), "d_up_conv_3.3": (3, 16, 3, 3)}
    for key, shape in shapes.items():
        transposed = key in ("d_up_conv_1.3", "d_up_conv_2.3")
        state[f"{key}.weight"] = torch.randn(shape, generator=generator) * 0.02
        state[f"{key}.bias"] = torch.randn(shape[1 if transposed else 0], generator=generator) * 0.02
    return state


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: {"state_dict": {f"module.{k}": v for k, v in s.items()}}])
def test_published_cae_loads(tmp_path: Path, wrap: object) -> None:
    state = published_cae()
    torch.save(wrap(state), tmp_path / "model_final.state")  # type: ignore[operator]
    network = weatherproof.corruption_network("cae", tmp_path / "model_final.state")
    assert network.state_dict().keys() == state.keys()
    assert all(torch.equal(value, state[key]) for key, value in network.state_dict().items())


class Malicious:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('executed')",))


def test_published_files_are_not_executed(tmp_path: Path) -> None:
    torch.save({"head.0.weight": Malicious()}, tmp_path / "evil.pt")
    with pytest.raises(InputError, match=r"truncated, or holds more than tensors \((builtins\.)?exec\)"):
        weatherproof.corruption_network("edsr", tmp_path / "evil.pt")


@pytest.mark.parametrize("text", ["hello", "", "(dp0", "\x80\x02"])
def test_files_of_another_format_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.pt").write_text(text)
    with pytest.raises(InputError, match=r"notes\.pt is truncated, .* or is no file that torch.save has written$"):
        weatherproof.corruption_network("edsr", tmp_path / "notes.pt")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sub_mean.bias": torch.zeros(4)}, r"sub_mean.bias is of shape \(4,\) instead of \(3,\)"),
        ({"sub_mean.weight": torch.zeros(2, 2)}, r"sub_mean.weight is of shape \(2, 2\) instead of \(3, 3, 1, 1\)"),
        (
            {"sub_mean.bias": torch.zeros(3), "add_mean.weight": torch.zeros(3, 3, 1, 1)},
            r"sub_mean.bias is \[0.0, .* instead of \[-114.444, .*; add_mean.weight is \[0.0, ",
        ),
        ({1: torch.zeros(1)}, "holds no state dict: wanted names with tensors; got the int 1 with a Tensor"),
        ({"note": "text", "n": 3}, "wanted names with tensors; got the str 'note' with a str, the str 'n' with a int"),
        (
            {"head.0.bias": torch.full((64,), float("nan")), "body.16.bias": torch.full((64,), float("inf"))},
            "is of no use: body.16.bias, head.0.bias hold values that are infinite or NaN",
        ),
        (
            {"head.0.bias": torch.zeros(2), "tail.1.bias": torch.zeros(5)},
            r"it has head.0.bias of shape \(2,\) instead of \(64,\); it has tail.1.bias of shape \(5,\) instead",
        ),
    ],
)
def test_every_fault_of_a_published_file_is_named(tmp_path: Path, changes: dict[object, object], sentence: str) -> None:
    torch.save(published_edsr(2) | changes, tmp_path / "edsr.pt")  # type: ignore[operator]
    with pytest.raises(InputError, match=sentence):
        weatherproof.corruption_network("edsr", tmp_path / "edsr.pt")


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda tensors: tensors.pop("output.bias"), "it lacks output.bias"),
        (
            lambda tensors: [tensors.pop(key) for key in list(tensors) if key.startswith(("up", "down"))],
            "it lacks down_1.0.bias, down_1.0.weight, down_2.0.bias, down_2.0.weight, up_1.0.bias, up_1.0.weight, "
            "up_2.0.bias, up_2.0.weight$",
        ),
        (lambda tensors: tensors.update({"output.bias": torch.full((3,), torch.nan)}), "output.bias holds values that"),
        (lambda tensors: tensors.update(extra=torch.zeros(1)), "it has extra besides"),
        (lambda tensors: tensors.update({"output.bias": torch.zeros(4)}), r"has output.bias of shape \(4,\) instead"),
    ],
)
def test_weights_of_another_make_are_named(tmp_path: Path, break_it: object, sentence: str) -> None:
    file = shipped_copy(tmp_path)
    tensors = load_tensors(file)[0]
    break_it(tensors)  # type: ignore[operator]
    save_tensors(file, tensors)
    forget_checksum(file)
    with pytest.raises(InputError, match=sentence):
        weatherproof.corruption_network("unet_desk", file)


def test_broken_files_are_named(tmp_path: Path) -> None:
    file = shipped_copy(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])
    with pytest.raises(InputError, match="checksum does not fit"):
        weatherproof.corruption_network("unet_desk", file)
    forget_checksum(file)
    with pytest.raises(InputError, match="truncated or not a safetensors file"):
        weatherproof.corruption_network("unet_desk", file)
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match="its checksum does not fit its contents"):
        weatherproof.corruption_network("unet_desk", file)
    with pytest.raises(InputError, match=r"there is no weights file .*nowhere\.pt"):
        weatherproof.corruption_network("edsr", tmp_path / "nowhere.pt")


def forget_checksum(file: Path) -> None:
    card = file.with_suffix(".json")
    card.write_text(json.dumps({**json.loads(card.read_text()), "checksum": ""}))


def test_names_say_whose_weights_are_meant(tmp_path: Path) -> None:
    assert card_of(named_network("unet_desk@ours-cifar10")).weights == "ours-cifar10"
    assert card_of(named_network("unet_desk@untrained")).weights == "untrained"
    file = shipped_copy(tmp_path)
    for entry in (str(file), f"unet_desk@{file}"):
        network = named_network(entry)
        assert torch.equal(network.output.weight, named_network("unet_desk").output.weight)
    torch.save(published_edsr(2), tmp_path / "x2.pt")
    assert named_card(f"edsr@{tmp_path / 'x2.pt'}").protocol() == "edsr (published)"
    for entry in ("edsr_dsk", "edsr_dsk@ours-cifar10", "edsr_dsk@untrained"):
        for look in (named_network, named_card):
            with pytest.raises(
                InputError, match=r"^there is no corruption network 'edsr_dsk'; did you mean 'edsr_desk'\?$"
            ):
                look(entry)
    with pytest.raises(InputError, match=r"there is no file nobodys, and the weights that come along are ours-cifar10"):
        named_network("unet_desk@nobodys")


def test_larger_images_want_the_weights_named(tmp_path: Path) -> None:
    """Networks that were trained at 32 pixels are not used at 64 without saying so; the card repeats what was used."""
    images = np.random.default_rng(0).integers(0, 256, (12, 64, 64, 3), dtype=np.uint8)
    labels = np.arange(12) % 2
    np.savez(tmp_path / "large.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    recipe = {
        "data": {"source": str(tmp_path / "large.npz")},
        "classifier": {"class_path": "resnet_small", "init_args": {"width": 4}},
        "augment": {"adversary": {"class_path": "ada", "init_args": {"networks": "unet_desk", "steps": 0}}},
        "training": {"epochs": 1, "batch_size": 6},
    }
    with pytest.raises(InputError, match=r"trained on images of 32 pixels.*mean these: unet_desk@ours-cifar10"):
        Prepared(parse_recipe("large", recipe), device="cpu", workers=0)
    named = parse_recipe("large", recipe, {"augment.adversary.init_args.networks": "unet_desk@ours-cifar10"})
    run = weatherproof.train(named, tmp_path / "run", device="cpu", workers=0, quiet=True)
    card = json.loads((run.folder / "model.json").read_text())
    assert card["origin"]["against"] == ["unet_desk (ours-cifar10 at 32 px)"]
    result = evaluate_on(run.folder, device="cpu", workers=0)
    assert result.protocol["trained_against"] == ["unet_desk (ours-cifar10 at 32 px)"]
