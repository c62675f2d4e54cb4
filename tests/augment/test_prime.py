"""PRIME: each primitive against a plain one, the laws of what is drawn, and the mixture."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from augment.prime_oracle import displaced, filtered, recoloured
from scipy import stats
from torch import Tensor

from weatherproof import Prime
from weatherproof.augment.prime import draw_plan, mixing_shares
from weatherproof.augment.primitives import PRIMITIVES, Diffeomorphism, Primitive, RandomFilter, SmoothColour
from weatherproof.augment.primitives.diffeomorphism import mode_spread, sines, temperature_bounds
from weatherproof.errors import InputError

SHAPES = [(4, 3, 8, 8), (3, 1, 9, 14), (3, 3, 16, 11), (2, 3, 32, 32)]
IMPROBABLE = 1e-4  # the seeds are fixed: a test passes always or never
ORACLES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "diffeomorphism": displaced,
    "colour": recoloured,
    "filter": filtered,
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def levels(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    """Images of 256 levels, black and white among them."""
    pixels = torch.randint(0, 256, shape, generator=seeded(seed))
    pixels[..., 0, 0], pixels[..., 0, 1] = 0, 255
    return pixels / 255


def plainly(name: str, images: Tensor, parameters: Tensor) -> Tensor:
    pairs = zip(images.double().numpy(), parameters.double().numpy(), strict=True)
    return torch.from_numpy(np.stack([ORACLES[name](image, own) for image, own in pairs]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ORACLES)
def test_a_primitive_is_the_plain_one(name: str, shape: tuple[int, ...]) -> None:
    images, primitive = levels(shape), PRIMITIVES[name]()
    (parameters,) = primitive.draw(shape, seeded(1))
    changed = primitive.apply(images, parameters)
    expected = plainly(name, images, parameters)
    assert float((changed - expected).abs().max()) < 1e-4
    assert float((changed - images).abs().mean()) > 0.02  # and something happens
    assert torch.equal(primitive(images, seeded(1)), changed)


def test_colours_between_levels_are_read_from_the_table() -> None:
    """At the highest temperature with all modes, where the function is as rough as it gets."""
    images = torch.rand(2, 3, 32, 32, generator=seeded())
    amplitudes = 0.1 * torch.randn(2, 3, 100, generator=seeded(1))
    expected = plainly("colour", images, amplitudes)
    error = (SmoothColour().apply(images, amplitudes) - expected).abs()
    assert float(error.mean()) < 1e-3 and float(error.max()) < 4 / 255


@pytest.mark.parametrize("name", ["diffeomorphism", "colour"])
@pytest.mark.parametrize("tone", [0.0, 1.0])
def test_black_and_white_stay(name: str, tone: float) -> None:
    images = torch.full((20, 3, 12, 12), tone)
    assert torch.allclose(PRIMITIVES[name]()(images, seeded()), images, atol=1e-5)


def test_displacements_keep_the_border() -> None:
    images = levels((10, 3, 16, 16))
    images[..., 1:-1, 1:-1] = 0.5
    changed = Diffeomorphism()(images, seeded())
    for edge in (changed[..., 0, :] - images[..., 0, :], changed[..., -1] - images[..., -1]):
        assert float(edge.abs().max()) < 1e-4


@pytest.mark.parametrize(("size", "sigma"), [(3, 4.0), (5, 1.0)])
def test_a_filter_without_noise_moves_the_image_by_one_pixel(size: int, sigma: float) -> None:
    """The authors' identity is not in the middle: ours is where theirs is."""
    images = levels((2, 3, 9, 9))
    moved = RandomFilter(size, sigma=0.0)(images, seeded())
    assert torch.equal(moved[..., :-1, :-1], images[..., 1:, 1:])
    assert not moved[..., -1, :].any() and not moved[..., -1].any()
    assert RandomFilter(size, sigma).draw(images.shape, seeded())[0].shape == (2, size, size)


# ---- laws


