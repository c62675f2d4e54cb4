"""AugMix: what is drawn, and what an image becomes under given draws, against the reference's procedure with Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import stats
from torch import Tensor

import weatherproof
from benchmarks.augmix import mixed, strength
from weatherproof import AugMix, InputError
from weatherproof.augment import augmix as module
from weatherproof.augment.augmix import Draws
from weatherproof.augment.operations import NINE, OPERATIONS
from weatherproof.data.photos10 import load_photos10

IMPROBABLE = 1e-4  # the seeds are fixed: a test passes always or never
POINTS = ["autocontrast", "equalize", "posterize", "solarize", "contrast", "brightness", "color", "sharpness"]
COUNT = 10_000


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=seeded(seed))


def photographs(count: int) -> Tensor:
    """uint8 NHWC."""
    return torch.from_numpy(load_photos10()[2][:count])


def by_pillow(images: Tensor, draws: Draws, names: list[str]) -> Tensor:
    """uint8 NHWC, one after the other, to float NCHW."""
    results = []
    for i, pixels in enumerate(images.numpy()):
        image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
        chains = [
            [
                (names[number], strength(names[number], level, sign, image.size))
                for number, level, sign in zip(*(array[i, chain].tolist() for array in arrays), strict=True)
                if number >= 0
            ]
            for arrays in [(draws.operations, draws.levels, draws.signs)]
            for chain in range(draws.weights.shape[1])
        ]
        results.append(mixed(image, chains, draws.weights[i].tolist(), float(draws.shares[i])))
    return torch.stack(results)


@pytest.mark.parametrize("severity", [3, 10])
@pytest.mark.parametrize("options", [{}, {"all_ops": True}, {"width": 1, "depth": 4}, {"width": 5, "depth": 1}])
def test_it_is_the_references_procedure(options: dict[str, Any], severity: float) -> None:
    augmix, images = AugMix(severity=severity, **options), photographs(96)
    found = augmix(images.permute(0, 3, 1, 2) / 255, seeded(1))
    expected = by_pillow(images, augmix.draw(len(images), seeded(1)), augmix.operations)
    # Where a value that moved by one lies at a threshold, what comes after may move it far.
    apart = (found - expected).abs() * 255
    assert (apart <= 1.001).double().mean() >= 0.995
    assert apart.mean() < 0.05


@pytest.mark.parametrize("severity", [0.05, 3, 10])
@pytest.mark.parametrize("channels", [1, 3])
def test_operations_on_values_mix_to_the_same_numbers(channels: int, severity: float) -> None:
    augmix = AugMix(severity=severity, operations=POINTS)
    images = photographs(64)[..., :channels].contiguous()
    found = augmix(images.permute(0, 3, 1, 2) / 255, seeded(2))
    expected = by_pillow(images, augmix.draw(len(images), seeded(2)), augmix.operations)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-6)


@given(
    height=st.integers(8, 30), width=st.integers(8, 30), channels=st.sampled_from([1, 3]),
    count=st.integers(1, 4), seed=st.integers(0, 1000),
)  # fmt: skip
def test_any_size(height: int, width: int, channels: int, count: int, seed: int) -> None:
    augmix = AugMix(severity=10)
    images = torch.randint(0, 256, (count, height, width, channels), generator=seeded(seed), dtype=torch.uint8)
    found = augmix(images.permute(0, 3, 1, 2) / 255, seeded(seed))
    expected = by_pillow(images, augmix.draw(count, seeded(seed)), augmix.operations)
    assert ((found - expected).abs() * 255 <= 1.001).double().mean() >= 0.97


@pytest.fixture(scope="module")
def drawn() -> Draws:
    return AugMix(severity=5, alpha=0.7).draw(COUNT, seeded(3))


def test_depths_are_1_2_or_3_alike(drawn: Draws) -> None:
    depths = (drawn.operations >= 0).sum(axis=2)
    assert ((drawn.operations >= 0) == (np.arange(3) < depths[..., None])).all()
    assert stats.chisquare(np.bincount(depths.ravel(), minlength=4)[1:]).pvalue > IMPROBABLE
    # of one image's chains independently: all 27 combinations alike
    combined = (depths - 1) @ np.array([9, 3, 1])
    assert stats.chisquare(np.bincount(combined, minlength=27)).pvalue > IMPROBABLE


def test_operations_are_drawn_alike_and_with_replacement(drawn: Draws) -> None:
    assert stats.chisquare(np.bincount(drawn.operations[drawn.operations >= 0])).pvalue > IMPROBABLE
    first, second = drawn.operations[..., 0].ravel(), drawn.operations[..., 1].ravel()
    pairs = np.bincount((first * 9 + second)[second >= 0], minlength=81)
    assert stats.chisquare(pairs).pvalue > IMPROBABLE


def test_levels_and_signs_are_uniform(drawn: Draws) -> None:
    levels = drawn.levels[drawn.operations >= 0]
    assert stats.kstest(levels, stats.uniform(0.1, 4.9).cdf).pvalue > IMPROBABLE
    signs = drawn.signs[drawn.operations >= 0]
    assert set(signs) == {-1.0, 1.0}
    assert stats.binomtest(int((signs > 0).sum()), len(signs)).pvalue > IMPROBABLE
    assert abs(stats.pearsonr(levels, signs).statistic) < 0.02


@pytest.mark.parametrize(("name", "most"), [("posterize", 4), ("rotate", 30), ("solarize", 256), ("translate_x", 32)])
def test_strengths_of_whole_numbers_follow_from_uniform_levels(name: str, most: int) -> None:
    """P(int(u most / 10) = k) with u uniform in [0.1, 10), for the images' side 96."""
    draws = AugMix(severity=10, operations=[name]).draw(COUNT, seeded(4))
    steps = OPERATIONS[name].strength(draws.levels[draws.operations >= 0], 96, 96)
    steps = np.abs(steps - {"posterize": 4, "solarize": 256}.get(name, 0))
    edges = np.arange(most + 1) * 10 / most
    chances = np.diff(edges.clip(0.1)) / 9.9
    counts, possible = np.bincount(steps.astype(int), minlength=most), chances > 0
    assert not counts[~possible].any()
    assert stats.chisquare(counts[possible], chances[possible] * len(steps)).pvalue > IMPROBABLE


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("width", [2, 3, 5])
def test_weights_are_dirichlet_and_shares_beta(width: int, alpha: float) -> None:
    draws = AugMix(width=width, alpha=alpha).draw(COUNT, seeded(5))
    np.testing.assert_allclose(draws.weights.sum(axis=1), 1, rtol=1e-12)
    for i in range(width):
        marginal = stats.beta(alpha, (width - 1) * alpha)
        assert stats.kstest(draws.weights[:, i], marginal.cdf).pvalue > IMPROBABLE
    # Cov(w_i, w_j) = -1 / (k^2 (k alpha + 1))
    covariance = np.cov(draws.weights[:, 0], draws.weights[:, 1])[0, 1]
    assert covariance == pytest.approx(-1 / (width**2 * (width * alpha + 1)), rel=0.1)
    assert stats.kstest(draws.shares, stats.beta(alpha, alpha).cdf).pvalue > IMPROBABLE
    assert abs(stats.pearsonr(draws.shares, draws.weights[:, 0]).statistic) < 0.05


