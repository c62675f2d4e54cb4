"""OneOf: each image gets one of several augmentations."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from weatherproof import DeepAugment, InputError
from weatherproof.augment import AUGMENTATIONS, OneOf


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Plus:
    """Makes images brighter by a constant."""

    def __init__(self, amount: float = 0.25) -> None:
        self.amount = amount

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        return images + self.amount


def test_each_is_equally_likely_and_whole() -> None:
    images = torch.rand(3000, 3, 2, 2, generator=seeded(0)) * 0.5
    one_of = OneOf(["none", Plus(), {"class_path": f"{__name__}.Plus", "init_args": {"amount": 0.5}}])
    added = (one_of(images, seeded(1)) - images).flatten(1)
    assert torch.allclose(added, added[:, :1].expand_as(added), atol=1e-6)
    counts = torch.bincount((added[:, 0] * 4).round().long(), minlength=3)
    assert chisquare(counts.numpy()).pvalue > 1e-3


def test_the_choice_belongs_to_the_key() -> None:
    images = torch.rand(40, 3, 2, 2, generator=seeded(0)) * 0.5
    one_of, order = OneOf(["none", Plus()]), torch.randperm(40, generator=seeded(2)).tolist()
    whole = one_of(images, seeded(1))
    assert torch.equal(one_of(images[order[:7]], seeded(1), keys=order[:7]), whole[order[:7]])
    assert not torch.equal(one_of(images, seeded(3)), whole)


def test_members_get_the_keys_of_their_images() -> None:
    """A processed image is the same with any others: what DeepAugment does goes by the key as well."""
    images = torch.rand(12, 3, 16, 16, generator=seeded(0))
    one_of = OneOf(["none", "flip", DeepAugment("edsr_desk"), {"class_path": "deepaugment",
                                                               "init_args": {"network": "unet_desk"}}])  # fmt: skip
    whole = one_of(images, seeded(1))
    alone = torch.cat([one_of(images[i : i + 1], seeded(1), keys=[i]) for i in range(12)])
    same = (whole - alone).abs().flatten(1).amax(dim=1) < 1e-4
    flipped = (whole.flip(3) - images).abs().flatten(1).amax(dim=1) < 1e-6
    plain = (whole - images).abs().flatten(1).amax(dim=1) < 1e-6
    assert same[~flipped & ~plain].all() and int((~flipped & ~plain).sum()) >= 2


def test_bytes_come_back_as_bytes() -> None:
    images = torch.randint(0, 256, (5, 16, 16, 3), dtype=torch.uint8, generator=seeded(0))
    assert torch.equal(OneOf(["none"])(images), images)


def test_recipes_can_name_it() -> None:
    built = AUGMENTATIONS["one_of"](choices=["none", {"class_path": "one_of", "init_args": {"choices": ["flip"]}}])
    assert isinstance(built.choices[1], OneOf)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("choices", "sentence"), [
    ([], r"wants a list of augmentations to choose from; got \[\]"),
    ("none", "wants a list of augmentations to choose from; got 'none'"),
    (["nonne"], r"one_of.choices\[0\]: there is no 'nonne'; did you mean 'none'"),
    (["none", {"class_path": "deepaugment", "init_args": {"netwerk": "edsr"}}], "unknown key 'netwerk'.*network"),
    ([3], "wanted a name, or a mapping"),
])  # fmt: skip
def test_what_is_refused(choices: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        OneOf(choices)  # type: ignore[arg-type]