def authors_variance(height: int, width: int, cut: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1 / r^2 of every mode below the cut-off, and the modes on all pixels, down and across."""
    k = np.arange(1, cut + 1)
    radius = np.hypot(k[:, None], k)
    down, across = (np.sin(np.pi * k[:, None] * np.linspace(0, 1, size)) for size in (height, width))
    return np.where(radius < cut + 0.5, radius**-2.0, 0), down, across


@pytest.mark.parametrize(("height", "width"), [(8, 8), (8, 11), (32, 32)])
@pytest.mark.parametrize("cut", [2, 3, 6, 7, 13, 40, 100])
def test_modes_that_look_alike_are_drawn_as_one(height: int, width: int, cut: int) -> None:
    """Fields are Gaussian with mean 0: the same covariances of pixels mean the same law."""
    variance, down, across = authors_variance(height, width, cut)
    ours = mode_spread(height, width, 100)[cut].double().numpy() ** 2
    rows, columns = (
        sines(count, size).double().numpy() for count, size in zip(ours.shape, (height, width), strict=True)
    )
    pairs = np.triu_indices(height)
    down_pairs, row_pairs = down[:, pairs[0]] * down[:, pairs[1]], rows[:, pairs[0]] * rows[:, pairs[1]]
    across_pairs = across[:, :, None] * across[:, None]
    column_pairs = columns[:, :, None] * columns[:, None]
    expected = np.einsum("jp,ji,ixz->pxz", down_pairs, variance, across_pairs, optimize=True)
    found = np.einsum("jp,ji,ixz->pxz", row_pairs, ours, column_pairs, optimize=True)
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


def test_amplitudes_have_their_spread() -> None:
    """10,000 images whose cut-off and temperature are known beforehand."""
    diffeomorphism, count = Diffeomorphism((2, 3)), 10_000
    generator = seeded(5)
    cuts, temperature = diffeomorphism.draw_law(count, 9, generator)
    (amplitudes,) = diffeomorphism.draw((count, 1, 9, 12), seeded(5))
    assert amplitudes.shape == (count, 2, 3, 3) and set(cuts.tolist()) == {2, 3}
    assert torch.count_nonzero(amplitudes[cuts == 2][:, :, 2]) == 0
    scaled = amplitudes.double() / temperature.sqrt()[:, None, None, None]
    for direction in range(2):
        for j, i in [(0, 0), (0, 1), (1, 1)]:
            radius = math.hypot(i + 1, j + 1)
            drawn = scaled[radius < cuts + 0.5, direction, j, i]
            assert len(drawn) > 3000 and stats.kstest(radius * drawn, "norm").pvalue > IMPROBABLE
    assert stats.pearsonr(scaled[:, 0, 0, 0], scaled[:, 1, 0, 0]).pvalue > IMPROBABLE


def test_cut_offs_and_temperatures_follow_the_authors_law() -> None:
    cuts, temperature = Diffeomorphism().draw_law(10_000, 32, seeded())
    rng = np.random.default_rng(0)
    tops = rng.integers(3, 101, 10_000)
    plain = (rng.beta(0.5, 0.5, 10_000) * (tops + 1 - 2) + 2).astype(int)
    bins = [2, 3, 5, 8, 13, 21, 34, 55, 80, 101]
    table = [np.histogram(draws, bins)[0] for draws in (cuts.numpy(), np.minimum(plain, tops))]
    assert stats.chi2_contingency(np.array(table)).pvalue > IMPROBABLE
    assert int(cuts.min()) == 2 and int(cuts.max()) <= 100
    low, high = temperature_bounds(cuts, 32)
    free = high > 1.01 * low
    assert 0.3 < float(free.double().mean()) < 0.9
    place = ((temperature - low) / (high - low))[free]
    assert stats.kstest(place.numpy(), "arcsine").pvalue > IMPROBABLE
    assert torch.equal(temperature[high == low], low[high == low])


@pytest.mark.parametrize("side", [8, 32, 224])
def test_the_coldest_displacement_is_half_a_pixel(side: int) -> None:
    """sqrt(pi T log c) / 2 of the side; the hottest is 1 / (pi c) of it, if that is more."""
    cuts = torch.arange(2, 101)
    low, high = temperature_bounds(cuts, side)
    assert torch.allclose(side * (math.pi * low * cuts.log()).sqrt() / 2, torch.tensor(0.5, dtype=torch.float64))
    typical = side * (math.pi * high * cuts.log()).sqrt() / 2
    assert torch.allclose(typical, (side / (math.pi * cuts)).double().clamp(min=0.5), rtol=1e-6)


def test_amplitudes_of_colours() -> None:
    (amplitudes,) = SmoothColour(cut=5, temperature=0.04).draw((10_000, 3, 8, 8), seeded())
    cuts = (amplitudes != 0).sum(dim=2)
    assert torch.equal(cuts[:, 0], cuts[:, 2])
    assert stats.chisquare(torch.bincount(cuts[:, 0], minlength=6)[1:].numpy()).pvalue > IMPROBABLE
    rng = np.random.default_rng(0)
    plain = np.sqrt(rng.uniform(0, 0.04, 10_000)) * rng.standard_normal(10_000)
    assert stats.ks_2samp(amplitudes[:, 0, 0].numpy(), plain).pvalue > IMPROBABLE
    full = amplitudes[cuts[:, 0] == 5]
    for one, other in [((0, 0), (1, 0)), ((0, 0), (0, 4)), ((2, 1), (2, 3))]:
        first, second = (full[:, channel, mode] > 0 for channel, mode in (one, other))
        signs = stats.contingency.crosstab(first, second).count
        assert stats.chi2_contingency(signs).pvalue > IMPROBABLE
    # one temperature for all that belongs to an image: sizes go together, signs do not
    assert stats.spearmanr(full[:, 0, 0].abs(), full[:, 1, 4].abs()).pvalue < IMPROBABLE


def test_bands_of_colours() -> None:
    """Cut-off, then the lowest mode, then the modes of the band that are left."""
    (amplitudes,) = SmoothColour(cut=6, band=2).draw((20_000, 1, 8, 8), seeded())
    present = amplitudes[:, 0] != 0
    patterns = present.long() @ (2 ** torch.arange(6))
    found = torch.bincount(patterns, minlength=64)
    expected = np.zeros(64)
    for cut in range(1, 7):
        for lowest in range(1, cut + 1):
            modes = range(lowest, min(lowest + 2, cut + 1))
            expected[sum(2 ** (k - 1) for k in modes)] += 20_000 / 6 / cut
    assert not found[expected == 0].any()
    assert stats.chisquare(found[expected > 0].numpy(), expected[expected > 0]).pvalue > IMPROBABLE


@pytest.mark.parametrize("images", [levels((2, 3, 16, 16)), torch.rand(2, 3, 16, 16, generator=seeded())])
def test_colours_of_photographs(images: Tensor) -> None:
    """500 modes in bands of 20, as the authors have it for ImageNet: more of them, so a finer table."""
    colour = SmoothColour(500, 0.05, band=20)
    (amplitudes,) = colour.draw(images.shape, seeded(2))
    error = (colour.apply(images, amplitudes) - plainly("colour", images, amplitudes)).abs()
    assert float(error.mean()) < 2e-3


def test_kernels() -> None:
    (kernels,) = RandomFilter().draw((10_000, 3, 8, 8), seeded())
    kernels[:, 2, 2] -= 1
    rng = np.random.default_rng(0)
    plain = rng.uniform(0, 4, 10_000) * rng.standard_normal(10_000)
    for row, column in [(0, 0), (1, 1), (2, 2)]:
        assert stats.ks_2samp(kernels[:, row, column].numpy(), plain).pvalue > IMPROBABLE
    assert stats.spearmanr(kernels[:, 0, 0].abs(), kernels[:, 1, 1].abs()).pvalue < IMPROBABLE  # one sigma an image


# ---- the mixture


def test_shares() -> None:
    shares = mixing_shares(10_000, 3, seeded())
    assert torch.allclose(shares.sum(dim=1), torch.ones(10_000)) and bool((shares >= 0).all())
    assert stats.kstest(shares[:, 0].numpy(), "uniform").pvalue > IMPROBABLE
    weights = shares[:, 1:] / shares[:, 1:].sum(dim=1, keepdim=True)
    for chain in weights.T:  # Dirichlet(1, 1, 1)
        assert stats.kstest(chain.numpy(), stats.beta(1, 2).cdf).pvalue > IMPROBABLE
    assert stats.pearsonr(shares[:, 0], weights[:, 0]).pvalue > IMPROBABLE


def test_chains() -> None:
    plan = draw_plan(10_000, 3, 3, seeded())
    depths = (plan >= 0).sum(dim=0)
    assert torch.equal(plan >= 0, torch.arange(3)[:, None] < depths)  # a chain that has ended stays so
    assert stats.chisquare(torch.bincount(depths, minlength=4)[1:].numpy()).pvalue > IMPROBABLE
    whole = plan[:, depths == 3]
    cells = torch.bincount(torch.tensor([9, 3, 1]) @ whole, minlength=27)
    assert len(cells) == 27 and stats.chisquare(cells.numpy()).pvalue > IMPROBABLE
    pairs = torch.bincount(4 * depths[:-1] + depths[1:], minlength=16).view(4, 4)[1:, 1:]
    assert stats.chi2_contingency(pairs.numpy()).pvalue > IMPROBABLE


@pytest.mark.parametrize(("width", "depth"), [(3, 3), (1, 1), (2, 4)])
def test_the_mixture_is_the_plain_one(width: int, depth: int) -> None:
    """One image after the other, with the same draws: shares, then the plan, then what each step needs."""
    images, prime, generator = levels((5, 3, 9, 12)), Prime(width, depth, colour_cut=8), seeded(3)
    primitives = {**PRIMITIVES, "colour": partial(SmoothColour, 8)}  # so smooth that the table hardly matters
    mixed = prime(images, seeded(3))
    shares = mixing_shares(5, width, generator)
    plan = draw_plan(5 * width, depth, 3, generator)
    ends = images.repeat(width, 1, 1, 1).double()
    for chosen in plan:
        for number, name in enumerate(ORACLES):
            rows = (chosen == number).nonzero()[:, 0]
            if len(rows):
                (parameters,) = primitives[name]().draw((len(rows), 3, 9, 12), generator)
                ends[rows] = plainly(name, ends[rows], parameters)
    for image, result, own, chains in zip(images, mixed, shares, ends.view(width, 5, 3, 9, 12).unbind(1), strict=True):
        expected = own[0] * image + sum(share * chain for share, chain in zip(own[1:], chains, strict=True))
        assert float((result - expected).abs().max()) < 1e-3


def test_only_named_primitives_are_used() -> None:
    images = torch.zeros(20, 3, 8, 8)
    images[..., 4:] = 1
    recoloured = Prime(primitives=("colour",))(images, seeded())
    assert torch.allclose(recoloured, images, atol=1e-4)
    assert not torch.allclose(Prime(primitives=("colour", "filter"))(images, seeded()), images, atol=0.1)


def test_mates_do_not_matter() -> None:
    images, others = levels((6, 3, 16, 16)), levels((6, 3, 16, 16), seed=9)
    others[2] = images[2]
    assert torch.allclose(Prime()(images, seeded())[2], Prime()(others, seeded())[2], atol=1e-6)


def test_all_randomness_comes_from_the_generator() -> None:
    images, prime = levels((20, 3, 10, 10)), Prime()
    state = torch.get_rng_state()
    first = prime(images, seeded(7))
    assert torch.equal(first, prime(images, seeded(7)))
    assert torch.equal(torch.get_rng_state(), state)
    generator = seeded(7)
    assert torch.equal(first, prime(images, generator))
    again = prime(images, generator)
    assert all(not torch.equal(a, b) for a, b in zip(first, again, strict=True))
    torch.manual_seed(11)
    unnamed = prime(images)
    assert torch.equal(unnamed, prime(images, seeded(11)))  # torch's global one where none is given


# ---- the border


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats_of_all_kinds(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    images = levels(shape).to(dtype)
    before = images.clone()
    changed = Prime()(images, seeded())
    assert changed.dtype == dtype and changed.shape == shape
    assert float(changed.min()) >= 0 and float(changed.max()) <= 1
    assert torch.equal(images, before)
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 8e-3}.get(dtype, 1e-6)
    expected = Prime()(images.float(), seeded())
    assert float((changed.float() - expected).abs().max()) <= tolerance


@pytest.mark.parametrize("channels", [1, 3])
def test_bytes(channels: int) -> None:
    pixels = torch.randint(0, 256, (6, 9, 14, channels), generator=seeded(), dtype=torch.uint8)
    changed = Prime()(pixels, seeded(1))
    expected = Prime()(pixels.permute(0, 3, 1, 2) / 255, seeded(1)).permute(0, 2, 3, 1) * 255
    assert changed.dtype == torch.uint8 and changed.shape == pixels.shape
    assert float((changed - expected).abs().max()) <= 0.501
    assert torch.equal(Prime()(pixels.numpy(), seeded(1)), changed)


@pytest.mark.parametrize("layout", ["channels last", "every other", "expanded"])
def test_layouts_of_memory(layout: str) -> None:
    images = {
        "channels last": levels((6, 3, 9, 8)).contiguous(memory_format=torch.channels_last),
        "every other": levels((12, 3, 9, 8))[::2],
        "expanded": levels((1, 3, 9, 8)).expand(6, -1, -1, -1),
    }[layout]
    assert torch.allclose(Prime()(images, seeded()), Prime()(images.contiguous(), seeded()), atol=1e-6)


def test_autocast_changes_nothing() -> None:
    images = levels((8, 3, 16, 16))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = Prime()(images, seeded())
    assert torch.equal(low, Prime()(images, seeded()))


def test_no_gradients() -> None:
    assert not Prime()(levels((2, 3, 8, 8)).requires_grad_(), seeded()).requires_grad


@pytest.mark.parametrize("shape", [(0, 3, 8, 8), (1, 1, 8, 8), (1, 3, 224, 8)])
def test_batches_of_any_number(shape: tuple[int, ...]) -> None:
    assert Prime()(torch.rand(shape, generator=seeded()), seeded()).shape == shape


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (torch.zeros(2, 3, 7, 8), "prime wants images of 8 pixels a side or more; got 7x8"),
        (torch.zeros(2, 4, 8, 8), "float32 of shape (2, 4, 8, 8)"),
        (torch.full((2, 3, 8, 8), 2.0), "got values from 2 to 2"),
        (torch.full((2, 3, 8, 8), torch.nan), "NaN"),
        (torch.zeros(3, 8, 8), "got 3 dimensions"),
    ],
)
def test_images_that_do_not_fit(images: Tensor, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Prime()(images, seeded())
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Prime(width=0), "a width and a depth of 1 or more; got 0 and 3"),
        (lambda: Prime(depth=0), "a width and a depth of 1 or more; got 3 and 0"),
        (lambda: Prime(primitives=("color",)), "no primitive 'color'; did you mean 'colour'?"),
        (lambda: Prime(primitives=()), "one primitive or more of diffeomorphism, colour, filter; got none"),
        (lambda: Prime(displacement_cuts=(1, 100)), "cut-offs of 2 or more, low before high; got (1, 100)"),
        (lambda: Prime(displacement_cuts=(5, 5)), "got (5, 5)"),
        (lambda: Prime(colour_cut=0), "a cut-off of 1 or more and a temperature of 0 or more; got 0"),
        (lambda: Prime(colour_temperature=math.nan), "got 100 and nan"),
        (lambda: Prime(colour_band=0), "a band of 1 or more modes; got 0"),
        (lambda: Prime(filter_size=4), "an odd size of 3 or more and a sigma of 0 or more; got 4"),
        (lambda: Prime(filter_size=1), "got 1 and 4.0"),
        (lambda: Prime(filter_sigma=-1.0), "got 3 and -1.0"),
    ],
)
def test_settings_that_do_not_fit(make: Callable[[], Prime], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert sentence in str(caught.value)


def test_every_primitive_has_an_oracle() -> None:
    assert list(PRIMITIVES) == list(ORACLES)
    assert all(issubclass(kind, Primitive) for kind in PRIMITIVES.values())
