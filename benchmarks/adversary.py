"""AdversarialAugment against the same method as a loop over examples, and against the passes that it cannot do without.

python -m benchmarks adversary
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional

from weatherproof import AdversarialAugment, SSIMGuard, classifier, corruption_network
from weatherproof.data import ArrayImages, open_data
from weatherproof.images import to_unit

from .timing import Row, side_by_side

RADIUS = 0.015


def rows() -> list[Row]:
    """Each promise of the method's speed, precision and memory; some three minutes on one core."""
    images, labels = photographs(128)
    model = trained(images, labels)
    desk, full = corruption_network("edsr_desk"), corruption_network("edsr")
    return [
        *(against_a_loop("small EDSR, 128 images", model, desk, images, labels, 1 / 4, low) for low in (False, True)),
        *(against_a_loop("EDSR, 8 images", model, full, images[:8], labels[:8], 1 / 1.3, low) for low in (False, True)),
        *(against_its_passes(rule, steps, model, desk, images, labels) for rule, steps in RULES),
        *of_the_guard(model, desk, images, labels),
        *in_low_precision(desk, images, labels),
        *of_memory(),
    ]


RULES = (("sign", 10), ("normalized", 1))


def against_a_loop(
    name: str, model: nn.Module, network: nn.Module, images: Tensor, labels: Tensor, at_most: float, low: bool
) -> Row:
    """Ten steps of the paper's rule; both in bfloat16 where `low`, as the small recipes train."""
    ada = AdversarialAugment(network, RADIUS, steps=10, guard=None)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low):
        ours, theirs = side_by_side(
            lambda: ada(model, images, labels, torch.Generator().manual_seed(0)),
            lambda: per_example(model, network, images, labels, 10),
            repeats=2,
        )
    precision = "bfloat16" if low else "float32"
    return Row(f"10 steps, {name}, {precision}: ada / a loop over examples", ours, theirs, at_most)


def per_example(model: nn.Module, network: nn.Module, images: Tensor, labels: Tensor, steps: int) -> Tensor:
    """Algorithm 1 of the paper as one writes it: one example after the other, and functional_call."""
    phi = {name: parameter.detach() for name, parameter in network.named_parameters()}
    layers: dict[str, list[str]] = {}
    for name in phi:
        layers.setdefault(name.rpartition(".")[0], []).append(name)

    def length(tensors: dict[str, Tensor], names: list[str]) -> Tensor:
        return torch.stack([tensors[name].norm() for name in names]).norm()

    radii = {layer: RADIUS * length(phi, names) for layer, names in layers.items()}
    model.eval()
    eta = 0.25 * torch.stack(list(radii.values())).median() * 10 / steps
    found = []
    for image, label in zip(images.split(1), labels.split(1), strict=True):
        delta = {name: torch.randn_like(value) for name, value in phi.items()}
        for layer, names in layers.items():
            factor = torch.rand(()) * radii[layer] / length(delta, names)
            for name in names:
                delta[name] *= factor
        for _ in range(steps):
            leaves = {name: value.requires_grad_() for name, value in delta.items()}
            corrupted = functional_call(network, {name: phi[name] + leaves[name] for name in phi}, (image,))
            loss = functional.cross_entropy(model(corrupted), label)
            slopes = torch.autograd.grad(loss, list(leaves.values()))
            with torch.no_grad():
                delta = {
                    name: leaf + eta * slope.sign() for (name, leaf), slope in zip(leaves.items(), slopes, strict=True)
                }
                for layer, names in layers.items():
                    factor = (radii[layer] / length(delta, names)).clamp(max=1)
                    for name in names:
                        delta[name] = delta[name] * factor
        with torch.no_grad():
            found.append(functional_call(network, {name: phi[name] + delta[name] for name in phi}, (image,)))
    model.train()
    return torch.cat(found)


def against_its_passes(
    rule: str, steps: int, model: nn.Module, network: nn.Module, images: Tensor, labels: Tensor
) -> Row:
    """A training step with ada, guard and measurements included, against M passes forward and backward of the network
    and of the classifier (down to its input), one last forward pass, and a training step without ada."""
    ada = AdversarialAugment(network, RADIUS, steps=steps, rule=rule)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)

    def whole_step() -> None:
        attack = ada.attack(model, images, labels, torch.Generator().manual_seed(0))
        training_step(model, attack.images, labels, optimizer)

    parts = [images[i : i + 22] for i in range(0, 128, 22)]  # as many as ada takes at a time

    def passes() -> None:
        for part in parts:
            for _ in range(steps):
                network_pass(network, part)
                classifier_pass(model, part)
            with torch.no_grad():
                network_pass(network, part)
        training_step(model, images, labels, optimizer)

    ours, theirs = side_by_side(whole_step, passes, repeats=3)
    return Row(f"training step, {rule} x {steps}: with ada / its passes", ours, theirs, 1.15)


