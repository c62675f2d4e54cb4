"""A trained classifier on disk: model.safetensors with the weights, model.json with all that rebuilds the module."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...files import load_tensors, read_json, save_tensors, write_json
from ...specs import Spec, accepts
from ..building import (
    CARD,
    WEIGHTS,
    build_module,
    built_untouched,
    load_weights,
    module_target,
    plain,
    read_card,
    weights_file,
)
from . import CLASSIFIERS

__all__ = [
    "CARD", "WEIGHTS", "Card", "build", "load_classifier", "load_weights", "load_with_card", "resolve",
    "save_classifier",
]  # fmt: skip


@dataclass(frozen=True)
class Card:
    """What a checkpoint says of its classifier: how to build it, what it takes and gives, where it comes from."""

    classifier: dict[str, Any]
    class_names: tuple[str, ...]
    channels: int
    size: int
    origin: dict[str, Any] = field(default_factory=dict)
    digest: str = field(
        default="", compare=False
    )  # of all but the origin, which may be edited; none in a card that somebody wrote by hand

    def __post_init__(self) -> None:
        if self.channels not in (1, 3) or self.size < 1:
            raise InputError(f"images have 1 or 3 channels and a size above 0; got {self.channels} and {self.size}")
        if not isinstance(self.origin.get("data", {}), Mapping):
            raise InputError(f"origin.data: wanted a mapping; got {self.origin['data']!r}")


def resolve(
    spec: Spec, classes: int, channels: int, mean: Sequence[float], std: Sequence[float], where: str = "classifier"
) -> Spec:
    """`spec` with `classes`, `channels`, `mean` and `std` filled in from the data where it leaves them open."""
    target = module_target(spec, CLASSIFIERS, where)
    facts = {"classes": classes, "channels": channels, "mean": list(mean), "std": list(std)}
    filled = {name: value for name, value in facts.items() if accepts(target, name)}
    return Spec(spec.class_path, {**filled, **spec.init_args})


def build(spec: Spec, where: str = "classifier") -> nn.Module:
    """The module that `spec` describes, with fresh weights from the global generator."""
    return build_module(spec, CLASSIFIERS, where)


def save_classifier(folder: Path, weights: Mapping[str, Tensor], card: Card) -> None:
    """Write both files, each atomically; the card only where it changed, since it is the same for a whole run."""
    content = {**asdict(card), "digest": _digest(card)}
    if not (folder / CARD).is_file() or read_json(folder / CARD) != plain(content):
        write_json(folder / CARD, content)
    save_tensors(folder / WEIGHTS, weights)


def load_classifier(run_or_file: str | Path, device: torch.device | str = "cpu") -> nn.Module:
    """The trained classifier of a run folder, or of a model.safetensors beside its model.json; in eval mode."""
    classifier, _ = load_with_card(run_or_file, device)
    return classifier


def load_with_card(run_or_file: str | Path, device: torch.device | str = "cpu") -> tuple[nn.Module, Card]:
    """The trained classifier and its card."""
    weights = weights_file(Path(run_or_file).expanduser())
    where = weights.with_suffix(".json")
    card: Card = read_card(where, Card, "classifier")
    spec = Spec.parse(card.classifier, f"{where}: classifier")
    classifier = built_untouched(lambda: build(spec, str(where)))
    tensors, _ = load_tensors(weights)
    load_weights(classifier, tensors, str(weights))
    if card.digest not in ("", _digest(card)):
        raise InputError(f"{where} was changed after it was written: it does not describe the classifier in {weights}")
    return classifier.to(device).eval(), card


def _digest(card: Card) -> str:
    """Of what makes the classifier what it is."""
    content = {key: value for key, value in plain(asdict(card)).items() if key not in ("origin", "digest")}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
