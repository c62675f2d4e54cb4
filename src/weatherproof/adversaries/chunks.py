"""How many examples an adversary attacks together."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .weights import WeightSpace

# On a CPU, per-example convolutions are fastest with some two dozen examples: with fewer, starting each operation
# costs more than it does; with more, the tensors between operations no longer stay in the cache. Full-size networks are
# flat from four examples on, and there memory decides. A GPU wants as many as there is room for.
CPU_MOST, CPU_BYTES = 24, 256 * 2**20
CUDA_MOST, CUDA_BYTES = 128, 4 * 2**30


def chunk_size(network: nn.Module, classifier: nn.Module, images: Tensor) -> int:
    """How many examples are fast where the images are, within a bound on memory."""
    most, bound = (CUDA_MOST, CUDA_BYTES) if images.is_cuda else (CPU_MOST, CPU_BYTES)
    return max(1, min(most, bound // bytes_per_example(network, classifier, images)))


def bytes_per_example(network: nn.Module, classifier: nn.Module, images: Tensor) -> int:
    """Perturbations and what is computed from them, and what both networks keep for the backward pass."""
    space = WeightSpace(network, 0.0, images[:1])
    point = [block.requires_grad_() for block in space.start([0])]
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        classifier(space.apply(point))
    theirs = {parameter.untyped_storage().data_ptr() for parameter in classifier.parameters()}
    saved = sum(size for place, size in kept.items() if place not in theirs)
    return saved + 3 * sum(block.nbytes for block in point)
