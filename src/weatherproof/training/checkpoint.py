"""The state of a training between two steps, in one file: it is replaced whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..files import load_tensors, save_tensors


@dataclass
class Position:
    """How far a training has come: epochs done, steps done in the next one, and what that one has added up."""

    epoch: int = 0
    step: int = 0
    seconds: float = 0.0
    totals: dict[str, Tensor] = field(default_factory=dict)


def save_state(
    file: Path,
    position: Position,
    modules: dict[str, nn.Module],
    optimizer: torch.optim.Optimizer,
    precision: dict[str, Any],
    note: dict[str, Any],
) -> None:
    """Write everything that `load_state` needs to go on bit for bit; `note` is JSON for the caller."""
    tensors = {f"{name}/{key}": value for name, module in modules.items() for key, value in module.state_dict().items()}
    tensors |= {f"totals/{key}": value for key, value in position.totals.items()}
    scalars: dict[str, Any] = {}
    for number, entries in optimizer.state_dict()["state"].items():
        for key, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer/{number}/{key}"] = value
            elif value is not None:
                scalars[f"{number}/{key}"] = value
    state = {"epoch": position.epoch, "step": position.step, "seconds": position.seconds, "optimizer": scalars}
    save_tensors(file, tensors, {"state": json.dumps({**state, "precision": precision, "note": note})})


def read_note(file: Path) -> dict[str, Any]:
    """The caller's note in a state file."""
    note: dict[str, Any] = _state(file)[1]["note"]
    return note


def load_state(
    file: Path, modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> tuple[Position, dict[str, Any]]:
    """Put modules and optimizer into the saved state; returns the position and the precision plugin's state."""
    tensors, state = _state(file)
    sections: dict[str, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        section, _, key = name.partition("/")
        sections.setdefault(section, {})[key] = value
    for name, module in modules.items():
        try:
            module.load_state_dict(sections.get(name, {}))
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{file} does not fit the classifier of the recipe ({reason[:200]})") from error
    try:
        _restore_optimizer(optimizer, sections.get("optimizer", {}), state["optimizer"])
    except (RuntimeError, IndexError, ValueError) as error:
        raise InputError(f"{file} does not fit the optimizer of the recipe ({error})") from error
    device = optimizer.param_groups[0]["params"][0].device
    totals = {key: value.to(device) for key, value in sections.get("totals", {}).items()}
    return Position(state["epoch"], state["step"], state["seconds"], totals), state["precision"]


def _state(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, note = load_tensors(file)
    try:
        state = json.loads(note["state"])
        whole = {"epoch", "step", "seconds", "optimizer", "precision", "note"} <= state.keys()
    except (KeyError, ValueError, AttributeError) as error:
        raise InputError(f"{file} is not the state of a run") from error
    if not (whole and all(type(state[key]) is int and state[key] >= 0 for key in ("epoch", "step"))):
        raise InputError(f"{file} is not the state of a run: it does not say how far the training has come")
    return tensors, state


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], scalars: dict[str, Any]) -> None:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    entries: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        number, _, key = name.partition("/")
        like = parameters[int(number)]
        # A copy in the parameter's own memory layout: the update then adds up in the same order as before.
        entries.setdefault(int(number), {})[key] = (
            torch.empty_like(like).copy_(value) if value.ndim == like.ndim else value
        )
    for name, value in scalars.items():
        number, _, key = name.partition("/")
        entries.setdefault(int(number), {})[key] = value
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})
