"""Pre-activation ResNets for images of about 32 pixels (He et al. 2016), as the paper uses them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from ...errors import InputError
from .normalise import Normalise, normaliser


class PreActResNet(nn.Module):
    """Stem, stages of pre-activation blocks, a final BN + ReLU, average pooling, a linear layer.

    Takes float images in [0, 1], (N, C, H, W); gives logits (N, classes).
    """

    def __init__(self, normalise: Normalise, stem: nn.Conv2d, stages: nn.Sequential, features: int, classes: int):
        super().__init__()
        self.normalise = normalise
        self.stem = stem
        self.stages = stages
        self.norm = nn.BatchNorm2d(features)
        self.head = linear_head(features, classes)

    def forward(self, images: Tensor) -> Tensor:
        features = self.stages(self.stem(self.normalise(images)))
        logits: Tensor = self.head(functional.relu(self.norm(features)).mean(dim=(2, 3)))
        return logits


class PreActBlock(nn.Module):
    """BN-ReLU-conv3x3 twice, beside a shortcut: the identity, or a 1x1 convolution where the shape changes.

    `project_raw` is the one difference between the field's versions: whether that 1x1 convolution sees the block's
    input (PreActResNet-18 for CIFAR) or its pre-activated input (WideResNet, and all bottlenecks).
    """

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int, project_raw: bool = False) -> None:
        super().__init__()
        self.project_raw = project_raw
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = conv3x3(inputs, width, stride)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width)
        self.shortcut = projection(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        active = functional.relu(self.norm1(x))
        residual: Tensor = self.conv2(functional.relu(self.norm2(self.conv1(active))))
        if self.shortcut is None:
            return residual + x
        residual += self.shortcut(x if self.project_raw else active)
        return residual


class PreActBottleneck(nn.Module):
    """BN-ReLU-conv three times (1x1, 3x3, 1x1), four times as wide outside as inside."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width, stride)
        self.norm3 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.shortcut = projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        active = functional.relu(self.norm1(x))
        residual: Tensor = self.conv2(functional.relu(self.norm2(self.conv1(active))))
        residual = self.conv3(functional.relu(self.norm3(residual)))
        return residual + (x if self.shortcut is None else self.shortcut(active))


def preact_resnet18(
    classes: int = 10, channels: int = 3, mean: Sequence[float] | None = None, std: Sequence[float] | None = None
) -> nn.Module:
    """PreActResNet-18 for 32x32: 11,172,170 parameters with 10 classes."""
    blocks = _blocks(PreActBlock, 64, [(64, 2, 1), (128, 2, 2), (256, 2, 2), (512, 2, 2)], project_raw=True)
    return PreActResNet(normaliser(channels, mean, std), conv3x3(channels, 64), blocks, 512, classes)


def preact_resnet50(
    classes: int = 10, channels: int = 3, mean: Sequence[float] | None = None, std: Sequence[float] | None = None
) -> nn.Module:
    """PreActResNet-50 for 32x32, the paper's CIFAR-10 classifier: 23,513,162 parameters with 10 classes."""
    blocks = _blocks(PreActBottleneck, 64, [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)])
    return PreActResNet(normaliser(channels, mean, std), conv3x3(channels, 64), blocks, 2048, classes)


def wide_resnet_40_2(
    classes: int = 10, channels: int = 3, mean: Sequence[float] | None = None, std: Sequence[float] | None = None
) -> nn.Module:
    """WideResNet-40-2 (Zagoruyko and Komodakis 2016), the small network of the AugMix paper: 2.2 M parameters."""
    return _wide_resnet(6, 2, normaliser(channels, mean, std), channels, classes)


def wide_resnet_28_10(
    classes: int = 10, channels: int = 3, mean: Sequence[float] | None = None, std: Sequence[float] | None = None
) -> nn.Module:
    """WideResNet-28-10, the large network of adversarial training: 36.5 M parameters."""
    return _wide_resnet(4, 10, normaliser(channels, mean, std), channels, classes)


def resnet_small(
    classes: int = 10,
    channels: int = 3,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    width: int = 16,
) -> nn.Module:
    """A classifier for desks: 0.3 M parameters, a PreActResNet of four single-block stages that halve early."""
    if width < 1:
        raise InputError(f"resnet_small is at least 1 channel wide; got {width}")
    plan = [(width, 1, 1), (2 * width, 1, 2), (4 * width, 1, 2), (8 * width, 1, 2)]
    blocks = _blocks(PreActBlock, width, plan)
    return PreActResNet(normaliser(channels, mean, std), conv3x3(channels, width), blocks, 8 * width, classes)


def _wide_resnet(depth: int, widen: int, normalise: Normalise, channels: int, classes: int) -> nn.Module:
    plan = [(16 * widen, depth, 1), (32 * widen, depth, 2), (64 * widen, depth, 2)]
    blocks = _blocks(PreActBlock, 16, plan)
    return PreActResNet(normalise, conv3x3(channels, 16), blocks, 64 * widen, classes)


def _blocks(
    block: type[PreActBlock] | type[PreActBottleneck], inputs: int, plan: list[tuple[int, int, int]], **options: bool
) -> nn.Sequential:
    """Stages of blocks; the plan holds (width, blocks, stride of the first block) of each stage."""
    stages = []
    for width, count, stride in plan:
        stage = []
        for i in range(count):
            stage.append(block(inputs, width, stride if i == 0 else 1, **options))
            inputs = width * block.expansion
        stages.append(nn.Sequential(*stage))
    return nn.Sequential(*stages)


def conv3x3(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    """The 3x3 convolution of all ResNets: padded, without bias."""
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


def linear_head(features: int, classes: int) -> nn.Linear:
    """The last layer of all ResNets."""
    if classes < 2:
        raise InputError(f"a classifier tells at least 2 classes apart; got {classes}")
    return nn.Linear(features, classes)


def projection(inputs: int, outputs: int, stride: int) -> nn.Conv2d | None:
    """The shortcut where a block changes the shape; `None` stands for the identity."""
    return nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False) if stride != 1 or inputs != outputs else None
