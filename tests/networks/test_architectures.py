"""The classifiers: their published sizes, torchvision's names, and the same numbers as a forward written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from weatherproof.errors import InputError
from weatherproof.networks.classifiers import CLASSIFIERS, classifier

SMALL = ["resnet_small", "preact_resnet18", "resnet18", "wide_resnet_40_2"]
State = dict[str, Tensor]


def parameters(name: str, **options: Any) -> int:
    return sum(weight.numel() for weight in classifier(name, **options).parameters())


@pytest.mark.parametrize(
    ("name", "classes", "count"),
    [
        ("preact_resnet18", 10, 11_172_170),
        ("preact_resnet50", 10, 23_513_162),
        ("preact_resnet50", 100, 23_697_572),
        ("resnet18", 1000, 11_689_512),
        ("resnet50", 1000, 25_557_032),
        ("wide_resnet_40_2", 10, 2_243_546),
        ("wide_resnet_28_10", 10, 36_479_194),
        ("wide_resnet_28_10", 100, 36_536_884),
    ],
)
def test_parameters(name: str, classes: int, count: int) -> None:
    assert parameters(name, classes=classes) == count


def test_the_small_one_is_small() -> None:
    assert 250_000 < parameters("resnet_small") < 350_000
    assert parameters("resnet_small", width=8) < 100_000


def test_default_classes() -> None:
    assert parameters("preact_resnet50") == parameters("preact_resnet50", classes=10)
    assert parameters("resnet50") == parameters("resnet50", classes=1000)


def torchvision_names(depths: tuple[int, ...], convolutions: int) -> Iterator[str]:
    """The keys of torchvision's ResNet state dicts, by its naming rules, in its order."""

    def norm(name: str) -> Iterator[str]:
        return (f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"))

    yield "conv1.weight"
    yield from norm("bn1")
    for stage, depth in enumerate(depths, start=1):
        for block in range(depth):
            place = f"layer{stage}.{block}"
            for i in range(1, convolutions + 1):
                yield f"{place}.conv{i}.weight"
                yield from norm(f"{place}.bn{i}")
            # Where the shape changes: at each stage's first block, but the basic block's first stage keeps 64 channels.
            if block == 0 and (stage > 1 or convolutions == 3):
                yield f"{place}.downsample.0.weight"
                yield from norm(f"{place}.downsample.1")
    yield from ("fc.weight", "fc.bias")


@pytest.mark.parametrize(
    ("name", "depths", "convolutions", "count"),
    [("resnet18", (2, 2, 2, 2), 2, 122), ("resnet50", (3, 4, 6, 3), 3, 320)],
)
def test_names_are_torchvisions(name: str, depths: tuple[int, ...], convolutions: int, count: int) -> None:
    state = classifier(name).state_dict()
    expected = list(torchvision_names(depths, convolutions))
    assert len(expected) == count
    assert list(state) == expected
    shapes = {
        "resnet18": {"layer2.0.downsample.0.weight": (128, 64, 1, 1), "fc.weight": (1000, 512)},
        "resnet50": {
            "layer1.0.downsample.0.weight": (256, 64, 1, 1),
            "layer4.2.conv3.weight": (2048, 512, 1, 1),
            "fc.weight": (1000, 2048),
        },
    }[name]
    assert {key: tuple(state[key].shape) for key in shapes} == shapes


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("name", SMALL)
def test_grey_images_and_two_classes(name: str, size: int) -> None:
    module = classifier(name, classes=2, channels=1).eval()
    with torch.inference_mode():
        logits = module(torch.rand(3, 1, size, size))
    assert logits.shape == (3, 2) and bool(torch.isfinite(logits).all())


@pytest.mark.parametrize("name", ["resnet_small", "preact_resnet50", "wide_resnet_28_10", "resnet50"])
def test_every_parameter_gets_a_gradient(name: str) -> None:
    if name == "wide_resnet_28_10":
        from weatherproof.networks.classifiers.normalise import normaliser
        from weatherproof.networks.classifiers.preact_resnet import _wide_resnet

        module = _wide_resnet(4, 1, normaliser(3, None, None), 3, 10)  # the same code, a hundredth of the work
    else:
        module = classifier(name, classes=4)
    functional.cross_entropy(module(torch.rand(4, 3, 32, 32)), torch.arange(4)).backward()
    assert [name for name, weight in module.named_parameters() if weight.grad is None or not weight.grad.any()] == []


@pytest.mark.parametrize("name", SMALL)
def test_normalisation_is_inside_but_not_in_the_state_dict(name: str) -> None:
    """Equal weights: raw images in a network that normalises give what normalised images give in one that does not."""
    mean, std = (0.4, 0.5, 0.6), (0.2, 0.25, 0.5)
    inside = classifier(name, classes=3, mean=mean, std=std).eval()
    outside = classifier(name, classes=3, mean=[0, 0, 0], std=[1, 1, 1]).eval()
    assert not [key for key in inside.state_dict() if "normalise" in key]
    outside.load_state_dict(inside.state_dict())
    images = torch.rand(2, 3, 32, 32)
    normalised = (images - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    with torch.inference_mode():
        assert torch.allclose(inside(images), outside(normalised), atol=1e-4)
        assert not torch.allclose(inside(images), outside(images), atol=1e-3)


def test_without_statistics_images_are_brought_to_minus_one_to_one() -> None:
    normalise = classifier("resnet_small").normalise
    assert isinstance(normalise, nn.Module)
    assert normalise(torch.tensor([0.0, 0.5, 1.0]).view(1, 3, 1, 1)).flatten().tolist() == [-1, 0, 1]


def relu_norm(state: State, name: str, x: Tensor) -> Tensor:
    mean, var = state[f"{name}.running_mean"], state[f"{name}.running_var"]
    return functional.relu(functional.batch_norm(x, mean, var, state[f"{name}.weight"], state[f"{name}.bias"]))


def basic_block(state: State, place: str, x: Tensor, stride: int) -> Tensor:
    """PreActResNet-18's block: its projection sees the raw input."""
    shortcut = x
    if f"{place}.shortcut.weight" in state:
        shortcut = functional.conv2d(x, state[f"{place}.shortcut.weight"], stride=stride)
    y = relu_norm(state, f"{place}.norm1", x)
    y = functional.conv2d(y, state[f"{place}.conv1.weight"], stride=stride, padding=1)
    y = relu_norm(state, f"{place}.norm2", y)
    return functional.conv2d(y, state[f"{place}.conv2.weight"], padding=1) + shortcut


def wide_block(state: State, place: str, x: Tensor, stride: int) -> Tensor:
    """WideResNet's block: its projection sees the pre-activated input."""
    active = relu_norm(state, f"{place}.norm1", x)
    shortcut = x
    if f"{place}.shortcut.weight" in state:
        shortcut = functional.conv2d(active, state[f"{place}.shortcut.weight"], stride=stride)
    y = functional.conv2d(active, state[f"{place}.conv1.weight"], stride=stride, padding=1)
    y = relu_norm(state, f"{place}.norm2", y)
    return functional.conv2d(y, state[f"{place}.conv2.weight"], padding=1) + shortcut


def bottleneck(state: State, place: str, x: Tensor, stride: int) -> Tensor:
    """The bottleneck: its projection sees the pre-activated input; the 3x3 convolution has the stride."""
    active = relu_norm(state, f"{place}.norm1", x)
    shortcut = x
    if f"{place}.shortcut.weight" in state:
        shortcut = functional.conv2d(active, state[f"{place}.shortcut.weight"], stride=stride)
    y = functional.conv2d(active, state[f"{place}.conv1.weight"])
    y = relu_norm(state, f"{place}.norm2", y)
    y = functional.conv2d(y, state[f"{place}.conv2.weight"], stride=stride, padding=1)
    y = relu_norm(state, f"{place}.norm3", y)
    return functional.conv2d(y, state[f"{place}.conv3.weight"]) + shortcut


Block = Callable[[State, str, Tensor, int], Tensor]


def written_out(state: State, block: Block, plan: list[tuple[int, int]], images: Tensor) -> Tensor:
    """Stem; blocks, `plan` holding depth and first stride of each stage; final BN and ReLU; pooling; linear layer."""
    x = functional.conv2d((images - 0.5) / 0.5, state["stem.weight"], padding=1)
    for stage, (depth, stride) in enumerate(plan):
        for i in range(depth):
            x = block(state, f"stages.{stage}.{i}", x, stride if i == 0 else 1)
    x = functional.adaptive_avg_pool2d(relu_norm(state, "norm", x), 1).flatten(1)
    return functional.linear(x, state["head.weight"], state["head.bias"])


def torchvision_norm(state: State, name: str, x: Tensor) -> Tensor:
    mean, var = state[f"{name}.running_mean"], state[f"{name}.running_var"]
    return functional.batch_norm(x, mean, var, state[f"{name}.weight"], state[f"{name}.bias"])


def torchvision_block(state: State, place: str, x: Tensor, stride: int) -> Tensor:
    """Post-activation: convolution, BN, ReLU, ...; ReLU after the sum; the first 3x3 convolution has the stride."""
    shortcut, y = x, x
    if f"{place}.downsample.0.weight" in state:
        shortcut = functional.conv2d(x, state[f"{place}.downsample.0.weight"], stride=stride)
        shortcut = torchvision_norm(state, f"{place}.downsample.1", shortcut)
    for i in (1, 2, 3):
        weight = state.get(f"{place}.conv{i}.weight")
        if weight is None:
            break
        y = functional.relu(y) if i > 1 else y
        first = weight.shape[-1] == 3 and stride > 1 and y.shape[-1] == x.shape[-1]
        y = functional.conv2d(y, weight, stride=stride if first else 1, padding=weight.shape[-1] // 2)
        y = torchvision_norm(state, f"{place}.bn{i}", y)
    return functional.relu(y + shortcut)


def torchvision_written_out(state: State, depths: tuple[int, ...], images: Tensor) -> Tensor:
    x = functional.conv2d((images - 0.5) / 0.5, state["conv1.weight"], stride=2, padding=3)
    x = functional.max_pool2d(functional.relu(torchvision_norm(state, "bn1", x)), 3, stride=2, padding=1)
    for stage, depth in enumerate(depths, start=1):
        for i in range(depth):
            x = torchvision_block(state, f"layer{stage}.{i}", x, 2 if stage > 1 and i == 0 else 1)
    x = functional.adaptive_avg_pool2d(x, 1).flatten(1)
    return functional.linear(x, state["fc.weight"], state["fc.bias"])


def unsettle(module: nn.Module) -> None:
    """Statistics and weights at which each normalisation matters."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean = torch.randn(part.num_features) * 0.2
            part.running_var = torch.rand(part.num_features) + 0.5
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias, std=0.2)


def assert_forward(module: nn.Module, expected: Tensor, images: Tensor) -> None:
    assert expected.std() > 1e-3
    assert torch.allclose(module(images), expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.parametrize(("name", "depths"), [("resnet18", (2, 2, 2, 2)), ("resnet50", (3, 4, 6, 3))])
@pytest.mark.parametrize("size", [64, 70])
def test_forward_of_the_large_ones_is_torchvisions(name: str, depths: tuple[int, ...], size: int) -> None:
    torch.manual_seed(0)
    module = classifier(name, classes=5).eval()
    unsettle(module)
    images = torch.rand(2, 3, size, size)
    with torch.inference_mode():
        assert_forward(module, torchvision_written_out(module.state_dict(), depths, images), images)


@pytest.mark.parametrize(
    ("name", "block", "plan"),
    [
        ("preact_resnet18", basic_block, [(2, 1), (2, 2), (2, 2), (2, 2)]),
        ("preact_resnet50", bottleneck, [(3, 1), (4, 2), (6, 2), (3, 2)]),
        ("wide_resnet_40_2", wide_block, [(6, 1), (6, 2), (6, 2)]),
    ],
)
def test_forward_is_the_one_written_out(name: str, block: Block, plan: list[tuple[int, int]]) -> None:
    torch.manual_seed(0)
    module = classifier(name, classes=5).eval()
    unsettle(module)
    images = torch.rand(2, 3, 32, 32)
    with torch.inference_mode():
        assert_forward(module, written_out(module.state_dict(), block, plan, images), images)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("preact_resnet5", {}, "there is no classifier 'preact_resnet5'; did you mean 'preact_resnet50'"),
        ("resnet_small", {"clases": 3}, "classifier resnet_small: unknown key 'clases'; did you mean 'classes'?"),
        ("preact_resnet18", {"width": 3}, "classifier preact_resnet18: unknown key 'width'"),
        ("resnet_small", {"classes": 2.5}, "classifier resnet_small.classes: wanted int; got 2.5"),
        ("resnet_small", {"classes": 1}, "a classifier tells at least 2 classes apart; got 1"),
        ("resnet18", {"classes": -1}, "a classifier tells at least 2 classes apart; got -1"),
        ("resnet_small", {"channels": 2}, "images have 1 or 3 channels; got 2"),
        ("resnet_small", {"mean": [0.5], "std": [0.5]}, "mean and std need 3"),
        ("resnet18", {"channels": 1, "mean": [0.5] * 3, "std": [0.5] * 3}, "mean and std need 1"),
        ("resnet_small", {"std": [0.5, 0.0, 0.5]}, "std above 0"),
    ],
)
def test_options_that_do_not_fit(name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        classifier(name, **options)
    assert str(caught.value).startswith(sentence) or (sentence == "std above 0" and sentence in str(caught.value))


def test_every_classifier_takes_what_the_data_say() -> None:
    facts = {"classes": 3, "channels": 1, "mean": (0.4,), "std": (0.2,)}
    for name in CLASSIFIERS:
        state = classifier(name, **facts).state_dict()
        first, last = next(iter(state.values())), list(state.values())[-1]
        assert first.shape[1] == 1 and last.shape == (3,)
