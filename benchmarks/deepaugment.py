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
from weatherproof.augment.deepaugment.edsr import before_body
from weatherproof.augment.deepaugment.edsr_weights import AT_ONCE, OPERATIONS, Convolutions
from weatherproof.networks.corruption import EDSR

from .adversary import photographs
from .timing import Row, side_by_side

BATCH = 64


def rows() -> list[Row]:
    """EDSR in both precisions, at 32 pixels; the loop computes in float32, as the reference does."""
    images, network = photographs(BATCH)[0], corruption_network("edsr")
    assert isinstance(network, EDSR)
    found = []
    for precision in ("float32", "bfloat16"):
        ours = DeepAugment(network, precision=precision)
        times = side_by_side(
            lambda ours=ours: ours(images, torch.Generator().manual_seed(0)),  # type: ignore[misc]
            lambda: one_by_one(network, images),
            repeats=3,
        )
        found.append(Row(f"EDSR, {BATCH} images, {precision}: batched / one at a time", *times, 1 / 3))
    return found


@torch.no_grad()
def one_by_one(network: EDSR, images: Tensor) -> Tensor:
    """The reference's procedure, with new weights for each image: they are distorted in a copy of the state, which the
    network then loads; it enlarges the image, and the result is brought down again."""
    pristine = {name: value.clone() for name, value in network.state_dict().items()}
    worker = copy.deepcopy(network)
    results = []
    for number, image in enumerate(images):
        draw, weights = Draw(number), Weights(pristine)
        for operation in draw.several(len(OPERATIONS), AT_ONCE):
            OPERATIONS[operation](weights, draw, Convolutions(16))
        worker.load_state_dict(dict(weights))
        results.append(_forward(worker, image[None], draw).clamp(0, 1)[0])
    return torch.stack(results)


def _forward(network: EDSR, image: Tensor, draw: Draw) -> Tensor:
    x = network.features(image)
    x = before_body(x[0], draw)[None]
    option = draw.below(5)
    if option == 3:
        skipped = {2 + number for number in draw.several(15, 3)}
        for number, module in enumerate(network.body):
            if number not in skipped:
                result = module(x)
    else:
        result = network.body[:5](x)
        if option == 0:
            result = -result
        elif option == 1:
            result = functional.relu(result) if draw.below(3) == 1 else functional.gelu(result)
        elif option == 2:
            result = result.flip((1, 2 if draw.below(3) == 1 else 3))
        result = network.body[5:](result)
    enlarged: Tensor = network.tail(result + x) / 255 + network.mean
    return functional.avg_pool2d(enlarged, network.scale)
