"""A trained classifier comes back from disk as it was; files that were cut, changed or swapped are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from weatherproof.errors import InputError
from weatherproof.files import load_tensors, read_json, save_tensors
from weatherproof.networks.classifiers import classifier
from weatherproof.networks.classifiers.saved import (
    Card,
    build,
    load_classifier,
    load_weights,
    load_with_card,
    resolve,
    save_classifier,
)
from weatherproof.specs import Spec

CARD = Card(
    {"class_path": "resnet_small", "init_args": {"classes": 3, "width": 4, "mean": [0.4, 0.5, 0.6], "std": [0.2] * 3}},
    ("cat", "dog", "007"),
    channels=3,
    size=32,
    origin={"run": "first", "commit": "0012345", "seed": 3, "versions": {"torch": "2.10"}},
)


def new(**changes: Any) -> nn.Module:
    torch.manual_seed(0)
    return build(Spec("resnet_small", {**CARD.classifier["init_args"], **changes}))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run with a saved classifier."""
    save_classifier(tmp_path / "run", new().state_dict(), CARD)
    return tmp_path / "run"


def edit(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((run / "model.json").read_text())
    change(content)
    (run / "model.json").write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["", "model.safetensors"])
@pytest.mark.parametrize("kind", [str, Path])
def test_round_trip(run: Path, name: str, kind: Callable[[Path], str | Path]) -> None:
    loaded, card = load_with_card(kind(run / name))
    assert card == CARD
    assert not any(module.training for module in loaded.modules())
    images = torch.rand(2, 3, 32, 32)
    with torch.inference_mode():
        assert torch.equal(loaded(images), new().eval()(images))
        assert torch.equal(load_classifier(run / name)(images), loaded(images))


def test_a_renamed_file_has_its_card_beside_it(run: Path) -> None:
    (run / "model.safetensors").rename(run / "best.v2.safetensors")
    with pytest.raises(InputError, match=r"cannot read .*best\.v2\.json: No such file"):
        load_classifier(run / "best.v2.safetensors")
    (run / "model.json").rename(run / "best.v2.json")
    assert load_with_card(run / "best.v2.safetensors")[1] == CARD


def test_loading_leaves_the_callers_draws(run: Path) -> None:
    state = torch.get_rng_state()
    load_classifier(run)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_card_is_written_once(run: Path) -> None:
    before = (run / "model.json").stat()
    save_classifier(run, new(width=4).state_dict(), CARD)
    assert (run / "model.json").stat().st_mtime_ns == before.st_mtime_ns
    save_classifier(run, new().state_dict(), replace(CARD, size=64))
    assert read_json(run / "model.json")["size"] == 64


def test_someone_elses_module_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_net.py").write_text(
        "from torch import nn\n"
        "class Tied(nn.Module):\n"
        "    def __init__(self, features: int = 3):\n"
        "        super().__init__()\n"
        "        self.one = nn.Linear(features, features)\n"
        "        self.other = self.one\n"
        "    def forward(self, x):\n"
        "        return self.other(self.one(x.mean(dim=(2, 3))))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = build(Spec("my_net.Tied", {"features": "3"}))
    card = replace(CARD, classifier={"class_path": "my_net.Tied", "init_args": {"features": 3}})
    save_classifier(tmp_path / "run", module.state_dict(), card)
    images = torch.rand(2, 3, 8, 8)
    assert torch.equal(load_classifier(tmp_path / "run")(images), module(images))


OTHER_WEIGHTS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "another width": ({"width": 8}, "it has head.weight of shape (3, 64) instead of (3, 32)"),
    "more classes": ({"classes": 4}, "it has head.bias of shape (4,) instead of (3,)"),
    "another network": (None, "lacks"),
}


