"""Other weights for every example, in one pass: what per-example perturbations and distortions of a network share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ..errors import InputError

Blocks = Literal["layer", "tensor"]
Weights = dict[str, Tensor]


def each(function: Callable[[Weights, Tensor], Tensor], weights: Weights, inputs: Tensor, network: nn.Module) -> Tensor:
    """``function(own weights, own input)`` for every example, stacked; `weights` and `inputs` begin with a dimension of
    examples. vmap makes grouped convolutions of it; what vmap cannot take, `network` is named for in a warning, goes
    one example after the other."""
    if len(inputs) == 1:  # a plain call is faster, and every module can take it
        return _one_by_one(function, weights, inputs)
    try:
        outputs: Tensor = vmap(function, randomness="different")(weights, inputs)
        return outputs
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:  # a module that looks at values, say
        outputs = _one_by_one(function, weights, inputs)
        name, reason = type(network).__name__, str(error).splitlines()[0]
        warnings.warn(f"{name} takes one example at a time, which is slow: vmap says '{reason}'", stacklevel=2)
        return outputs


def _one_by_one(function: Callable[[Weights, Tensor], Tensor], weights: Weights, inputs: Tensor) -> Tensor:
    own = [
        dict(zip(weights, values, strict=True))
        for values in zip(*(values.unbind() for values in weights.values()), strict=True)
    ] or [{} for _ in inputs]
    return torch.stack([function(mine, one) for mine, one in zip(own, inputs, strict=True)])


def within_transform() -> bool:
    """Whether a transform of torch.func (vmap, grad and so on) is calling: then no module's state may change."""
    if torch.compiler.is_compiling():  # which takes any answer of the next line for yes
        return False
    return torch._C._functorch.peek_interpreter_stack() is not None


def corrupt_one(network: nn.Module, weights: Weights, image: Tensor) -> Tensor:
    """One image (C, H, W) through the network with these parameters and buffers; `each` may call it."""
    with autocasting(image.device.type):
        corrupted = functional_call(network, weights, (image[None],))
    if not isinstance(corrupted, Tensor) or corrupted.shape[1:] != image.shape:
        came = tuple(corrupted.shape[1:]) if isinstance(corrupted, Tensor) else type(corrupted).__name__
        raise InputError(
            f"a corruption network keeps the shape of images; {type(network).__name__} made {came} of "
            f"{tuple(image.shape)}"
        )
    return corrupted[0]


def perturbed_blocks(network: nn.Module, blocks: Blocks) -> list[dict[str, nn.Parameter]]:
    """The parameters that may change, block by block.

    Those that the network names in `perturbed_parameters()`, otherwise all that require a gradient; or all there are,
    where none does, since a pre-trained network is often frozen.
    """
    parameters = dict(network.named_parameters())
    chosen: Any = getattr(network, "perturbed_parameters", None)
    names = list(chosen()) if chosen else [name for name, value in parameters.items() if value.requires_grad]
    names = names or [name for name, value in parameters.items() if value.is_floating_point()]
    if not names:
        raise InputError(f"{type(network).__name__} has no parameters, so none to perturb")
    found: dict[str, dict[str, nn.Parameter]] = {}
    for name in names:
        owner = name.rpartition(".")[0] if blocks == "layer" else name
        found.setdefault(owner, {})[name] = parameters[name]
    return list(found.values())


class autocasting(TorchFunctionMode):  # noqa: N801  it is used like torch.autocast
    """The caller's autocast inside vmap, where torch's own has no effect: convolutions and products of matrices run in
    the lower precision, normalisation in float32, everything else in what it is given."""

    LOW = frozenset(
        {
            torch.conv1d, torch.conv2d, torch.conv3d, torch.conv_transpose1d, torch.conv_transpose2d,
            torch.conv_transpose3d, torch.matmul, torch.mm, torch.bmm, torch.addmm, torch.baddbmm, torch.Tensor.matmul,
            torch.Tensor.__matmul__, functional.linear,
        }
    )  # fmt: skip
    FULL = frozenset({functional.batch_norm, functional.group_norm, functional.instance_norm, functional.layer_norm})

    def __init__(self, device_type: str) -> None:
        super().__init__()
        self.device_type = device_type

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.LOW and torch.is_autocast_enabled(self.device_type):  # a network may switch it off for a while
            return self._run(func, torch.float32, torch.get_autocast_dtype(self.device_type), args, kwargs)
        if func in self.FULL and torch.is_autocast_enabled(self.device_type):
            return self._run(func, torch.get_autocast_dtype(self.device_type), torch.float32, args, kwargs)
        return func(*args, **kwargs)

    def _run(self, func: Any, source: torch.dtype, target: torch.dtype, args: Any, kwargs: Any) -> Any:
        def cast(value: Any) -> Any:
            return value.to(target) if isinstance(value, Tensor) and value.dtype == source else value

        return func(*map(cast, args), **{name: cast(value) for name, value in kwargs.items()})
