"""Algorithm 1 of the paper (appendix A) for one example, as slow and as plain as it is printed."""

from __future__ import annotations

import copy
import statistics

import torch
from torch import Tensor, nn
from torch.nn import functional


def algorithm_1(
    classifier: nn.Module, network: nn.Module, image: Tensor, label: int, radius: float, steps: int, rule: str,
    seed: int, blocks: str = "layer",
) -> Tensor:  # fmt: skip
    """x' before the guard, (C, H, W), in the image's precision; `classifier` and `network` are copied."""
    classifier, network = (copy.deepcopy(module).to(image.dtype).eval() for module in (classifier, network))
    names: dict[str, list[str]] = {}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            names.setdefault(name.rsplit(".", 1)[0] if blocks == "layer" else name, []).append(name)
    phi = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    radii = {block: radius * length([phi[name] for name in own]) for block, own in names.items()}
    delta = start(names, phi, radii, seed)
    eta = 0.25 * statistics.median(radii.values()) * 10 / max(steps, 1)

    def corrupted() -> Tensor:
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(phi[name] + delta[name] if name in delta else phi[name])
        made: Tensor = network(image[None]).clamp(0, 1)
        return made

    for _ in range(steps):
        network.zero_grad()
        functional.cross_entropy(classifier(corrupted()), torch.tensor([label])).backward()  # type: ignore[no-untyped-call]
        parameters = dict(network.named_parameters())
        for block, own in names.items():
            slopes = {name: parameters[name].grad for name in own}
            steepness = length(list(slopes.values()))  # type: ignore[arg-type]
            for name in own:
                slope = slopes[name]
                assert slope is not None
                if rule == "sign":
                    delta[name] = delta[name] + eta * torch.sign(slope)
                elif steepness > 0:
                    delta[name] = delta[name] + radii[block] * slope / steepness
            reach = length([delta[name] for name in own])
            if reach > radii[block]:
                for name in own:
                    delta[name] = delta[name] / reach * radii[block]
    return corrupted()[0].detach()


def start(names: dict[str, list[str]], phi: dict[str, Tensor], radii: dict[str, float], seed: int) -> dict[str, Tensor]:
    """For each block r ~ U(0, radius) and a uniform direction: one draw for all r, one for all directions."""
    dtype = next(iter(phi.values())).dtype
    total = sum(phi[name].numel() for own in names.values() for name in own)
    generator = torch.Generator().manual_seed(seed)
    shares = torch.empty(len(names), dtype=dtype).uniform_(generator=generator)
    normals = torch.empty(total, dtype=dtype).normal_(generator=generator)
    delta, place = {}, 0
    for share, (block, own) in zip(shares, names.items(), strict=True):
        for name in own:
            values = normals[place : place + phi[name].numel()]
            place += phi[name].numel()
            shape = phi[name].shape
            delta[name] = values.view(shape) if len(shape) != 4 else channels_first(values, shape)
        reach = length([delta[name] for name in own])
        for name in own:
            delta[name] = delta[name] / reach * (share * radii[block])
    return delta


def channels_first(values: Tensor, shape: torch.Size) -> Tensor:
    """The weights of a convolution are drawn with the channels last."""
    outputs, inputs, height, width = shape
    return values.view(outputs, height, width, inputs).permute(0, 3, 1, 2)


def length(tensors: list[Tensor]) -> float:
    """The norm of the vector that they make together."""
    return float(torch.cat([tensor.reshape(-1) for tensor in tensors]).norm())
