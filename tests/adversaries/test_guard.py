"""The SSIM guard against a scan of 10,001 points, and the paper's fit against numpy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from adversaries.small_networks import batch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weatherproof import InputError, SSIMGuard, ssim
from weatherproof.adversaries import guard as room
from weatherproof.measures.ray import Ray

SCAN = torch.linspace(0, 1, 10_001, dtype=torch.float64)
KINDS = ["noise", "blur", "flat", "other", "inverted", "brighter", "shifted", "checkers"]


def pairs(kind: str, seed: int, strength: float = 1.0, size: tuple[int, int] = (16, 16)) -> tuple[Tensor, Tensor]:
    """Two clean images and corrupted ones, float64."""
    clean = batch(2, size, seed=seed)[0].double()
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    checkers = ((torch.arange(size[0])[:, None] + torch.arange(size[1])) % 2).double().expand(clean.shape)
    corrupted = {
        "noise": clean + 0.3 * noise,
        "blur": torch.nn.functional.avg_pool2d(clean, 7, 1, 3),
        "flat": torch.full_like(clean, 0.5),
        "other": batch(2, size, seed=seed + 1000)[0].double(),
        "inverted": 1 - clean,
        "brighter": clean + 0.5,
        "shifted": clean.roll(5, 3),
        "checkers": checkers,
    }[kind]
    return clean, (clean + strength * (corrupted - clean)).clamp(0, 1)


def windows(height: int, width: int) -> Tensor:
    """Every 11x11 Gaussian window of an image as a column, (height width, windows)."""
    offsets = torch.arange(11, dtype=torch.float64) - 5
    weights = torch.exp(-(offsets[:, None] ** 2 + offsets**2) / (2 * 1.5**2))
    columns = []
    for top in range(height - 10):
        for left in range(width - 10):
            column = torch.zeros(height, width, dtype=torch.float64)
            column[top : top + 11, left : left + 11] = weights / weights.sum()
            columns.append(column.flatten())
    return torch.stack(columns, dim=1)


def scan(x: Tensor, y: Tensor) -> Tensor:
    """1 - SSIM at each of the 10,001 gammas, by the formula, from the pixels of x + gamma (y - x) themselves."""
    window = windows(*x.shape[1:])
    a, b = x.flatten(1), torch.lerp(x.flatten(1), y.flatten(1), SCAN.view(-1, 1, 1))
    mean_a, mean_b = a @ window, b @ window
    variance_a, variance_b = (a * a) @ window - mean_a**2, (b * b) @ window - mean_b**2
    covariance = (a * b) @ window - mean_a * mean_b
    similarity = (2 * mean_a * mean_b + 1e-4) / (mean_a**2 + mean_b**2 + 1e-4)
    similarity *= (2 * covariance + 9e-4) / (variance_a + variance_b + 9e-4)
    return 1 - similarity.mean(dim=(1, 2))


def scanned(clean: Tensor, corrupted: Tensor, limit: float) -> Tensor:
    """The largest of 10,001 gammas with 1 - SSIM <= limit, each image's own."""
    return torch.stack([SCAN[scan(x, y) <= limit].max() for x, y in zip(clean, corrupted, strict=True)])


@pytest.mark.parametrize("kind", KINDS)
def test_distances_along_a_ray_are_those_of_ssim(kind: str) -> None:
    clean, corrupted = pairs(kind, 0, size=(13, 17))
    gammas = torch.tensor([[0.0, 0.2, 1.0], [0.5, 0.01, 0.99]], dtype=torch.float64)
    found = Ray(clean, corrupted).distances(gammas)
    for row, own in enumerate(gammas):
        for column, gamma in enumerate(own):
            image = torch.lerp(clean[row], corrupted[row], gamma)
            expected = 1 - ssim(clean[row : row + 1], image[None]).item()
            assert found[row, column].item() == pytest.approx(expected, abs=1e-9)
            assert scan(clean[row], corrupted[row])[round(float(gamma) * 10_000)].item() == pytest.approx(
                expected, abs=1e-9
            )


