"""Streams by name: equal names draw equal numbers, other names other numbers, and nobody's global draws move."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from weatherproof.randomness import seed_global_generators, seed_of, stream

NAMES: list[tuple[int, tuple[str | int, ...]]] = [
    (0, ()),
    (1, ()),
    (0, ("order",)),
    (0, ("order", 0)),
    (0, ("order", 1)),
    (0, ("order", 10)),
    (0, ("order", 1, 0)),
    (1, ("order", 0)),
    (10, ("order", 0)),
    (0, ("augment", 0)),
    (0, (0, "order")),
    (2**62, ("order",)),
]


@pytest.mark.parametrize(("seed", "words"), NAMES)
def test_equal_words_draw_equal_numbers(seed: int, words: tuple[str | int, ...]) -> None:
    first, second = stream(seed, *words), stream(seed, *words)
    assert torch.equal(torch.rand(20, generator=first), torch.rand(20, generator=second))


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(NAMES, 2)))
def test_other_words_draw_other_numbers(
    one: tuple[int, tuple[str | int, ...]], other: tuple[int, tuple[str | int, ...]]
) -> None:
    first, second = (torch.rand(20, generator=stream(seed, *words)) for seed, words in (one, other))
    assert not torch.equal(first, second)


def test_streams_stay_what_they_are() -> None:
    """Runs of an older version are resumed: the draws of a name may never change."""
    assert seed_of(0, "order", 0) == 3991725939186754870
    assert seed_of(7) == 5135535630271676732


@given(st.integers(0, 2**63 - 1), st.lists(st.text(max_size=8) | st.integers(0, 10**9), max_size=4))
def test_seeds_fit_a_generator(seed: int, words: list[str | int]) -> None:
    assert 0 <= seed_of(seed, *words) < 2**63
    assert stream(seed, *words).initial_seed() == seed_of(seed, *words)


def test_drawing_from_a_stream_leaves_the_global_generator() -> None:
    state = torch.get_rng_state()
    torch.rand(3, generator=stream(0, "x"))
    assert torch.equal(torch.get_rng_state(), state)


def test_global_generators_are_seeded_as_torch_seeds_them() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        expected = torch.rand(4)
        seed_global_generators(seed_of(0, "other"))
        other = torch.rand(4)
        seed_global_generators(5)
        assert torch.equal(torch.rand(4), expected) and not torch.equal(other, expected)


def test_cuda_is_seeded_once_it_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    with torch.random.fork_rng(devices=[]):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
        seed_global_generators(1)
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        seed_global_generators(2)
    assert seeded == [2]
