"""DeepAugment as a whole: each image as if it were alone, the draws' probabilities, all networks, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import deepaugment_by_hand as by_hand
import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor, nn
from torch.nn import functional

import weatherproof
from weatherproof import DeepAugment, InputError
from weatherproof.augment.deepaugment import cae as distorted_cae
from weatherproof.augment.deepaugment.draw import Draw
from weatherproof.augment.deepaugment.edsr import before_body, way_through
from weatherproof.networks.corruption import CAE, EDSR, NETWORKS
from weatherproof.randomness import seed_of

SMALL_CAE = {"width": 16, "bits": 8, "stem": 8, "fine": 8, "last": 4}


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fresh(make: Callable[..., nn.Module], **options: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return make(**options).eval()


def some_images(count: int, side: int = 16, seed: int = 0, channels: int = 3) -> Tensor:
    coarse = torch.rand(count, channels, 4, 4, generator=seeded(seed))
    noise = torch.rand(count, channels, side, side, generator=seeded(seed + 1))
    return (functional.interpolate(coarse, (side, side), mode="bilinear") * 0.8 + 0.2 * noise).clamp(0, 1)


def base_of(generator: torch.Generator) -> int:
    return int(torch.randint(2**63 - 1, (), generator=generator))


def test_edsr_is_what_is_written_out_for_each_image() -> None:
    """Every distortion before the body and within it comes up, with three operations on the weights each."""
    network = fresh(EDSR, features=8, blocks=16)
    images = some_images(60, 8)
    ours = DeepAugment(network)(images, seeded(3))
    base, seen = base_of(seeded(3)), set()
    for number, image in enumerate(images):
        draw, state = Draw(seed_of(base, number)), by_hand.state_of(network)
        for option in draw.several(17, 3):
            by_hand.edsr_operation(option, state, draw)
        expected, distortions = by_hand.edsr_forward(network, state, image, draw)  # type: ignore[arg-type]
        torch.testing.assert_close(ours[number], expected.float(), rtol=0, atol=2e-4)
        seen |= {("before", distortions[0]), ("within", distortions[1])}
    assert len(seen) == 4 + 5
    assert float(((ours > 0) & (ours < 1)).float().mean()) > 0.5  # the comparison is not of what was cut off


def test_the_shipped_edsr_is_what_is_written_out_for_each_image() -> None:
    network, images = weatherproof.corruption_network("edsr"), some_images(6, 16)
    ours = DeepAugment("edsr")(images, seeded(4))
    base = base_of(seeded(4))
    for number, image in enumerate(images):
        draw, state = Draw(seed_of(base, number)), by_hand.state_of(network)
        for option in draw.several(17, 3):
            by_hand.edsr_operation(option, state, draw)
        expected, _ = by_hand.edsr_forward(network, state, image, draw)  # type: ignore[arg-type]
        torch.testing.assert_close(ours[number], expected.float(), rtol=0, atol=1e-3)


def test_the_cae_is_what_is_written_out_for_each_image() -> None:
    """Every distortion of the code comes up. A bit that is drawn on the edge may fall either way."""
    network = fresh(CAE, **SMALL_CAE)
    images = some_images(100, 16)
    ours = DeepAugment(network)(images, seeded(5))
    base, seen, off = base_of(seeded(5)), set(), 0
    for number, image in enumerate(images):
        draw, state = Draw(seed_of(base, number)), by_hand.state_of(network)
        by_hand.cae_operation(draw.below(8), state, draw, 16 / 128)
        expected, option = by_hand.cae_forward(network, state, image, draw)  # type: ignore[arg-type]
        off += not torch.allclose(ours[number], expected.float(), rtol=0, atol=1e-4)
        seen.add(option)
    assert seen == set(range(9))
    assert off <= 1


@pytest.mark.parametrize("option", range(9))
def test_distortions_of_the_code(option: int) -> None:
    """The published number of channels; bits of half the places are sure."""
    z = torch.rand(32, 6, 5, generator=seeded(option)).mul(3).sub(1.5).clamp(-1, 1)
    seeds = [seed for seed in range(200) if Draw(seed).below(9) == option][:8]
    assert len(seeds) == 8
    for seed in seeds:
        expected, drawn = by_hand.cae_code(z.double().numpy(), Draw(seed))
        assert drawn == option
        np.testing.assert_allclose(distorted_cae.coded(z, Draw(seed)).numpy(), expected, atol=1e-5)


def test_distortions_of_the_code_are_equally_likely() -> None:
    """Told from outside, where they can be: with z = 1 every bit is +1, unless a place or its sign was lost."""
    z = torch.ones(32, 8, 8)
    counts = {"rescaled": 0, "all channels alike": 0, "as it was": 0, "channels differ": 0}
    for seed in range(900):
        code = distorted_cae.coded(z, Draw(seed))
        alike = all(torch.equal(code[0], other) for other in code)
        if float(code.max()) > 1:
            counts["rescaled"] += 1
        elif torch.equal(code, z):
            counts["as it was"] += 1
        else:
            counts["all channels alike" if alike else "channels differ"] += 1
    # 0 rescales; negated places are alike; permuted and mirrored ones as they were, and mixing and adding leaves z near
    # 1 or above. Masked places become coins, and shifted channels get zeros, which do too.
    assert counts["all channels alike"] == pytest.approx(100, abs=4 * 10)
    assert counts["rescaled"] == pytest.approx(100, abs=4 * 10)
    assert chisquare(list(counts.values())[:2]).pvalue > 1e-3


def test_distortions_before_the_body() -> None:
    """One of four, equally likely; told by what they leave of activations that are all different and above 0."""
    x = torch.rand(64, 8, 8, generator=seeded(0)) + 0.5
    counts, copies = dict.fromkeys(("copies", "zeros", "signs", "none"), 0), []
    zeros, signs = 0, 0
    for seed in range(800):
        y = before_body(x, Draw(seed))
        changed = [channel for channel in range(64) if not torch.equal(y[channel], x[channel])]
        if (y < 0).any():
            counts["signs"] += 1
            signs += int((y < 0).sum())
            assert torch.equal(y.abs(), x)
        elif (y == 0).any():
            counts["zeros"] += 1
            zeros += int((y == 0).sum())
            assert torch.equal(y[y != 0], x[y != 0])
        elif changed:
            counts["copies"] += 1
            copies.append(len(changed))
            assert all(any(torch.equal(y[channel], other) for other in x) for channel in changed)
        else:
            counts["none"] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-3
    assert max(copies) == 5 and np.mean(copies) == pytest.approx(5 * 63 / 64 - 10 / 64, abs=0.1)
    assert zeros / (counts["zeros"] * x.numel()) == pytest.approx(0.05, abs=0.002)
    assert signs / (counts["signs"] * x.numel()) == pytest.approx(0.025, abs=0.002)


def test_ways_through_the_body() -> None:
    """One of five, equally likely; a third of the rectified by relu, a third of the mirrored along the height; and the
    last module that stays."""
    x = torch.tensor([[[-1.0, 2.0], [3.0, 5.0]], [[7.0, -11.0], [13.0, 17.0]]])
    named = {
        "negated": -x,
        "relu": x.relu(),
        "gelu": functional.gelu(x),
        "channels and height": x.flip((0, 1)),
        "channels and width": x.flip((0, 2)),
    }
    counts, last = dict.fromkeys((*named, "as it is"), 0), np.zeros(17)
    for seed in range(6000):
        way = way_through(16, Draw(seed))
        if way.only is not None:
            last[way.only] += 1
        elif way.within is None:
            counts["as it is"] += 1
        else:
            (name,) = [name for name, result in named.items() if torch.allclose(way.within(x), result)]
            counts[name] += 1
    shares = np.array([1 / 5, 1 / 15, 2 / 15, 1 / 15, 2 / 15, 1 / 5, 1 / 5])
    assert chisquare([*counts.values(), last.sum()], 6000 * shares).pvalue > 1e-3
    # Of three draws of 15 with replacement: none is 16; 16 and not 15; 16, 15 and not 14; 16, 15 and 14.
    some, both, three = 1 - (14 / 15) ** 3, 1 - 2 * (14 / 15) ** 3 + (13 / 15) ** 3, 6 / 15**3
    expected = np.array([1 - some, some - both, both - three])
    assert last[:14].sum() <= 12 and last[13] == last[:14].sum()
    assert chisquare(last[16:13:-1], last[14:].sum() * expected / expected.sum()).pvalue > 1e-3


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "edsr"])
def test_each_image_is_processed_as_if_it_were_alone(name: str) -> None:
    """Whatever it is batched and chunked with, in any order, by its key."""
    augmentation, images = DeepAugment(name), some_images(9)
    together = augmentation(images, seeded(0))
    assert together.shape == images.shape and together.dtype == images.dtype
    assert float(together.min()) >= 0 and float(together.max()) <= 1
    apart = torch.cat([augmentation(images[i : i + 1], seeded(0), keys=[i]) for i in range(9)])
    torch.testing.assert_close(apart, together, rtol=0, atol=1e-4)
    order = [4, 8, 0, 2]
    some = DeepAugment(augmentation.network, chunk=3)(images[order], seeded(0), keys=order)
    torch.testing.assert_close(some, together[order], rtol=0, atol=1e-4)
    changed = (together - images).abs().flatten(1).mean(dim=1)
    assert int((changed > 1e-3).sum()) >= 3
    assert not torch.allclose(augmentation(images, seeded(1)), together, atol=1e-3)


def test_same_images_are_changed_in_different_ways() -> None:
    images = some_images(1).expand(16, -1, -1, -1)
    for name in ("edsr_desk", "cae_desk", "unet_desk"):
        results = DeepAugment(name)(images, seeded(0))
        assert len({result.numpy().tobytes() for result in results}) >= 8


@pytest.mark.parametrize("name", ["edsr_desk", "cae_desk", "vqvae_desk"])
@pytest.mark.parametrize(("channels", "size"), [(1, (16, 16)), (3, (19, 22))])
def test_grey_and_odd_sizes(name: str, channels: int, size: tuple[int, int]) -> None:
    images = torch.rand(3, channels, *size, generator=seeded(0))
    assert DeepAugment(name)(images, seeded(0)).shape == images.shape
    as_bytes = (images * 255).byte().permute(0, 2, 3, 1)
    result = DeepAugment(name)(as_bytes, seeded(0))
    assert result.shape == as_bytes.shape and result.dtype == torch.uint8


def test_sizes_of_other_networks_are_taken() -> None:
    for scale in (3, 4):
        network = fresh(EDSR, features=4, blocks=3, scale=scale)
        assert DeepAugment(network)(some_images(5), seeded(0)).shape == (5, 3, 16, 16)


class Own(nn.Module):
    """A user's network, with dropout, BatchNorm and a look at a value."""

    def __init__(self, looks: bool = False) -> None:
        super().__init__()
        self.looks = looks
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm, self.drop = nn.BatchNorm2d(8), nn.Dropout()
        self.back = nn.ConvTranspose2d(8, 3, 3, padding=1)

    def forward(self, images: Tensor) -> Tensor:
        if self.looks and float(images.mean()) < 0:
            return images
        change = self.back(self.drop(self.norm(self.conv(images))))
        return torch.sigmoid(4 * (images - 0.5) + change)