@pytest.mark.parametrize("limit", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("kind", KINDS)
def test_it_takes_the_largest_gamma_that_is_allowed(kind: str, limit: float) -> None:
    for seed in range(3):
        clean, corrupted = pairs(kind, seed)
        expected = scanned(clean, corrupted, limit)
        for dtype in (torch.float64, torch.float32):
            found = SSIMGuard(limit).examine(clean.to(dtype), corrupted.to(dtype))
            assert (found.gamma.double() - expected).abs().max() <= 0.002
            assert (1 - ssim(clean.to(dtype), found.images)).max() <= limit + 1e-3


@settings(max_examples=15)
@given(st.sampled_from(KINDS), st.integers(0, 10**6), st.floats(0.01, 0.99), st.floats(0.05, 1))
def test_it_takes_the_largest_gamma_whatever_comes(kind: str, seed: int, limit: float, strength: float) -> None:
    clean, corrupted = pairs(kind, seed, strength)
    found = SSIMGuard(limit).examine(clean, corrupted)
    assert (found.gamma - scanned(clean, corrupted, limit)).abs().max() <= 0.002
    assert (1 - ssim(clean, found.images)).max() <= limit + 1e-3


class Wave:
    """A ray with distances of our choice."""

    def __init__(self, distances: list) -> None:  # type: ignore[type-arg]
        self.functions = distances

    def __getitem__(self, examples: Tensor) -> Wave:
        return Wave([self.functions[i] for i in examples.tolist()])

    def distances(self, gammas: Tensor) -> Tensor:
        return torch.stack([function(own) for function, own in zip(self.functions, gammas, strict=True)])


@given(st.floats(0.05, 0.95), st.floats(0.03, 0.3), st.floats(-0.2, 1.0), st.floats(0.1, 0.6))
def test_a_dip_between_grid_points_is_found(place: float, width: float, depth: float, limit: float) -> None:
    """Distances that rise beyond the limit, and dip once more as narrowly as a distance can (its windows vary over
    about sqrt(C2 / variance), some hundredths)."""

    def dips(gamma: Tensor) -> Tensor:
        rise = 1 - torch.exp(-((gamma / 0.1) ** 2))
        return rise - depth * torch.exp(-(((gamma - place) / width) ** 2)) * rise

    values = dips(SCAN)
    if values[-1] <= limit:
        return
    found = room.largest_within(Wave([dips, dips]), limit, torch.ones(2, dtype=torch.float64))  # type: ignore[arg-type]
    assert (found - SCAN[values <= limit].max()).abs().max() <= 0.002


@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_rule_is_numpys_fit_and_roots(kind: str) -> None:
    clean, corrupted = pairs(kind, 1)
    ray, limit = Ray(clean, corrupted), 0.2
    gammas = torch.linspace(0, 1, 9, dtype=torch.float64)
    found = room.root_of_fit(ray, limit, torch.ones(2, dtype=torch.float64))
    for own, distances in zip(found, ray.distances(gammas.expand(2, -1)), strict=True):
        roots = np.roots(np.polyfit(gammas.numpy(), distances.numpy() - limit, 2))
        clipped = np.clip(roots.real, 0, 1)
        assert own.item() == pytest.approx(clipped[np.abs(1 - clipped).argmin()], abs=1e-6)


def test_the_papers_rule_does_nothing_where_the_fit_is_concave() -> None:
    """What the exact search is for: heavy noise saturates, the parabola's second root lies beyond 1."""
    clean, corrupted = pairs("noise", 0)
    paper, exact = (SSIMGuard(0.3, mode).examine(clean, corrupted) for mode in ("paper", "exact"))  # type: ignore[arg-type]
    assert ((paper.gamma == 1) & (paper.distance > 0.5)).any()
    assert exact.distance.max() <= 0.3 and exact.pulled_back.all()


@pytest.mark.parametrize("mode", ["exact", "paper"])
def test_images_that_are_near_enough_pass_untouched(mode: str) -> None:
    near, far = pairs("brighter", 0, 0.05), pairs("noise", 0)
    clean, corrupted = torch.cat([near[0], far[0]]), torch.cat([near[1], far[1]])
    found = SSIMGuard(0.3, mode).examine(clean, corrupted)  # type: ignore[arg-type]
    assert found.distance_before[:2].max() < 0.3 < found.distance_before[2:].min()
    assert torch.equal(found.images[:2], corrupted[:2]) and not found.pulled_back[:2].any()
    assert torch.equal(SSIMGuard(0.3)(clean[:2], corrupted[:2]), corrupted[:2])
    torch.testing.assert_close(found.distance, 1 - ssim(clean, found.images), rtol=0, atol=1e-9)


def test_the_other_reading_is_a_floor_of_similarity() -> None:
    clean, corrupted = pairs("noise", 3)
    floor = SSIMGuard(0.3, reading="similarity_floor").examine(clean, corrupted)
    distance = SSIMGuard(0.7).examine(clean, corrupted)
    assert torch.equal(floor.images, distance.images) and ssim(clean, floor.images).min() >= 0.3 - 1e-9


def test_a_large_batch_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    clean, corrupted = (torch.cat([pairs(kind, 0)[side] for kind in KINDS]) for side in (0, 1))
    whole = SSIMGuard(0.2).examine(clean, corrupted)
    monkeypatch.setattr(room, "ELEMENTS", 3 * clean[0].numel())
    parts = SSIMGuard(0.2).examine(clean, corrupted)
    for name in whole.__dataclass_fields__:
        torch.testing.assert_close(getattr(parts, name), getattr(whole, name), rtol=0, atol=1e-12)


def test_autocast_does_not_reach_the_guard() -> None:
    clean, corrupted = (images.float() for images in pairs("noise", 0))
    expected = SSIMGuard(0.3)(clean, corrupted)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(SSIMGuard(0.3)(clean, corrupted), expected)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"threshold": 0.0}, "lies between 0 and 1; got 0.0"),
        ({"threshold": 1.5}, "lies between 0 and 1; got 1.5"),
        ({"mode": "papr"}, "no mode 'papr'; did you mean 'paper'"),
        ({"reading": "floor"}, "distance or similarity_floor; got 'floor'"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        SSIMGuard(**settings)  # type: ignore[arg-type]
