"""ResNets for ImageNet sizes (He et al. 2015), with torchvision's parameter names: its weights load as they are."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from .normalise import Normalise, normaliser
from .preact_resnet import conv3x3, linear_head


class ResNet(nn.Module):
    """7x7 stem, max pooling, four stages of post-activation blocks, average pooling, a linear layer.

    Takes float images in [0, 1], (N, C, H, W); gives logits (N, classes). Names are torchvision's, on purpose.
    """

    def __init__(
        self, normalise: Normalise, block: type[Block] | type[Bottleneck], depths: Sequence[int], channels: int,
        classes: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalise = normalise
        self.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        expansion = block.expansion
        self.layer1 = _stage(block, 64, 64, depths[0], stride=1)
        self.layer2 = _stage(block, 64 * expansion, 128, depths[1], stride=2)
        self.layer3 = _stage(block, 128 * expansion, 256, depths[2], stride=2)
        self.layer4 = _stage(block, 256 * expansion, 512, depths[3], stride=2)
        self.fc = linear_head(512 * expansion, classes)
        _initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(self.normalise(images)))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        logits: Tensor = self.fc(x.mean(dim=(2, 3)))
        return logits


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = conv3x3(inputs, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _projection(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        residual = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        output: Tensor = self.relu(residual + (x if self.downsample is None else self.downsample(x)))
        return output


class Bottleneck(nn.Module):
    """1x1, 3x3 (with the stride, as torchvision has it) and 1x1 convolutions beside a shortcut."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        residual = self.relu(self.bn1(self.conv1(x)))
        residual = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(residual)))))
        output: Tensor = self.relu(residual + (x if self.downsample is None else self.downsample(x)))
        return output


def resnet18(
    classes: int = 1000, channels: int = 3, mean: Sequence[float] | None = None, std: Sequence[float] | None = None
) -> nn.Module:
    """ResNet-18 for ImageNet sizes: 11,689,512 parameters with 1000 classes."""
    return ResNet(normaliser(channels, mean, std), Block, (2, 2, 2, 2), channels, classes)


def resnet50(
    classes: int = 1000, channels: int = 3, mean: Sequence[float] | None = None, std: Sequence[float] | None = None
) -> nn.Module:
    """ResNet-50 for ImageNet sizes, the paper's ImageNet classifier: 25,557,032 parameters with 1000 classes."""
    return ResNet(normaliser(channels, mean, std), Bottleneck, (3, 4, 6, 3), channels, classes)


def _stage(block: type[Block] | type[Bottleneck], inputs: int, width: int, depth: int, stride: int) -> nn.Sequential:
    first = block(inputs, width, stride)
    return nn.Sequential(first, *[block(width * block.expansion, width, 1) for _ in range(depth - 1)])


def _projection(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))


def _initialise(network: nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
