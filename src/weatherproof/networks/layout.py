"""How tensors had better lie in memory."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def channels_last_pays(x: Tensor) -> bool:
    """Whether convolutions of float images on `x`'s device are fastest with channels last: where oneDNN computes them.

    Elsewhere such a layout is not only slow. torch's own convolutions on a CPU (of float64, say) compute wrong
    gradients of the weights where the batch dimension is 1 and its stride is not the full one, as under vmap (2.13).
    """
    if x.device.type != "cpu" or x.dtype == torch.float64 or not (torch.backends.mkldnn.enabled and _has_onednn()):
        return False
    low = x.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")
    return not low or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def channels_last_is_safe(model: nn.Module) -> bool:
    """Whether `model` can be trained with channels last.

    The gradient of the weights of a 1x1 convolution with a stride and fewer than 16 channels is written beyond its
    memory by oneDNN (its issue 6035): wrong numbers at best.
    """
    return not any(
        isinstance(layer, nn.Conv2d)
        and layer.kernel_size == (1, 1)
        and max(layer.stride) > 1
        and layer.in_channels // layer.groups < 16
        for layer in model.modules()
    )


def _has_onednn() -> bool:
    return torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call, no-any-return]
