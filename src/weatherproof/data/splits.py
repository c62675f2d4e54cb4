"""Choosing some of the examples: every class keeps its share, and a seed decides which."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ..errors import InputError
from ..randomness import stream
from .image_sets import ImageSet

TEST_SHARE = 0.2  # of the images, where a set has no test split of its own


def stratified(labels: Tensor, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Positions of `count` examples with the classes in proportion, and positions of the others, both ascending.

    Every class that occurs is among the chosen when `count` allows it. Same labels, count and seed: same choice.
    """
    total = len(labels)
    if not 0 <= count <= total:
        raise InputError(f"cannot choose {count:,} of {total:,} examples")
    # Within each class, in random order, example k of n gets the rank (k + 1/2) / n; the smallest ranks first keep
    # every prefix close to the proportions. The first of each class goes before all others.
    order = torch.randperm(total, generator=stream(seed, "stratified"))
    rank = torch.empty(total, dtype=torch.float64)
    for label in range(int(labels.max()) + 1 if total else 0):
        members = order[labels[order] == label]
        rank[members] = (torch.arange(len(members), dtype=torch.float64) + 0.5) / len(members)
        rank[members[:1]] -= 1
    ranked = order[rank[order].argsort(stable=True)].tolist()
    return sorted(ranked[:count]), sorted(ranked[count:])


def holdout_count(amount: float, total: int) -> int:
    """How many examples a hold-out of `amount` is: a fraction below 1, a number of examples from 1 on."""
    count = 0 if not 0 < amount < total else round(amount * total) if amount < 1 else int(amount)
    if not 0 < count < total:
        raise InputError(
            f"cannot hold out {amount:g} of {total:,} training images; give a fraction below 1 or a number"
        )
    return count


def roles(splits: Mapping[str, ImageSet], name: str) -> dict[str, ImageSet]:
    """What the splits that a set has are for: some of train, validation and test.

    Without a test split, the validation split is for testing; without either, a stratified fifth is.
    """
    if "test" in splits:
        return dict(splits)
    if "validation" in splits:
        return {"test" if split == "validation" else split: images for split, images in splits.items()}
    (whole,) = splits.values()
    train, test = divide(whole, name)
    return {"train": train, "test": test}


def for_training(splits: Mapping[str, ImageSet], name: str) -> tuple[ImageSet, ImageSet | None, ImageSet]:
    """Train, validation (if there is one besides test) and test."""
    found = roles(splits, name)
    if "train" not in found:
        raise InputError(f"{name} has {' and '.join(splits)} images but none to train on")
    return found["train"], found.get("validation"), found["test"]


def divide(whole: ImageSet, name: str = "the data set") -> tuple[ImageSet, ImageSet]:
    """A train and a test split of a set that has none: a fifth is for testing, and every class is in both.

    The split is always the same: test images that moved with a training seed would end up among training images.
    """
    if len(whole) == 0:
        raise InputError(f"{name} holds no images")
    counts = torch.bincount(whole.labels, minlength=len(whole.classes))
    rarest = int(counts.argmin())
    if counts[rarest] < 2:
        raise InputError(
            f"{name}: class '{whole.classes[rarest]}' has {int(counts[rarest])} image(s); it needs at least 2, one to "
            "train on and one to test on"
        )
    count = max(holdout_count(TEST_SHARE, len(whole)), len(whole.classes))
    test, train = stratified(whole.labels, count, seed=0)
    return whole.take(train), whole.take(test)
