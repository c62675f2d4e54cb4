"""SSIM and PSNR against scikit-image."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from weatherproof.errors import InputError
from weatherproof.measures import psnr, ssim
from weatherproof.measures.similarity import blur

SIZES = [(11, 11), (11, 30), (32, 32), (33, 20), (64, 64)]


def pair(size: tuple[int, int], channels: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Two batches of 2 images in [0, 1], float64 NCHW, that are related as `kind` says."""
    generator = np.random.default_rng(0)
    a = generator.random((2, channels, *size))
    if kind == "smooth":
        a = (np.linspace(0, 1, size[1]) ** generator.uniform(0.5, 2, (2, channels, size[0], 1))).clip(0, 1)
    other = {
        "independent": generator.random(a.shape),
        "noisy": (a + generator.normal(0, 0.1, a.shape)).clip(0, 1),
        "smooth": (0.7 * a + 0.1 + generator.normal(0, 0.02, a.shape)).clip(0, 1),
        "inverted": 1 - a,
        "flat": np.full(a.shape, 0.25),
    }
    return a, other[kind]


def reference_ssim(a: np.ndarray, b: np.ndarray) -> float:
    """scikit-image's map, one channel at a time, over the windows that lie inside: it pads, which the border shows."""
    maps = [
        structural_similarity(
            one, other, data_range=1.0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, full=True
        )[1][5:-5, 5:-5]
        for one, other in zip(a, b, strict=True)
    ]
    return float(np.mean(maps))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-4)])
@pytest.mark.parametrize("kind", ["independent", "noisy", "smooth", "inverted", "flat"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_ssim_is_scikit_images(
    size: tuple[int, int], channels: int, kind: str, dtype: torch.dtype, tolerance: float
) -> None:
    a, b = pair(size, channels, kind)
    values = ssim(torch.from_numpy(a).to(dtype), torch.from_numpy(b).to(dtype))
    assert values.shape == (2,) and values.dtype == dtype
    expected = [reference_ssim(one, other) for one, other in zip(a, b, strict=True)]
    np.testing.assert_allclose(values.numpy(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("channels", [1, 3])
def test_bytes_are_measured_as_what_they_mean(channels: int) -> None:
    a, b = ((images * 255).round().astype(np.uint8) for images in pair((32, 32), channels, "noisy"))
    expected = [reference_ssim(one, other) for one, other in zip(a / 255, b / 255, strict=True)]
    nhwc = (a.transpose(0, 2, 3, 1), b.transpose(0, 2, 3, 1))
    np.testing.assert_allclose(ssim(*nhwc).numpy(), expected, rtol=0, atol=1e-4)
    expected = [peak_signal_noise_ratio(one, other) for one, other in zip(*nhwc, strict=True)]
    np.testing.assert_allclose(psnr(*nhwc).numpy(), expected, rtol=1e-5)
    mixed = psnr(nhwc[0], b.astype(np.float64) / 255)
    np.testing.assert_allclose(mixed.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["independent", "noisy", "smooth", "inverted", "flat"])
@pytest.mark.parametrize("size", [*SIZES, (3, 5)])
def test_psnr_is_scikit_images(size: tuple[int, int], kind: str) -> None:
    a, b = pair(size, 3, kind)
    expected = [peak_signal_noise_ratio(one, other, data_range=1.0) for one, other in zip(a, b, strict=True)]
    np.testing.assert_allclose(psnr(a, b).numpy(), expected, rtol=1e-10)


def test_psnr_of_equal_images_is_infinite() -> None:
    a, b = pair((8, 8), 3, "noisy")
    assert psnr(a, a).tolist() == [float("inf")] * 2
    assert torch.isfinite(psnr(a, b)).all()


def test_ssim_of_equal_images_is_one() -> None:
    for kind in ("noisy", "smooth"):
        a = torch.from_numpy(pair((20, 20), 3, kind)[0])
        assert torch.equal(ssim(a, a), torch.ones(2, dtype=torch.float64))


LEVELS = st.lists(st.integers(0, 255), min_size=4, max_size=4)


@given(LEVELS, LEVELS, st.integers(0, 2**31), st.floats(0, 1))
def test_ssim_is_symmetric_and_at_most_one(one: list[int], other: list[int], seed: int, amount: float) -> None:
    """Any two images: a grid of flat fields each, and noise."""
    noise = torch.rand(2, 1, 12, 12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    fields = torch.tensor([one, other], dtype=torch.float64).div(255).view(2, 1, 2, 2)
    a, b = ((1 - amount) * fields.repeat_interleave(6, 2).repeat_interleave(6, 3) + amount * noise).split(1)
    value = ssim(a, b).item()
    assert -1 <= value <= 1 + 1e-12
    assert value == pytest.approx(ssim(b, a).item(), abs=1e-12)
    assert (value > 1 - 1e-12) == torch.allclose(a, b, atol=1e-6)


def test_images_of_a_batch_do_not_mix() -> None:
    a, b = (torch.from_numpy(images) for images in pair((16, 16), 3, "noisy"))
    alone = torch.cat([ssim(a[i : i + 1], b[i : i + 1]) for i in range(2)])
    assert torch.allclose(ssim(a, b), alone, atol=1e-12) and ssim(a[:0], b[:0]).shape == (0,)


def test_gradients_are_those_of_the_function() -> None:
    a, b = (torch.from_numpy(images[:1, :1, :11]) for images in pair((12, 12), 1, "noisy"))
    b.requires_grad_()
    assert torch.autograd.gradcheck(lambda images: ssim(a, images), b.clone().clamp(0.01, 0.99))


def test_the_window_is_a_gaussian() -> None:
    impulse = torch.zeros(1, 1, 21, 21, dtype=torch.float64)
    impulse[0, 0, 10, 10] = 1
    window = blur(impulse)[0, 0]
    assert window.shape == (11, 11) and window.sum().item() == pytest.approx(1)
    assert (window[5, 7] / window[5, 5]).item() == pytest.approx(np.exp(-(2**2) / (2 * 1.5**2)))


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ((1, 3, 10, 32), (1, 3, 10, 32), "SSIM needs images of at least 11x11; got 10x32"),
        ((1, 3, 32, 10), (1, 3, 32, 10), "at least 11x11; got 32x10"),
        ((1, 3, 32, 32), (1, 3, 32, 33), "cannot compare images of shape"),
        ((1, 3, 32, 32), (1, 1, 32, 32), "cannot compare images of shape"),
        ((2, 3, 32, 32), (1, 3, 32, 32), "cannot compare images of shape"),
        ((1, 2, 32, 32), (1, 3, 32, 32), "first images: got"),
        ((1, 3, 32, 32), (3, 32, 32), "second images: got"),
    ],
)
def test_pairs_that_cannot_be_compared(a: tuple[int, ...], b: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ssim(torch.zeros(a), torch.zeros(b))