def network_pass(network: nn.Module, images: Tensor) -> None:
    """Forward, and backward down to the weights of each example."""
    weights = {name: _copies(parameter.detach(), len(images)) for name, parameter in network.named_parameters()}
    if torch.is_grad_enabled():
        weights = {name: value.requires_grad_() for name, value in weights.items()}

    def forward(weights: dict[str, Tensor], image: Tensor) -> Tensor:
        corrupted: Tensor = functional_call(network, weights, (image[None],))
        return corrupted[0]

    corrupted = vmap(forward)(weights, images)
    if torch.is_grad_enabled():
        torch.autograd.grad(corrupted.sum(), list(weights.values()))


def _copies(value: Tensor, count: int) -> Tensor:
    """Of one parameter; convolutions with channels last, which is fastest."""
    if value.ndim != 4:
        return torch.stack([value] * count)
    return torch.stack([value.permute(0, 2, 3, 1)] * count).permute(0, 1, 4, 2, 3)


def classifier_pass(model: nn.Module, images: Tensor) -> None:
    """Forward, and backward down to the images."""
    model.eval()
    images = images.clone().requires_grad_()
    torch.autograd.grad(model(images).logsumexp(dim=1).sum(), images)
    model.train()


def training_step(model: nn.Module, images: Tensor, labels: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """What one does without an adversary."""
    functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    optimizer.zero_grad()


def of_the_guard(model: nn.Module, network: nn.Module, images: Tensor, labels: Tensor) -> list[Row]:
    """Its share of a step, as the attack itself measures it."""
    found = []
    for rule, steps in RULES:
        ada = AdversarialAugment(network, RADIUS, steps=steps, rule=rule, guard=SSIMGuard(0.3))
        attacks = [ada.attack(model, images, labels, torch.Generator().manual_seed(seed)) for seed in range(4)][1:]
        guard = min(attack.seconds["guard"] for attack in attacks)
        whole = min(sum(attack.seconds.values()) for attack in attacks)
        guarded = attacks[0].metrics["guarded"].item()
        found.append(Row(f"guard / an attack, {rule} x {steps}, {guarded:.0%} guarded", guard, whole, 0.03))
    return found


def in_low_precision(network: nn.Module, images: Tensor, labels: Tensor) -> list[Row]:
    """bfloat16 against float32: time, and the inner loss that is reached."""
    ada, model = AdversarialAugment(network, RADIUS, steps=10, guard=None), trained(images, labels)

    def attacked(low: bool) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low):
            attack = ada.attack(model, images, labels, torch.Generator().manual_seed(0))
        return attack.metrics["loss_after"]

    ours, theirs = side_by_side(partial(attacked, True), partial(attacked, False), repeats=2)
    low, full = float(attacked(True)), float(attacked(False))
    return [
        Row("10 steps: bfloat16 / float32", ours, theirs, 1 / 1.3),
        Row(f"inner loss, {low:.3f} and {full:.3f}: off by", abs(low - full), full, 0.02, unit=""),
    ]


def of_memory() -> list[Row]:
    """Peak memory above what the networks and images take, in a process of its own: EDSR, chunks of eight."""
    small, large = (_peak(count) for count in (128, 1024))
    return [
        Row("peak memory, EDSR, chunk 8, 128 images / 800 MB", small, 800, 1.0, unit="MB"),
        Row("peak memory: 1,024 images / 128 images", large, small, 1.1, unit="MB"),
    ]


def _peak(count: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", f"from benchmarks.adversary import peak; peak({count})"],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def peak(count: int) -> None:
    """Prints the MB that one step on `count` images needs."""
    model, network = classifier("resnet_small"), corruption_network("edsr")
    images, labels = torch.rand(count, 3, 32, 32), torch.zeros(count, dtype=torch.int64)
    # What every call needs once, libraries above all, is not the method's.
    AdversarialAugment(network, RADIUS, steps=1, chunk=1)(model, images[:1], labels[:1])
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = _memory("VmRSS")
    AdversarialAugment(network, RADIUS, steps=1, chunk=8)(model, images, labels)
    print(_memory("VmHWM") - before)


def _memory(name: str) -> float:
    """What Linux says of this process, in MB."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1]) / 1024


def photographs(count: int) -> tuple[Tensor, Tensor]:
    """The first of the photographs that come along, shuffled."""
    train = open_data("photos10").train
    assert isinstance(train.images, ArrayImages)
    chosen = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))[:count]
    return to_unit(train.images.pixels[chosen]), train.labels[chosen]


def trained(images: Tensor, labels: Tensor) -> nn.Module:
    """A small classifier that knows these images, in the layout that training gives it."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = classifier("resnet_small").to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(20):
        training_step(model, images, labels, optimizer)
    return model.train()