def test_fixed_depth_and_a_tiny_alpha() -> None:
    draws = AugMix(depth=5, alpha=1e-3).draw(200, seeded(6))
    assert draws.operations.shape == (200, 3, 5) and (draws.operations >= 0).all()
    assert np.isfinite(draws.weights).all() and np.isfinite(draws.shares).all()


def test_what_is_not_mixed_in_stays_to_the_last_bit() -> None:
    """m is 0 or 1 when alpha is tiny; where it is 0, x is x and not its rounded version."""
    augmix, images = AugMix(alpha=1e-3), noise(64, 3, 8, 8)
    kept = torch.from_numpy(augmix.draw(64, seeded(7)).shares < 1e-12)
    assert 10 < kept.sum() < 54
    found = augmix(images, seeded(7))
    assert torch.equal(found[kept], images[kept])
    assert not torch.equal(found[~kept], images[~kept])


def test_a_seed_is_a_result() -> None:
    augmix, images = AugMix(), noise(16, 3, 16, 16)
    assert torch.equal(augmix(images, seeded(8)), augmix(images, seeded(8)))
    assert not torch.equal(augmix(images, seeded(8)), augmix(images, seeded(9)))
    generator = seeded(8)
    first, second = augmix(images, generator), augmix(images, generator)
    assert not torch.equal(first, second)


def test_draws_come_from_the_generator_that_is_given_or_from_torchs() -> None:
    augmix, images = AugMix(), noise(4, 3, 16, 16)
    ours, numpys = torch.random.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index,union-attr]
    augmix(images, seeded())
    assert torch.equal(torch.random.get_rng_state(), ours)
    with torch.random.fork_rng():
        torch.manual_seed(8)
        found = augmix(images)
    assert torch.equal(found, augmix(images, seeded(8)))
    assert np.random.get_state()[1].tolist() == numpys  # type: ignore[index,union-attr]