def test_a_network_of_ones_own_is_left_as_it_was() -> None:
    network = fresh(Own)
    network.train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    torch.manual_seed(3)
    state = torch.get_rng_state()
    images = some_images(6)
    kept = images.clone()
    result = DeepAugment(network)(images, seeded(0))
    assert torch.equal(torch.get_rng_state(), state) and torch.equal(images, kept)
    assert network.training and network.drop.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(parameter.requires_grad for parameter in network.parameters()) and not result.requires_grad
    assert torch.equal(result, DeepAugment(network)(images, seeded(0)))


def test_a_network_that_looks_at_values_takes_one_image_at_a_time() -> None:
    images = some_images(4)
    plain = DeepAugment(fresh(Own))(images, seeded(0))
    with pytest.warns(UserWarning, match="Own takes one example at a time"):
        slow = DeepAugment(fresh(lambda: Own(looks=True)))(images, seeded(0))
    torch.testing.assert_close(slow, plain, rtol=0, atol=1e-5)


class Explodes(Own):
    """Finite as it is, and not when its weights change."""

    def forward(self, images: Tensor) -> Tensor:
        drift = (self.conv.weight - self.reference).abs().sum() + (self.back.weight - self.other).abs().sum()
        return images + drift * 1e38 * 1e38 * (images - 0.5) * 0 + drift * 1e30


