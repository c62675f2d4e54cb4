"""From what a recipe or a card says to a module with weights; the same for classifiers and corruption networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..files import read_json
from ..specs import Spec, construct, returns

WEIGHTS, CARD = "model.safetensors", "model.json"


def module_target(spec: Spec, known: Mapping[str, Callable[..., nn.Module]], where: str) -> Callable[..., Any]:
    """The class or function that `spec` means; refused where it does not say that it gives a module."""
    target = spec.target(known, where)
    if not returns(target, nn.Module):
        raise InputError(
            f"{where}: {spec.class_path} is neither an nn.Module nor a function annotated to return one (-> nn.Module)"
        )
    return target


def build_module(
    spec: Spec, known: Mapping[str, Callable[..., nn.Module]], where: str, what: str = "classifier"
) -> nn.Module:
    """The module that `spec` describes, with fresh weights from the global generator; `what` is for sentences."""
    target = module_target(spec, known, where)
    if _names_a_class(spec.init_args):
        raise InputError(f"{where}: the arguments of a {what} are plain values; got a class_path among them")
    try:
        module = construct(target, spec.init_args, where)
    except InputError as error:  # of an argument's type, which says where, or of the module itself
        raise InputError(str(error) if str(error).startswith(where) else f"{where}: {error}") from error
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"{where}: cannot build {spec.class_path} with {spec.init_args} ({error})") from error
    if not isinstance(module, nn.Module):
        raise InputError(f"{where}: {spec.class_path} gave a {type(module).__name__}, not an nn.Module")
    return module


def built_untouched(build: Callable[[], nn.Module]) -> nn.Module:
    """What `build` gives; fresh weights are drawn and thrown away, so the caller's draws stay theirs."""
    with torch.random.fork_rng(devices=[]):
        return build()


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], name: str) -> None:
    """``load_state_dict``, with one sentence that names every key of another architecture or that is not finite."""
    faults = _faults(module.state_dict(), weights)
    if faults:
        raise InputError(f"{name} holds another architecture than {type(module).__name__}: it {'; it '.join(faults)}")
    broken = sorted(key for key, tensor in weights.items() if not bool(tensor.isfinite().all()))
    if broken:
        raise InputError(
            f"{name} is of no use: {', '.join(broken)} hold{'s' * (len(broken) == 1)} values that are infinite or NaN"
        )
    module.load_state_dict(weights)


def _faults(wanted: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> list[str]:
    """In what `weights` differ from a state dict of the architecture that is wanted, every key named."""
    missing, extra = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
    faults = [f"lacks {', '.join(missing)}"] if missing else []
    faults += [f"has {', '.join(extra)} besides"] if extra else []
    pairs = [(key, weights[key], wanted[key]) for key in sorted(wanted.keys() & weights.keys())]
    faults += [
        f"has {key} of shape {tuple(came.shape)} instead of {tuple(want.shape)}"
        for key, came, want in pairs
        if came.shape != want.shape
    ]
    return faults + [
        f"has {key} as {came.dtype} instead of {want.dtype}"
        for key, came, want in pairs
        if came.dtype.is_floating_point != want.dtype.is_floating_point
    ]


def weights_file(path: Path) -> Path:
    """The safetensors file that is meant by a run folder or by the file itself."""
    if path.is_dir():
        if not (path / WEIGHTS).is_file():
            raise InputError(f"{path} holds no {WEIGHTS}; a run has one from the end of its first epoch on")
        return path / WEIGHTS
    if not path.exists():
        raise InputError(f"there is no run folder or model file {path}")
    if path.suffix != ".safetensors":
        raise InputError(f"{path} is not a run folder or a .safetensors file; other formats are not unpickled")
    return path


def read_card(path: Path, kind: type[Any], what: str) -> Any:
    """The card in a JSON file, as a `kind`."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a {what}'s card: it holds a {type(content).__name__}")
    try:
        return construct(kind, content, str(path))
    except InputError as error:  # of an entry's type, which says where, or of its value
        raise InputError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from error


def plain(value: Any) -> Any:
    """Tuples as the lists that JSON makes of them."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def _names_a_class(value: Any) -> bool:
    """Whether there is a class_path inside: a card must not reach other code than the module that it names."""
    if isinstance(value, Mapping):
        return "class_path" in value or any(_names_a_class(entry) for entry in value.values())
    return isinstance(value, list | tuple) and any(_names_a_class(entry) for entry in value)