@pytest.mark.parametrize("together", [1, 20_000, 70_000])
def test_an_image_does_not_depend_on_its_mates(monkeypatch: pytest.MonkeyPatch, together: int) -> None:
    augmix, images = AugMix(all_ops=True), noise(23, 3, 33, 29)
    whole = augmix(images, seeded(10))
    monkeypatch.setitem(module.TOGETHER, "cpu", together)
    assert torch.equal(augmix(images, seeded(10)), whole)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats(dtype: torch.dtype) -> None:
    images = (photographs(12).permute(0, 3, 1, 2) / 255).to(dtype)
    found = AugMix()(images, seeded(11))
    assert found.dtype == dtype and found.shape == images.shape
    assert found.min() >= 0 and found.max() <= 1
    single = AugMix()(images.float(), seeded(11))
    torch.testing.assert_close(found.float(), single, rtol=0, atol=2 * torch.finfo(dtype).eps + 1e-6)


def test_bytes_come_back_as_bytes() -> None:
    images = photographs(12)
    found = AugMix()(images, seeded(12))
    assert found.dtype == torch.uint8 and found.shape == images.shape
    floats = AugMix()(images.permute(0, 3, 1, 2) / 255, seeded(12))
    assert torch.equal(found, floats.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1))
    assert torch.equal(AugMix()(images.numpy(), seeded(12)), found)


def test_layouts_of_memory_and_gradients_make_no_difference() -> None:
    images = noise(6, 3, 16, 20)
    before, found = images.clone(), AugMix()(images, seeded(13))
    last = images.contiguous(memory_format=torch.channels_last)
    every_other = images.repeat_interleave(2, dim=0)[::2]
    for other in (last, every_other, images.clone().requires_grad_()):
        again = AugMix()(other, seeded(13))
        assert torch.equal(again, found) and not again.requires_grad
    same = AugMix()(images[:1].expand(6, -1, -1, -1), seeded(13))
    assert torch.equal(same, AugMix()(images[:1].repeat(6, 1, 1, 1), seeded(13)))
    assert torch.equal(images, before)


@pytest.mark.parametrize("shape", [(0, 3, 8, 8), (0, 1, 8, 9), (1, 3, 8, 8), (1, 1, 1, 1), (300, 1, 8, 8)])
def test_batches_of_any_number(shape: tuple[int, ...]) -> None:
    found = AugMix()(noise(*shape), seeded())
    assert found.shape == shape
    pixels = noise(*shape).mul(255).to(torch.uint8).permute(0, 2, 3, 1)
    assert AugMix()(pixels, seeded()).shape == pixels.shape


def test_every_operation_takes_part() -> None:
    """Each alone changes most images."""
    images = noise(40, 16, 16, 3).mul(200).to(torch.uint8)
    for name in OPERATIONS:
        found = AugMix(severity=10, operations=[name])(images, seeded(14))
        assert (found != images).flatten(1).any(dim=1).double().mean() > 0.7, name


def test_names() -> None:
    assert AugMix().operations == list(NINE)
    assert AugMix(all_ops=True).operations == list(OPERATIONS)
    assert AugMix(operations=["rotate", "color"]).operations == ["rotate", "color"]
    assert weatherproof.AugMix is AugMix


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "mixes 1 chain or more; got width 0"),
        ({"depth": 0}, "or -1 for 1 to 3; got depth 0"),
        ({"depth": -2}, "got depth -2"),
        ({"severity": 0}, "above 0 and at most 10; got 0"),
        ({"severity": 10.5}, "at most 10; got 10.5"),
        ({"severity": float("nan")}, "got nan"),
        ({"alpha": 0}, "alpha is above 0 and finite; got 0"),
        ({"alpha": -1.0}, "got -1.0"),
        ({"alpha": float("inf")}, "got inf"),
        ({"operations": ["rotat"]}, "no operation 'rotat'; did you mean 'rotate'?"),
        ({"operations": ["nonsense"]}, "no operation 'nonsense'; known: autocontrast, "),
        ({"operations": []}, "all_ops or the names of some operations"),
        ({"operations": ["rotate"], "all_ops": True}, "all_ops or the names of some operations"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        AugMix(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize("images", [torch.rand(3, 8, 8), torch.rand(2, 4, 8, 8), torch.rand(2, 3, 8, 8) + 1])
def test_wrong_images_are_refused(images: Tensor) -> None:
    with pytest.raises(InputError, match="wanted float NCHW"):
        AugMix()(images)
