"""Corruption networks with weights: shipped ones, ones that a run trained, and published ones of others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import InputError, did_you_mean
from ...files import load_tensors, read_json, save_tensors, write_json
from ...specs import Spec
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
from . import EDSR, NETWORKS, edsr
from .published import edsr_scale, read_published

SHIPPED, UNTRAINED = "shipped", "untrained"
NO_WEIGHTS_NEEDED = ("affine",)  # it starts as the identity


@dataclass(frozen=True)
class NetworkCard:
    """What is known of a corruption network's weights.

    `weights` says whose they are (``ours-cifar10``, ``published``, ``own``, ``untrained``); `size` is the side in
    pixels of the images that they were trained on, 0 where that is unknown; `measured` holds PSNR and SSIM on
    held-out images; `checksum` is the SHA-256 of the weights file, where it is known.
    """

    network: dict[str, Any]
    weights: str
    size: int = 0
    origin: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    checksum: str = ""

    def protocol(self) -> str:
        """One phrase for the protocol line."""
        where = f" at {self.size} px" if self.size else ""
        return f"{self.network['class_path']} ({self.weights}{where})"


def corruption_network(name: str, weights: str | Path | None = SHIPPED, **options: Any) -> nn.Module:
    """A corruption network in evaluation mode: float images in [0, 1], NCHW, to images of the same size in [0, 1].

    `name` is one of `NETWORKS` or the class path of an `nn.Module`. `weights` is ``"shipped"``, None for fresh ones
    (from the global generator), a run of ``weatherproof pretrain``, a .safetensors file of one, or a published file of
    others (``edsr_baseline_x2.pt`` and its kin, whose keys tell the scale; DeepAugment's CAE). `options` are the
    network's own, as ``scale=4``. The module's attribute `card` is its `NetworkCard`.
    """
    return from_spec(Spec(name, options), weights)


def from_spec(spec: Spec, weights: str | Path | None = SHIPPED) -> nn.Module:
    """`corruption_network` for a network that a recipe names."""
    spec, card, tensors = _find(spec, weights)
    if tensors is None:
        module = build_network(spec)
    else:
        module = built_untouched(lambda: build_network(spec))
        load_weights(module, tensors, str(weights))
    module.eval()
    module.card = card  # type: ignore[assignment]
    return module


def build_network(spec: Spec, where: str = "corruption network") -> nn.Module:
    """The module that `spec` describes, with fresh weights from the global generator."""
    return build_module(spec, NETWORKS, where, "corruption network")


def card_of(network: nn.Module) -> NetworkCard:
    """The card of a network; one that says little for a user's own module."""
    card = getattr(network, "card", None)
    return card if isinstance(card, NetworkCard) else NetworkCard({"class_path": type(network).__name__}, "own")


def save_network(folder: Path, weights: Mapping[str, Tensor], card: NetworkCard) -> None:
    """Write both files, each atomically; the card only where it changed."""
    if not (folder / CARD).is_file() or read_json(folder / CARD) != plain(asdict(card)):
        write_json(folder / CARD, asdict(card))
    save_tensors(folder / WEIGHTS, weights)


def named_network(entry: str) -> nn.Module:
    """A network as recipes and commands name it.

    ``edsr`` (with the weights that come along), ``edsr@ours-cifar10`` (the same, and whose they are), ``edsr@FILE`` (a
    published file or one of a run), ``my_package.MyNetwork@untrained``, or the run or file of a trained network.
    """
    return from_spec(*_named(entry))


def named_card(entry: str) -> NetworkCard:
    """The card of what `named_network` gives."""
    return _find(*_named(entry))[1]


def _named(entry: str) -> tuple[Spec, str | Path | None]:
    name, _, whose = entry.partition("@")
    if entry not in NETWORKS and Path(entry).expanduser().exists():
        file = weights_file(Path(entry).expanduser())
        return Spec.parse(read_network_card(file).network, f"{file.with_suffix('.json')}: network"), file
    if not whose:
        return Spec(name), SHIPPED
    if whose == UNTRAINED:
        return Spec(name), None
    if Path(whose).expanduser().exists():
        return Spec(name), whose
    there = _find(Spec(name), SHIPPED)[1].weights
    if whose != there:
        raise InputError(f"{entry}: there is no file {whose}, and the weights that come along are {there}")
    return Spec(name), SHIPPED


def load_network(run_or_file: str | Path) -> nn.Module:
    """The network of a run, or of a .safetensors file beside its card, as the card says that it is built."""
    return named_network(str(weights_file(Path(run_or_file).expanduser())))


def read_network_card(weights: Path) -> NetworkCard:
    """The card beside a weights file."""
    card: NetworkCard = read_card(weights.with_suffix(".json"), NetworkCard, "corruption network")
    return card


def shipped_file(name: str) -> Path | None:
    """The shipped weights of a network, if there are any."""
    path = Path(str(resources.files("weatherproof"))) / "networks" / "corruption" / "weights" / f"{name}.safetensors"
    return path if path.is_file() else None


def _find(spec: Spec, weights: str | Path | None) -> tuple[Spec, NetworkCard, dict[str, Tensor] | None]:
    """What to build, its card, and the tensors to load: None where the network stays as it is built."""
    target = _target(spec)
    if weights is None or (weights == SHIPPED and spec.class_path in NO_WEIGHTS_NEEDED):
        return spec, NetworkCard(spec.mapping(), UNTRAINED if weights is None else "identity"), None
    if weights == SHIPPED:
        file = shipped_file(spec.class_path)
        if file is None:
            raise InputError(
                f"no weights are shipped for {spec.class_path}; give weights, or None to leave it untrained "
                f"(shipped: {', '.join(name for name in NETWORKS if shipped_file(name))})"
            )
        return spec, *_with_card(file)
    path = Path(weights).expanduser()
    if path.is_dir() or path.suffix == ".safetensors":
        return spec, *_with_card(weights_file(path))
    tensors = read_published(path)
    if target in (edsr, EDSR):
        scale = edsr_scale(tensors)
        spec = Spec(spec.class_path, ({"scale": scale} if scale else {}) | spec.init_args)
    return spec, NetworkCard(spec.mapping(), "published", origin={"file": path.name}), tensors


def _target(spec: Spec) -> Callable[..., Any]:
    """What `spec` builds; an unknown name is told before missing weights."""
    if "." not in spec.class_path and spec.class_path not in NETWORKS:
        raise InputError(f"there is no corruption network '{spec.class_path}'{did_you_mean(spec.class_path, NETWORKS)}")
    return module_target(spec, NETWORKS, "corruption network")


def _with_card(file: Path) -> tuple[NetworkCard, dict[str, Tensor]]:
    card = read_network_card(file)
    if card.checksum and card.checksum != file_checksum(file):
        raise InputError(f"{file} is not the file that its card speaks of: its checksum does not fit")
    return card, _as_floats(load_tensors(file)[0])


def file_checksum(file: Path) -> str:
    """What a card says of its weights file: SHA-256 of its bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _as_floats(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights are kept in half precision where that costs nothing; they are used in single precision."""
    return {name: value.float() if value.dtype == torch.float16 else value for name, value in tensors.items()}
