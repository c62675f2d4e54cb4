"""A trained classifier on disk: model.safetensors with the weights, model.json with all that rebuilds the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...files import load_tensors, read_json, save_tensors, write_json
from ...specs import Spec, accepts, construct, returns
from . import CLASSIFIERS

WEIGHTS, CARD = "model.safetensors", "model.json"


@dataclass(frozen=True)
class Card:
    """What a checkpoint says of its classifier: how to build it, what it takes and gives, where it comes from."""

    classifier: dict[str, Any]
    class_names: tuple[str, ...]
    channels: int
    size: int
    origin: dict[str, Any] = field(default_factory=dict)


def resolve(
    spec: Spec, classes: int, channels: int, mean: Sequence[float], std: Sequence[float], where: str = "classifier"
) -> Spec:
    """`spec` with `classes`, `channels`, `mean` and `std` filled in from the data where it leaves them open."""
    target = _target(spec, where)
    facts = {"classes": classes, "channels": channels, "mean": list(mean), "std": list(std)}
    filled = {name: value for name, value in facts.items() if accepts(target, name)}
    return Spec(spec.class_path, {**filled, **spec.init_args})


def build(spec: Spec, where: str = "classifier") -> nn.Module:
    """The module that `spec` describes, with fresh weights from the global generator."""
    target = _target(spec, where)
    if _names_a_class(spec.init_args):
        raise InputError(f"{where}: the arguments of a classifier are plain values; got a class_path among them")
    try:
        module = construct(target, spec.init_args, where)
    except InputError as error:  # of an argument's type, which says where, or of the module itself
        raise InputError(str(error) if str(error).startswith(where) else f"{where}: {error}") from error
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"{where}: cannot build {spec.class_path} with {spec.init_args} ({error})") from error
    if not isinstance(module, nn.Module):
        raise InputError(f"{where}: {spec.class_path} gave a {type(module).__name__}, not an nn.Module")
    return module


def save_classifier(folder: Path, weights: Mapping[str, Tensor], card: Card) -> None:
    """Write both files, each atomically; the card only where it changed, since it is the same for a whole run."""
    content = asdict(card)
    if not (folder / CARD).is_file() or read_json(folder / CARD) != _plain(content):
        write_json(folder / CARD, content)
    save_tensors(folder / WEIGHTS, weights)


def load_classifier(run_or_file: str | Path, device: torch.device | str = "cpu") -> nn.Module:
    """The trained classifier of a run folder, or of a model.safetensors beside its model.json; in eval mode."""
    classifier, _ = load_with_card(run_or_file, device)
    return classifier


def load_with_card(run_or_file: str | Path, device: torch.device | str = "cpu") -> tuple[nn.Module, Card]:
    """The trained classifier and its card."""
    weights = _weights_file(Path(run_or_file).expanduser())
    card = _read_card(weights.with_suffix(".json"))
    spec = Spec.parse(card.classifier, f"{weights.with_suffix('.json')}: classifier")
    with torch.random.fork_rng(devices=[]):  # fresh weights are drawn and thrown away; the caller's draws stay theirs
        classifier = build(spec, str(weights.with_suffix(".json")))
    load_weights(classifier, load_tensors(weights)[0], str(weights))
    return classifier.to(device).eval(), card


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], name: str) -> None:
    """``load_state_dict``, with one sentence for weights of another architecture."""
    wanted = module.state_dict()
    missing, extra = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
    shapes = [key for key in wanted.keys() & weights.keys() if wanted[key].shape != weights[key].shape]
    faults = [f"lacks {_some(missing)}"] if missing else []
    faults += [f"has {_some(extra)} besides"] if extra else []
    faults += [
        f"has {key} of shape {tuple(weights[key].shape)} instead of {tuple(wanted[key].shape)}"
        for key in sorted(shapes)[:1]
    ]
    if faults:
        raise InputError(f"{name} holds another architecture than {type(module).__name__}: it {'; it '.join(faults)}")
    module.load_state_dict(weights)


def _target(spec: Spec, where: str) -> Any:
    target = spec.target(CLASSIFIERS, where)
    if not returns(target, nn.Module):
        raise InputError(
            f"{where}: {spec.class_path} is neither an nn.Module nor a function annotated to return one (-> nn.Module)"
        )
    return target


def _names_a_class(value: Any) -> bool:
    """Whether there is a class_path inside: a card must not reach other code than the classifier that it names."""
    if isinstance(value, Mapping):
        return "class_path" in value or any(_names_a_class(entry) for entry in value.values())
    return isinstance(value, list | tuple) and any(_names_a_class(entry) for entry in value)


def _weights_file(path: Path) -> Path:
    if path.is_dir():
        if not (path / WEIGHTS).is_file():
            raise InputError(f"{path} holds no {WEIGHTS}; a run has one from the end of its first epoch on")
        return path / WEIGHTS
    if not path.exists():
        raise InputError(f"there is no run folder or model file {path}")
    if path.suffix != ".safetensors":
        raise InputError(f"{path} is not a run folder or a .safetensors file; other formats are not unpickled")
    return path


def _read_card(path: Path) -> Card:
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a classifier's card: it holds a {type(content).__name__}")
    card: Card = construct(Card, content, str(path))
    return card


def _plain(value: Any) -> Any:
    """Tuples as the lists that JSON makes of them."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