@pytest.mark.parametrize("case", OTHER_WEIGHTS)
def test_weights_of_another_architecture(run: Path, case: str) -> None:
    changes, sentence = OTHER_WEIGHTS[case]
    other = new(**changes) if changes is not None else nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(4, 3))
    save_tensors(run / "model.safetensors", other.state_dict())
    with pytest.raises(InputError, match="holds another architecture than PreActResNet: it") as caught:
        load_classifier(run)
    assert str(run / "model.safetensors") in str(caught.value) and sentence in str(caught.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda w: w.pop("0.bias"), "x holds another architecture than Sequential: it lacks 0.bias"),
        (lambda w: w.update(more=torch.zeros(1)), "it has more besides"),
        (lambda w: [w.pop("0.bias"), w.update(a=torch.zeros(1))], "it lacks 0.bias; it has a besides"),
        (lambda w: w.clear(), "it lacks 0.bias, 0.weight, 1.bias, 1.weight"),
        (lambda w: w.update({"0.bias": torch.zeros(3)}), "it has 0.bias of shape (3,) instead of (2,)"),
        (lambda w: w.update({"0.bias": torch.zeros(2).int()}), "it has 0.bias as torch.int32 instead of torch.float32"),
    ],
)
def test_what_differs_is_said(change: Callable[[dict[str, Any]], object], sentence: str) -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    before = {name: weight.clone() for name, weight in module.state_dict().items()}
    weights: dict[str, Any] = {name: weight + 1 for name, weight in before.items()}
    change(weights)
    with pytest.raises(InputError) as caught:
        load_weights(module, weights, "x")
    assert sentence in str(caught.value)
    assert all(torch.equal(module.state_dict()[name], before[name]) for name in before)


TRAP = {"class_path": "os.mkdir", "init_args": {"path": "trap"}}
EDITED_CARDS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a function that runs commands": (
        lambda card: card["classifier"].update(class_path="os.system", init_args={"command": "mkdir trap"}),
        "os.system is neither an nn.Module nor a function annotated to return one",
    ),
    "a function that makes a folder": (lambda card: card.update(classifier=TRAP), "os.mkdir is neither an nn.Module"),
    "a class that runs commands": (
        lambda card: card["classifier"].update(class_path="subprocess.Popen", init_args={"args": ["mkdir", "trap"]}),
        "subprocess.Popen is neither an nn.Module",
    ),
    "a trap among our arguments": (
        lambda card: card["classifier"]["init_args"].update(mean=TRAP),
        "the arguments of a classifier are plain values; got a class_path among them",
    ),
    "a trap among torch's arguments": (
        lambda card: card.update(
            classifier={
                "class_path": "torch.nn.Linear",
                "init_args": {"in_features": 1, "out_features": 1, "device": [{"x": TRAP}]},
            }
        ),
        "the arguments of a classifier are plain values; got a class_path among them",
    ),
    "a trap in the notes": (lambda card: card["origin"].update(note=TRAP), ""),
    "an unknown network": (
        lambda card: card["classifier"].update(class_path="resnet_smal"),
        "there is no 'resnet_smal'; did you mean 'resnet_small'?",
    ),
    "a package that is not there": (
        lambda card: card["classifier"].update(class_path="no_such_package.Net"),
        "cannot import no_such_package.Net",
    ),
    "other classes": (
        lambda card: card["classifier"]["init_args"].update(classes=10),
        "it has head.bias of shape (3,) instead of (10,)",
    ),
    "no classes": (
        lambda card: card["classifier"]["init_args"].update(classes=0),
        "model.json: a classifier tells at least 2 classes apart; got 0",
    ),
    "null classes": (lambda card: card["classifier"]["init_args"].update(classes=None), "classes: wanted a value"),
    "nonsense width": (lambda card: card["classifier"]["init_args"].update(width="wide"), ".width: "),
    "negative width": (
        lambda card: card["classifier"]["init_args"].update(width=-4),
        "at least 1 channel wide; got -4",
    ),
    "no size": (
        lambda card: card.update(size=0),
        "model.json: images have 1 or 3 channels and a size above 0; got 3 and 0",
    ),
    "seven channels": (lambda card: card.update(channels=7), "model.json: images have 1 or 3 channels"),
    "data by name": (
        lambda card: card["origin"].update(data="x"),
        "model.json: origin.data: wanted a mapping; got 'x'",
    ),
    "an unknown argument": (lambda card: card["classifier"]["init_args"].update(depth=3), "unknown key 'depth'"),
    "a linear layer": (
        lambda card: card.update(
            classifier={"class_path": "torch.nn.Linear", "init_args": {"in_features": 1, "out_features": "many"}}
        ),
        ".out_features: wanted int; got many",
    ),
    "an unknown key": (lambda card: card.update(sise=32), "unknown key 'sise'; did you mean 'size'?"),
    "a missing key": (lambda card: card.pop("class_names"), "'class_names' is missing"),
    "class names of another type": (lambda card: card.update(class_names=5), ".class_names: "),
    "a size in words": (lambda card: card.update(size="small"), ".size: "),
    "a classifier by number": (lambda card: card.update(classifier=5), ".classifier: wanted a dict; got 5"),
    "a classifier without path": (
        lambda card: card.update(classifier={"init_args": {}}),
        "wanted a name, or a mapping",
    ),
}


