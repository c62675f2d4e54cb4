"""Choosing some of the examples: disjoint, complete, in proportion, and the same every time."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from weatherproof.data import ArrayImages, ImageSet, stratified
from weatherproof.data.splits import divide, holdout_count
from weatherproof.errors import InputError

COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=8)


def labels_of(counts: list[int]) -> torch.Tensor:
    """Labels with so many of each class, in an order that mixes the classes."""
    labels = torch.cat([torch.full((count,), label) for label, count in enumerate(counts)])
    return labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))]


@st.composite
def choices(draw: st.DrawFn) -> tuple[list[int], int]:
    counts = draw(COUNTS)
    return counts, draw(st.integers(0, sum(counts)))


@given(choices(), st.integers(0, 2**40))
def test_disjoint_complete_ascending_and_deterministic(choice: tuple[list[int], int], seed: int) -> None:
    counts, count = choice
    labels = labels_of(counts)
    chosen, rest = stratified(labels, count, seed)
    assert len(chosen) == count and sorted(chosen + rest) == list(range(len(labels)))
    assert chosen == sorted(chosen) and rest == sorted(rest)
    assert stratified(labels, count, seed) == (chosen, rest)


@given(choices(), st.integers(0, 2**40))
def test_every_class_is_there_when_there_is_room(choice: tuple[list[int], int], seed: int) -> None:
    counts, count = choice
    labels = labels_of(counts)
    found = set(labels[stratified(labels, count, seed)[0]].tolist())
    present = {label for label, size in enumerate(counts) if size}
    assert found <= present and len(found) == min(count, len(present))


@given(choices(), st.integers(0, 2**40))
def test_shares_are_rounded_as_one(choice: tuple[list[int], int], seed: int) -> None:
    """There is one share t such that every class has n t of its n examples, rounded, but at least one."""
    counts, count = choice
    present = [n for n in counts if n]
    assume(count > len(present))
    labels = labels_of(counts)
    taken = torch.bincount(labels[stratified(labels, count, seed)[0]], minlength=len(counts)).tolist()
    at_least = max((k - 0.5) / n for k, n in zip(taken, counts, strict=True) if k > 1)
    at_most = min(((k + 0.5) / n for k, n in zip(taken, counts, strict=True) if k < n), default=1.0)
    assert at_least <= at_most + 1e-12


@given(st.integers(1, 8), st.integers(1, 60), st.data())
def test_equal_classes_keep_equal_numbers(classes: int, size: int, data: st.DataObject) -> None:
    labels = labels_of([size] * classes)
    count = data.draw(st.integers(0, len(labels)))
    taken = torch.bincount(labels[stratified(labels, count, 0)[0]], minlength=classes)
    assert int(taken.max() - taken.min()) <= 1


def test_seeds_choose_others_and_every_example_may_be_chosen() -> None:
    labels = labels_of([10, 10])
    drawn = [stratified(labels, 4, seed)[0] for seed in range(100)]
    often = torch.bincount(torch.tensor(drawn).flatten(), minlength=20)
    assert often.min() > 5 and often.max() < 40  # 20 expected, with a standard deviation of 4


def test_rare_classes_are_not_favoured_by_their_number() -> None:
    """Which class gets the odd example out follows from the seed, not from the label."""
    labels = labels_of([10, 10, 10])
    odd = [int(torch.bincount(labels[stratified(labels, 4, seed)[0]]).argmax()) for seed in range(60)]
    assert set(odd) == {0, 1, 2}


@pytest.mark.parametrize("count", [-1, 11])
def test_too_many_to_choose(count: int) -> None:
    with pytest.raises(InputError, match=f"cannot choose {count} of 10 examples"):
        stratified(torch.zeros(10, dtype=torch.int64), count, 0)


@pytest.mark.parametrize(
    ("amount", "total", "count"), [(0.1, 50_000, 5000), (5000, 50_000, 5000), (1, 3, 1), (0.5, 3, 2), (2.9, 4, 2)]
)
def test_holdout_count(amount: float, total: int, count: int) -> None:
    assert holdout_count(amount, total) == count


@pytest.mark.parametrize("amount", [-0.1, -5, 100, 101, 1e9, 0.999, 0.001, float("nan"), float("inf")])
def test_holdouts_that_leave_nothing(amount: float) -> None:
    with pytest.raises(InputError, match=r"cannot hold out .* of 100 training images; give a fraction below 1 or"):
        holdout_count(amount, 100)


@given(st.lists(st.integers(2, 30), min_size=2, max_size=12))
def test_divide_leaves_every_class_on_both_sides(counts: list[int]) -> None:
    labels = labels_of(counts)
    pixels = torch.arange(len(labels)).remainder(256).to(torch.uint8).view(-1, 1, 1, 1)
    whole = ImageSet(ArrayImages(pixels), labels, tuple(map(str, range(len(counts)))))
    train, test = divide(whole)
    for part in (train, test):
        assert set(part.labels.tolist()) == set(range(len(counts)))
    assert len(train) + len(test) == len(whole)
    assert len(test) == max(round(0.2 * len(whole)), len(counts))
    assert torch.equal(divide(whole)[1].labels, test.labels)


@pytest.mark.parametrize("counts", [[5, 1, 5], [5, 0, 5]])
def test_divide_needs_two_of_each(counts: list[int]) -> None:
    labels = labels_of(counts)
    whole = ImageSet(ArrayImages(torch.zeros(len(labels), 1, 1, 1, dtype=torch.uint8)), labels, ("a", "b", "c"))
    with pytest.raises(InputError, match=rf"class 'b' has {counts[1]} image\(s\); it needs at least 2"):
        divide(whole)
