"""Two convolutions as one, against torch's two."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from weatherproof.networks.corruption.chain import convolve_twice


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (4, 1), (2, 3), (7, 9)])
def test_one_convolution_equals_two_and_so_do_its_gradients(size: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 5, *size), (7, 5, 3, 3), (7,), (3, 7, 3, 3), (3,)]
    inputs = [torch.randn(*s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    x, first, first_bias, second, second_bias = inputs
    two = functional.conv2d(functional.conv2d(x, first, first_bias, padding=1), second, second_bias, padding=1)
    one = convolve_twice(*inputs)
    torch.testing.assert_close(one, two, rtol=0, atol=1e-12)
    weights = torch.randn(two.shape, generator=generator, dtype=torch.float64)
    for got, wanted in zip(*(torch.autograd.grad((y * weights).sum(), inputs) for y in (one, two)), strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)


def test_autocast_rounds_pixels_and_not_weights() -> None:
    """In bfloat16 the composition of the two is exact to float32, so that it is closer than two rounded passes."""
    generator = torch.Generator().manual_seed(1)
    x, first, second = (torch.randn(*s, generator=generator) for s in ((4, 8, 16, 16), (32, 8, 3, 3), (3, 32, 3, 3)))
    zero = torch.zeros(32), torch.zeros(3)

    def twice() -> torch.Tensor:
        return functional.conv2d(functional.conv2d(x, first, padding=1), second, padding=1)

    exact = twice()
    with torch.autocast("cpu", torch.bfloat16):
        errors = [(y - exact).square().mean() for y in (convolve_twice(x, first, zero[0], second, zero[1]), twice())]
    assert errors[0] < errors[1] < 1e-3 * exact.square().mean()
