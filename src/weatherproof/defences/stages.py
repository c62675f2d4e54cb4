"""Places inside a classifier where a defence may act: its images, and the outputs of its stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..errors import InputError, did_you_mean
from ..networks.classifiers.preact_resnet import PreActResNet
from ..networks.classifiers.resnet import ResNet

INPUT = "input"

Place = tuple[str, nn.Module | None]
"""A name, and the module whose output is meant; None stands for the images."""


def stages_of(model: nn.Module, layers: tuple[str, ...] | None = None) -> list[Place]:
    """The places that `layers` names; by default the images, and all stages but the last of a classifier of ours.

    Where the model is wrapped for several devices or for a precision, names are those of the module inside.
    """
    places = _own_stages(model) if layers is None else [_place(model, name) for name in layers]
    if any(stage is not None for _, stage in places) and any(hasattr(part, "_orig_mod") for part in model.modules()):
        # torch.compile takes hooks into what it compiles, and keeps to it when they have changed or are gone.
        raise InputError("the outputs of a compiled network's stages cannot be changed; "
                         "set training.compile to false, or the defence's layers to [input]")  # fmt: skip
    return places


def _own_stages(model: nn.Module) -> list[Place]:
    ours = [part for part in model.modules() if isinstance(part, (PreActResNet, ResNet))]
    if len(ours) != 1:
        return [(INPUT, None)]
    (network,) = ours
    if isinstance(network, ResNet):
        stages = {f"layer{i}": getattr(network, f"layer{i}") for i in (1, 2, 3, 4)}
    else:
        stages = {f"stages.{name}": stage for name, stage in network.stages.named_children()}
    return [(INPUT, None), *list(stages.items())[:-1]]


def _place(model: nn.Module, name: str) -> Place:
    if name == INPUT:
        return INPUT, None
    while hasattr(model, "_forward_module") or isinstance(model, DistributedDataParallel):  # Fabric's wrapper, torch's
        model = cast(nn.Module, model.module)
    modules = dict(model.named_modules())
    if not name or name not in modules:
        known = {INPUT, *modules} - {""}
        raise InputError(f"{type(model).__name__} has no layer '{name}'{did_you_mean(name, known)}")
    return name, modules[name]


@contextmanager
def changed_output(stage: nn.Module, change: Callable[[Tensor], Tensor], name: str, count: int) -> Iterator[None]:
    """Within, `stage` gives ``change(output)``; afterwards it is as before, however one leaves.

    Refuses a stage that does not give one tensor of `count` examples, once.
    """
    calls = 0

    def hook(module: nn.Module, inputs: Any, output: Any) -> Tensor:
        nonlocal calls
        calls += 1
        if not isinstance(output, Tensor) or output.ndim < 2 or len(output) != count:
            came = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
            raise InputError(f"layer '{name}': got {came}; wanted one tensor with the batch of {count} first")
        return change(output)

    handle = stage.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
    if calls != 1:
        raise InputError(f"layer '{name}' ran {calls} times in a forward pass; wanted one that runs once")
