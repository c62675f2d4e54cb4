"""DeepAugment on the fly against the reference's procedure, one image at a time.

python -m benchmarks deepaugment
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.nn import functional

from weatherproof import DeepAugment, corruption_network
from weatherproof.augment.deepaugment.draw import Draw, Weights
from weatherproof.augment.deepaugment.edsr import SPLIT, before_body, scaled, way_through
from weatherproof.augment.deepaugment.edsr_weights import AT_ONCE, BLOCKS, OPERATIONS, Convolutions
from weatherproof.networks.corruption import EDSR

from .adversary import photographs
from .timing import Row, side_by_side

BATCH = 64


def rows() -> list[Row]:
    """EDSR in both precisions and the small one, at 32 pixels; the loop computes in float32, as the reference does.

    On one core the full EDSR in float32 computes at the rate of a matrix product either way, and 1.4 is what is left to
    gain: convolutions that are shared or fused, and modules whose results would be thrown away.
    """
    return [_row("edsr", "float32"), _row("edsr", "bfloat16"), _row("edsr_desk", "float32")]


def _row(name: str, precision: str) -> Row:
    images, network = photographs(BATCH)[0], corruption_network(name)
    assert isinstance(network, EDSR)
    ours = DeepAugment(network, precision=precision)  # type: ignore[arg-type]
    times = side_by_side(
        lambda: ours(images, torch.Generator().manual_seed(0)), lambda: one_by_one(network, images), repeats=5
    )
    return Row(f"{name}, {BATCH} images, {precision}: batched / one at a time", *times, 1 / 3)


@torch.no_grad()
def one_by_one(network: EDSR, images: Tensor) -> Tensor:
    """The reference's procedure, with new weights for each image: they are distorted in a copy of the state, which the
    network then loads; it enlarges the image, and the result is brought down again."""
    pristine = {name: value.clone() for name, value in network.state_dict().items()}
    worker, where = copy.deepcopy(network), Convolutions(len(network.body) - 1)
    results = []
    for number, image in enumerate(images):
        draw, weights = Draw(number), Weights(pristine)
        for operation in draw.several(len(OPERATIONS), AT_ONCE):
            OPERATIONS[operation](weights, draw, where)
        worker.load_state_dict(dict(weights))
        results.append(_forward(worker, image[None], draw).clamp(0, 1)[0])
    return torch.stack(results)


def _forward(network: EDSR, image: Tensor, draw: Draw) -> Tensor:
    x = before_body(network.features(image)[0], draw)[None]
    blocks = len(network.body) - 1
    way, split = way_through(blocks, draw), scaled(SPLIT, blocks, BLOCKS)
    if way.only is None:
        result = network.body[:split](x)
        result = network.body[split:](result if way.within is None else way.within(result[0])[None])
    else:
        for module in network.body[: way.only + 1]:  # all are computed, and the last one counts
            result = module(x)
    enlarged: Tensor = network.tail(result + x) / 255 + network.mean
    return functional.avg_pool2d(enlarged, network.scale)