def test_what_is_not_finite_is_held_inside() -> None:
    network = Explodes()
    network.reference, network.other = network.conv.weight.detach().clone(), network.back.weight.detach().clone()
    result = DeepAugment(network)(some_images(8), seeded(0))
    assert torch.isfinite(result).all() and float(result.min()) >= 0 and float(result.max()) <= 1


def test_low_precision_is_near() -> None:
    images = some_images(8, 32)
    full = DeepAugment("edsr_desk")(images, seeded(0))
    low = DeepAugment("edsr_desk", precision="bfloat16")(images, seeded(0))
    assert not torch.equal(low, full)
    assert float((low - full).abs().median()) < 0.01
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(DeepAugment("edsr_desk", precision="float32")(images, seeded(0)), full)
        assert torch.equal(DeepAugment("edsr_desk")(images, seeded(0)), low)


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)

    def forward(self, images: Tensor) -> Tensor:
        return self.conv(images)[..., ::2].clamp(0, 1)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"there is no corruption network 'edsr_dsk'.*edsr_desk"):
        DeepAugment("edsr_dsk")
    with pytest.raises(InputError, match="a chunk is auto, or 1 image or more; got 0"):
        DeepAugment("edsr_desk", chunk=0)
    with pytest.raises(InputError, match="a precision is auto, float32 or bfloat16; got 'float16'"):
        DeepAugment("edsr_desk", precision="float16")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no parameters, so none to perturb"):
        DeepAugment(nn.Identity())
    with pytest.raises(InputError, match="keys: got 2 for 3 images"):
        DeepAugment("edsr_desk")(some_images(3), keys=[0, 1])
    with pytest.raises(InputError, match=r"Halves gives \(2, 3, 16, 8\) for images of shape"):
        DeepAugment(Halves())(some_images(3))
    with pytest.raises(InputError, match="with 1 or 3 channels"):
        DeepAugment("edsr_desk")(torch.rand(2, 4, 16, 16))


def test_no_images() -> None:
    assert DeepAugment("edsr_desk")(torch.rand(0, 3, 16, 16)).shape == (0, 3, 16, 16)