@pytest.mark.parametrize("case", EDITED_CARDS)
def test_hand_edited_cards(run: Path, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change, sentence = EDITED_CARDS[case]
    monkeypatch.chdir(tmp_path)  # where the traps would go off
    edit(run, change)
    if sentence:
        with pytest.raises(InputError) as caught:
            load_classifier(run)
        assert sentence in str(caught.value) and str(run) in str(caught.value) and "\n" not in str(caught.value)
    else:
        load_classifier(run)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "cannot read"),
        ('{"classifier": ', "cannot read"),
        ("[]", "is not a classifier's card: it holds a list"),
        ("null", "is not a classifier's card: it holds a NoneType"),
        ("{}", "'classifier' is missing"),
    ],
)
def test_cards_that_are_none(run: Path, content: str, sentence: str) -> None:
    (run / "model.json").write_text(content)
    with pytest.raises(InputError, match=sentence) as caught:
        load_classifier(run)
    assert str(run / "model.json") in str(caught.value)


def test_files_that_are_not_there(run: Path, tmp_path: Path) -> None:
    (run / "model.json").unlink()
    with pytest.raises(InputError, match=r"cannot read .*model\.json: No such file"):
        load_classifier(run)
    (run / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"holds no model\.safetensors"):
        load_classifier(run)
    with pytest.raises(InputError, match="there is no run folder or model file"):
        load_classifier(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["model.pt", "model.pth", "model.json"])
def test_other_files_are_not_unpickled(run: Path, name: str) -> None:
    if not (run / name).exists():
        torch.save(new(), run / name)
    with pytest.raises(InputError, match=r"is not a run folder or a \.safetensors file; other formats"):
        load_classifier(run / name)


def test_changed_weights_are_refused(run: Path) -> None:
    content = bytearray((run / "model.safetensors").read_bytes())
    content[-100] ^= 4
    (run / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="was changed after it was written"):
        load_classifier(run)


def test_a_card_that_was_changed_is_refused_but_may_say_more_of_its_origin(run: Path) -> None:
    edit(run, lambda card: card["origin"].update(note="mine"))
    load_classifier(run)
    edit(run, lambda card: card["classifier"]["init_args"].update(mean=[0.9] * 3))
    with pytest.raises(InputError, match=r"model\.json was changed after it was written"):
        load_classifier(run)


def test_weights_that_are_not_finite_are_refused(run: Path) -> None:
    tensors, note = load_tensors(run / "model.safetensors")
    name = next(iter(tensors))
    save_tensors(run / "model.safetensors", {**tensors, name: tensors[name] * float("nan")}, note)
    with pytest.raises(InputError, match=rf"is of no use: {name} holds values that are infinite or NaN"):
        load_classifier(run)


def test_saved_weights_are_those_of_the_moment(run: Path) -> None:
    """What is on disk does not move with the module."""
    module = new()
    save_classifier(run, module.state_dict(), CARD)
    with torch.no_grad():
        next(module.parameters()).add_(1)
    saved, _ = load_tensors(run / "model.safetensors")
    assert all(torch.equal(saved[name], weight) for name, weight in new().state_dict().items())


def test_resolve_fills_in_what_the_data_say() -> None:
    spec = resolve(Spec("resnet_small", {"classes": 7}), 3, 1, (0.4,), (0.2,))
    assert spec.init_args == {"classes": 7, "channels": 1, "mean": [0.4], "std": [0.2]}
    assert resolve(Spec("torch.nn.Identity"), 3, 1, (0.4,), (0.2,)).init_args == {}
    assert resolve(Spec("torch.nn.Conv2d"), 3, 1, (0.4,), (0.2,)).init_args == {}


@pytest.mark.parametrize("path", ["resnet_small", "weatherproof.networks.classifiers.resnet_small"])
def test_build_by_name_and_by_path(path: str) -> None:
    torch.manual_seed(0)
    built = build(Spec(path, {"classes": 3})).state_dict()
    torch.manual_seed(0)
    expected = classifier("resnet_small", classes=3).state_dict()
    assert all(torch.equal(built[name], expected[name]) for name in expected)


def test_build_refuses_a_function_that_does_not_keep_its_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "liar.py").write_text("from torch import nn\ndef make() -> nn.Module:\n    return 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"liar\.make gave a int, not an nn\.Module"):
        build(Spec("liar.make"))
