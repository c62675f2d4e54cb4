"""The space of AdA: weights of a corruption network, perturbed for each example on its own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ..errors import InputError
from ..networks.layout import channels_last_pays
from .ascent import Point, norms

Blocks = Literal["layer", "tensor"]


@dataclass(frozen=True)
class Piece:
    """One parameter of a network within a block: its name, its value phi, and its length in the block's vector."""

    name: str
    phi: Tensor

    @property
    def size(self) -> int:
        return self.phi.numel()

    def shaped(self, vectors: Tensor) -> Tensor:
        """(B, size) as (B, *shape), a view."""
        shape = self.phi.shape
        if self.phi.ndim != 4:
            return vectors.view(-1, *shape)
        # The weights of a convolution, with channels last: what grouped convolutions are fastest with on a CPU.
        return vectors.view(-1, shape[0], *shape[2:], shape[1]).permute(0, 1, 4, 2, 3)


class WeightSpace:
    """Images c_{phi + delta}(images), with one delta per example, and ||delta_i|| <= radius x ||phi_i|| per block.

    A block is a layer, the module that owns parameters, weight and bias together (the paper's "vector of parameters in
    the i-th layer"), or, with ``blocks="tensor"``, a single parameter. A point holds one (B, n_i) vector per block.
    `images` are (B, C, H, W) in [0, 1]; their dtype, float32 or float64, is that of the deltas.
    """

    def __init__(self, network: nn.Module, radius: float, images: Tensor, blocks: Blocks = "layer") -> None:
        self.network, self.images = network, images
        self.blocks = [
            [Piece(name, _plain(parameter, images)) for name, parameter in block.items()]
            for block in perturbed_blocks(network, blocks)
        ]
        moved = {piece.name for block in self.blocks for piece in block}
        state = {**dict(network.named_parameters()), **dict(network.named_buffers())}
        self.fixed = {name: _like(value.detach(), images) for name, value in state.items() if name not in moved}
        lengths = [torch.stack([piece.phi.norm() for piece in block]).norm() for block in self.blocks]
        self.radii = radius * torch.stack(lengths)  # nu ||phi_i||

    def start(self, seeds: Sequence[int]) -> Point:
        """r ~ U(0, nu ||phi_i||) and a uniform direction, for each example and block: first all r, then all
        directions, block by block."""
        count, sizes = len(seeds), [sum(piece.size for piece in block) for block in self.blocks]
        lengths = self.radii.new_empty(count, len(sizes))
        vectors = self.radii.new_empty(count, sum(sizes))
        for row, seed in enumerate(seeds):
            generator = torch.Generator(vectors.device).manual_seed(seed)
            lengths[row].uniform_(generator=generator)
            vectors[row].normal_(generator=generator)
        lengths *= self.radii
        point = list(torch.split(vectors, sizes, dim=1))
        for block, length in zip(point, lengths.unbind(1), strict=True):
            block.mul_(length[:, None] / norms(block))
        return point

    def apply(self, point: Point) -> Tensor:
        weights = {
            piece.name: self._laid_out(piece.phi + piece.shaped(vectors))
            for block, delta in zip(self.blocks, point, strict=True)
            for piece, vectors in zip(block, torch.split(delta, [piece.size for piece in block], dim=1), strict=True)
        }
        return self._forward(weights).to(self.images.dtype).clamp(0, 1)

    def project(self, point: Point) -> Point:
        """Each block onto its own ball, in place; what lies inside stays, bit for bit."""
        for block, radius in zip(point, self.radii, strict=True):
            block.mul_((radius / norms(block).clamp_min(torch.finfo(block.dtype).tiny)).clamp(max=1))
        return point

    def _laid_out(self, weights: Tensor) -> Tensor:
        return weights if channels_last_pays(self.images) else weights.contiguous()

    def _forward(self, weights: dict[str, Tensor]) -> Tensor:
        if len(self.images) == 1:  # a plain call is faster, and every module can take it
            return self._each(weights)
        try:
            images: Tensor = vmap(self._corrupt, randomness="different")(weights, self.images)
            return images
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # a module that looks at values, say
            images = self._each(weights)
            name, reason = type(self.network).__name__, str(error).splitlines()[0]
            warnings.warn(f"{name} takes one example at a time, which is slow: vmap says '{reason}'", stacklevel=2)
            return images

    def _each(self, weights: dict[str, Tensor]) -> Tensor:
        """One example after the other."""
        own = zip(*(values.unbind() for values in weights.values()), strict=True)
        pairs = zip(own, self.images, strict=True)
        return torch.stack([self._corrupt(dict(zip(weights, values, strict=True)), image) for values, image in pairs])

    def _corrupt(self, weights: dict[str, Tensor], image: Tensor) -> Tensor:
        """One example through its own network; vmap makes grouped convolutions of it."""
        with autocasting(image.device.type):
            corrupted = functional_call(self.network, {**self.fixed, **weights}, (image[None],))
        if not isinstance(corrupted, Tensor) or corrupted.shape[1:] != image.shape:
            came = tuple(corrupted.shape[1:]) if isinstance(corrupted, Tensor) else type(corrupted).__name__
            raise InputError(
                f"a corruption network keeps the shape of images; {type(self.network).__name__} made {came} of "
                f"{tuple(image.shape)}"
            )
        return corrupted[0]


def perturbed_blocks(network: nn.Module, blocks: Blocks) -> list[dict[str, nn.Parameter]]:
    """The parameters that an adversary may change, block by block.

    Those that the network names in `perturbed_parameters()`, otherwise all that require a gradient.
    """
    parameters = dict(network.named_parameters())
    chosen: Any = getattr(network, "perturbed_parameters", None)
    names = list(chosen()) if chosen else [name for name, value in parameters.items() if value.requires_grad]
    if not names:
        raise InputError(f"{type(network).__name__} has no parameters that require a gradient, so none to perturb")
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


def _plain(parameter: nn.Parameter, images: Tensor) -> Tensor:
    """The value of a parameter, in the images' precision and in the layout that `Piece.shaped` gives to deltas."""
    value = _like(parameter.detach(), images)
    return value.contiguous(memory_format=torch.channels_last) if value.ndim == 4 else value.contiguous()


def _like(value: Tensor, images: Tensor) -> Tensor:
    return value.to(images) if value.is_floating_point() else value.to(images.device)
