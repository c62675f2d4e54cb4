"""Two 3x3 convolutions with nothing in between, as one."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.nn import functional

from ..layout import channels_last_pays


def convolve_twice(x: Tensor, first: Tensor, first_bias: Tensor, second: Tensor, second_bias: Tensor) -> Tensor:
    """second * (first * x + first_bias) + second_bias, both padded with zeros, by one 5x5 convolution.

    x is (N, I, H, W), `first` (C, I, 3, 3), `second` (O, C, 3, 3); the result is (N, O, H, W). Where C is large, 25 I O
    products per pixel are much fewer than 9 C (I + O). One thing differs: the second convolution sees zeros just
    outside the image, where the 5x5 one sees what the first would make of these places; that is subtracted again.
    """
    with torch.autocast(x.device.type, enabled=False):  # products of small matrices; only pixels are worth rounding
        second = second.to(first.dtype)
        composed = _composed(first, second)
        bias = second_bias + second.sum(dim=(2, 3)) @ first_bias
        lines = x.permute(0, 2, 3, 1).to(first.dtype), first.permute(0, 2, 3, 1), second.permute(0, 2, 3, 1)
        rows, columns = _from_outside(*lines, first_bias, 1), _from_outside(*lines, first_bias, 2)
    result = functional.conv2d(x, composed, bias, padding=2).to(first.dtype)
    result = result.index_add(2, _ends(x, 2), rows.permute(0, 3, 1, 2), alpha=-1)
    return result.index_add(3, _ends(x, 3), columns.permute(0, 3, 2, 1), alpha=-1)


def _composed(first: Tensor, second: Tensor) -> Tensor:
    """G[o, i, r] = sum over p + q = r and c of second[o, c, p] first[c, i, q], (O, I, 5, 5)."""
    outputs, inputs = len(second), first.shape[1]
    # Channels last throughout, which is how the weights lie: both products are of matrices as they are.
    pairs = second.permute(0, 2, 3, 1).flatten(0, 2) @ first.permute(0, 2, 3, 1).flatten(1)  # (O p, C) (C, q I)
    sums = _which_sums(first.device, first.dtype) @ pairs.view(outputs, 81, inputs)  # (r, p q) (O, p q, I)
    composed = sums.view(outputs, 5, 5, inputs).permute(0, 3, 1, 2)
    return composed if channels_last_pays(first) else composed.contiguous()


@functools.lru_cache(maxsize=8)
def _which_sums(device: torch.device, dtype: torch.dtype) -> Tensor:
    """1 where the taps p and q of two 3x3 kernels sum to the tap r of a 5x5 one, else 0; (r, p q) = (25, 81)."""
    tap, wide = torch.arange(3), torch.arange(5)
    line = (tap[:, None] + tap == wide[:, None, None]).to(dtype)  # along one axis: (5, 3, 3)
    return torch.einsum("rpq,stu->rsptqu", line, line).reshape(25, 81).to(device)


def _from_outside(x: Tensor, first: Tensor, second: Tensor, bias: Tensor, axis: int) -> Tensor:
    """What the second convolution brings to the first and the last row (axis 1) of an image from the rows just above
    and below it with their corners, or to the columns (axis 2) from those beside it without; (N, 2, L, O).

    x is (N, H, W, I), `first` (C, 3, 3, I), `second` (O, 3, 3, C). From above, the first convolution meets the image
    with its last row of taps only, and the second has its first row of taps there.
    """
    last_first, first_last = (torch.tensor(taps, device=x.device) for taps in ((2, 0), (0, 2)))
    beyond = _along(
        x.index_select(axis, _ends(x, axis)).movedim(axis, 1), first.index_select(axis, last_first), axis, 2
    )
    beyond = beyond + bias
    corners = beyond if axis == 1 else functional.pad(beyond[:, :, 1:-1], (0, 0, 1, 1))
    return _along(corners, second.index_select(axis, first_last), axis, 0)


def _ends(x: Tensor, axis: int) -> Tensor:
    return torch.tensor([0, x.shape[axis] - 1], device=x.device)


def _along(lines: Tensor, taps: Tensor, axis: int, pad: int) -> Tensor:
    """Convolutions along two lines: (N, 2, L, C) with taps (O, 2, 3, C), or (O, 3, 2, C) for axis 2, padded by `pad`
    zeros, to (N, 2, L + 2 pad - 2, O)."""
    order = (1, 3, 2, 0) if axis == 1 else (2, 3, 1, 0)
    each = functional.pad(lines, (0, 0, pad, pad)) @ taps.permute(order).flatten(2)  # (N, 2, L + 2 pad, 3 O)
    here, right, further = each.chunk(3, dim=3)
    return here[:, :, :-2] + right[:, :, 1:-1] + further[:, :, 2:]
