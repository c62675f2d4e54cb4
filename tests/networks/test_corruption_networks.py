"""The corruption networks: sizes, shapes, ranges, per-example weights, and modules that are refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

import weatherproof
from weatherproof.errors import InputError
from weatherproof.networks.corruption import CAE, EDSR, NETWORKS, VQVAE
from weatherproof.networks.corruption.fitness import refuse_misfit
from weatherproof.networks.corruption.saved import shipped_file

# parameters, and numbers of state besides: the paper's table of corruption networks
COUNTS = {
    "edsr": (1_369_859, 0),
    "cae": (2_241_859, 0),
    "vqvae": (662_723, 99_330),
    "unet": (58_627, 0),
    "affine": (6, 0),
    "edsr_desk": (21_763, 0),
    "cae_desk": (46_699, 0),
    "vqvae_desk": (53_075, 6_402),
    "unet_desk": (23_143, 0),
}


def fresh(name: str) -> nn.Module:
    torch.manual_seed(0)
    return weatherproof.corruption_network(name, weights=None)


@pytest.mark.parametrize("name", NETWORKS)
def test_sizes_are_the_papers(name: str) -> None:
    network = fresh(name)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    state = sum(value.numel() for value in network.state_dict().values()) - parameters
    assert (parameters, state) == COUNTS[name]


@pytest.mark.parametrize("name", NETWORKS)
@given(count=st.integers(1, 3), channels=st.sampled_from([1, 3]), height=st.integers(8, 41), width=st.integers(8, 41))
def test_any_size_comes_back_in_range(name: str, count: int, channels: int, height: int, width: int) -> None:
    if not name.endswith("_desk") and name not in ("unet", "affine"):
        height, width = min(height, 17), min(width, 17)  # the large ones take long
    network = fresh(name)
    images = torch.rand(count, channels, height, width, generator=torch.Generator().manual_seed(height))
    with torch.no_grad():
        output = network(images)
    assert output.shape == images.shape
    assert float(output.min()) >= 0 and float(output.max()) <= 1


@pytest.mark.parametrize("name", NETWORKS)
def test_other_sizes_are_padded_by_the_border_and_cut_back(name: str) -> None:
    """What a multiple of the network's stride gives for an image that was enlarged by hand."""
    network, images = fresh(name), torch.rand(2, 3, 18, 21, generator=torch.Generator().manual_seed(1))
    whole = functional.pad(images, (0, 3, 0, 2), mode="replicate")
    multiple = network.multiple
    with torch.no_grad():
        by_hand = network(whole)[..., :18, :21] if multiple == 4 else network(images)
        assert torch.equal(network(images), by_hand)


def per_example(network: nn.Module, images: Tensor, seed: int) -> dict[str, Tensor]:
    """A different set of weights for every image."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: value.detach() * (1 + 0.05 * torch.randn(len(images), *value.shape, generator=generator))
        for name, value in network.named_parameters()
    }


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_per_example_are_separate_passes(name: str) -> None:
    network, images = fresh(name), torch.rand(5, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    state = {key: value.clone() for key, value in network.state_dict().items()}
    weights = per_example(network, images, 3)

    def one(parameters: dict[str, Tensor], image: Tensor) -> Tensor:
        return functional_call(network, parameters, (image[None],))[0]

    with torch.no_grad():
        together = vmap(one)(weights, images)
        apart = [one({key: value[i] for key, value in weights.items()}, image) for i, image in enumerate(images)]
    assert torch.allclose(together, torch.stack(apart), atol=1e-5)
    assert (together - network(images)).abs().max() > 1e-3  # the weights did make a difference
    assert all(torch.equal(state[key], value) for key, value in network.state_dict().items())


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_reach_every_weight_of_every_example(name: str) -> None:
    network, images = fresh(name), torch.rand(3, 3, 16, 16, generator=torch.Generator().manual_seed(4))
    weights = {key: value.requires_grad_() for key, value in per_example(network, images, 5).items()}
    target = torch.rand(images.shape, generator=torch.Generator().manual_seed(6))
    output = vmap(lambda parameters, image: functional_call(network, parameters, (image[None],))[0])(weights, images)
    gradients = torch.autograd.grad((output - target).square().sum(), list(weights.values()))
    for gradient in gradients:
        assert torch.isfinite(gradient).all()
    total = torch.stack([gradient.flatten(1).abs().sum(dim=1) for gradient in gradients]).sum(dim=0)
    assert (total > 0).all()


def test_edsr_is_the_baseline_written_out() -> None:
    """x - mean, head, body with a long skip, shuffle, tail, + mean; then the mean over 2 x 2 pixels."""
    network = EDSR(features=8, blocks=2)
    w = network.state_dict()
    mean = torch.tensor([0.4488, 0.4371, 0.4040]).view(1, 3, 1, 1) * 255
    images = torch.rand(2, 3, 12, 10, generator=torch.Generator().manual_seed(7))

    def conv(x: Tensor, key: str) -> Tensor:
        return functional.conv2d(x, w[f"{key}.weight"], w[f"{key}.bias"], padding=1)

    head = conv(images * 255 - mean, "head.0")
    x = head
    for block in ("body.0", "body.1"):
        x = x + conv(functional.relu(conv(x, f"{block}.body.0")), f"{block}.body.2")
    x = head + conv(x, "body.2")
    x = functional.pixel_shuffle(conv(x, "tail.0.0"), 2)
    large = (conv(x, "tail.1") + mean) / 255
    by_hand = large.unfold(2, 2, 2).unfold(3, 2, 2).mean(dim=(-1, -2)).clamp(0, 1)
    with torch.no_grad():
        assert torch.allclose(network(images), by_hand, atol=1e-5)


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_edsr_comes_back_as_the_mean_of_the_enlarged_image(scale: int) -> None:
    """At the borders too: the two are computed in one convolution."""
    network = EDSR(features=4, blocks=1, scale=scale).double()
    images = torch.rand(2, 3, 9, 14, dtype=torch.float64)
    expected = nn.functional.avg_pool2d(network.upscale(images), scale)
    torch.testing.assert_close(network.restore(images), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_edsr_enlarges_by_its_scale(scale: int) -> None:
    network, images = EDSR(features=8, blocks=1, scale=scale), torch.rand(1, 3, 9, 11)
    assert network.upscale(images).shape == (1, 3, 9 * scale, 11 * scale)
    assert network(images).shape == images.shape


def test_bits_are_drawn_in_training_and_decided_in_evaluation() -> None:
    network = CAE(width=16, bits=8, stem=8, fine=16, last=8).train()
    code = torch.linspace(-1, 1, 8).view(1, 8, 1, 1).expand(4000, 8, 1, 1)
    drawn = network.binarise(code, torch.Generator().manual_seed(0))
    assert set(drawn.unique().tolist()) == {-1.0, 1.0}
    share = (drawn > 0).float().mean(dim=0).flatten()
    assert torch.allclose(share, (1 + code[0].flatten()) / 2, atol=0.03)  # 4 standard errors of 4,000 draws
    assert torch.equal(drawn, network.binarise(code, torch.Generator().manual_seed(0)))
    assert not torch.equal(drawn, network.binarise(code, torch.Generator().manual_seed(1)))
    network.eval()
    decided = network.binarise(code)
    assert torch.equal(decided, torch.where(code >= 0, 1.0, -1.0))


def test_bits_are_drawn_from_the_callers_generator() -> None:
    network, images = CAE(width=16, bits=8, stem=8, fine=16, last=8).train(), torch.rand(2, 1, 13, 17)
    first, again, other = (network(images, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert first.shape == images.shape
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_bits_let_gradients_pass() -> None:
    code = torch.linspace(-0.9, 0.9, 8).view(1, 8, 1, 1).requires_grad_()
    weight = torch.arange(8.0).view(1, 8, 1, 1)
    (CAE(width=8, bits=8, stem=8, fine=8, last=8).eval().binarise(code) * weight).sum().backward()
    assert torch.equal(code.grad, weight)


def test_the_codebook_follows_the_reference_rule() -> None:
    """Two updates of the exponential moving averages, written out with bias correction and Laplace smoothing."""
    network = VQVAE(width=8, narrow=4, size=4, codes=6).train()
    book = network.codebook
    entries, hidden_n, hidden_s = book.entries.clone(), torch.zeros(6), torch.zeros(4, 6)
    for step in (1, 2):
        vectors = torch.randn(2, 4, 3, 3, generator=torch.Generator().manual_seed(step))
        flat = vectors.permute(0, 2, 3, 1).reshape(-1, 4)
        nearest = torch.cdist(flat, entries.t()).argmin(dim=1)
        quantised, commitment = book(vectors)
        by_hand = entries.t()[nearest].view(2, 3, 3, 4).permute(0, 3, 1, 2)
        assert torch.allclose(quantised, by_hand, atol=1e-6)
        assert torch.allclose(commitment, (vectors - by_hand).square().mean(), atol=1e-6)
        for code in range(6):
            chosen = flat[nearest == code]
            hidden_n[code] = 0.99 * hidden_n[code] + 0.01 * len(chosen)
            hidden_s[:, code] = 0.99 * hidden_s[:, code] + 0.01 * chosen.sum(dim=0)
        n, s = hidden_n / (1 - 0.99**step), hidden_s / (1 - 0.99**step)
        entries = s / ((n + 1e-5) / (n.sum() + 6e-5) * n.sum())
        assert torch.allclose(book.entries, entries, rtol=1e-4, atol=1e-5)


def test_the_codebook_stays_as_it_is_under_transforms() -> None:
    """In training mode too: under vmap, every example would want a codebook of its own; grad calls pure functions."""
    network, images = fresh("vqvae_desk").train(), torch.rand(3, 3, 16, 16, generator=torch.Generator().manual_seed(9))
    state = {key: value.clone() for key, value in network.state_dict().items()}
    weights = per_example(network, images, 10)
    together = vmap(lambda own, image: functional_call(network, own, (image[None],))[0])(weights, images)
    grad(lambda image: network(image[None]).sum())(images[0])
    assert all(torch.equal(state[key], value) for key, value in network.state_dict().items())
    network.eval()
    apart = [
        functional_call(network, {key: value[i] for key, value in weights.items()}, (image[None],))[0]
        for i, image in enumerate(images)
    ]
    assert torch.allclose(together, torch.stack(apart), atol=1e-5)


def test_the_codebook_follows_when_compiled() -> None:
    network, images = VQVAE(width=8, narrow=4, size=4, codes=6).train(), torch.rand(2, 3, 16, 16)
    torch.compile(network, backend="eager")(images)
    assert int(network.codebook.count_steps) == 1


def test_affine_starts_as_the_identity_and_shifts() -> None:
    network, images = weatherproof.corruption_network("affine"), torch.rand(2, 3, 8, 8)
    with torch.no_grad():
        assert torch.allclose(network(images), images, atol=1e-6)
        network.theta[0, 2] = 2 / 8  # one pixel: output place x shows input place x + 1
        assert torch.allclose(network(images)[..., :-1], images[..., 1:], atol=1e-5)


class Shrinks(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images[..., ::2]


class Brightens(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images + 1


class Divides(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images / 0 * 0


class Overflows(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return torch.where(images == images.max(), torch.inf, images)


class Raises(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        raise ValueError("no thanks")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Shrinks(), r"Shrinks gives \(2, 3, 8, 4\) for images of shape \(2, 3, 8, 8\)"),
        (Brightens(), r"Brightens gives values from 1.* to .*; a corruption network stays in \[0, 1\]"),
        (Divides(), "Divides gives NaN"),
        (Overflows(), "Overflows gives infinity for ordinary images"),
        (Raises(), "Raises cannot take images of shape .*: no thanks"),
    ],
)
def test_misfits_are_refused_with_the_reason(module: nn.Module, reason: str) -> None:
    module.train()
    with pytest.raises(InputError, match=reason):
        refuse_misfit(module, torch.rand(3, 3, 8, 8) * 0.9 + 0.05)
    assert module.training


def test_unknown_networks_and_weights() -> None:
    with pytest.raises(InputError, match=r"there is no corruption network 'edsr_dsk'; did you mean 'edsr_desk'"):
        weatherproof.corruption_network("edsr_dsk")
    with pytest.raises(InputError, match=r"no weights are shipped for torch\.nn\.Identity"):
        weatherproof.corruption_network("torch.nn.Identity")
    assert isinstance(weatherproof.corruption_network("torch.nn.Identity", weights=None), nn.Identity)
    with pytest.raises(InputError, match="enlarges by 2, 3 or 4; got 5"):
        weatherproof.corruption_network("edsr", weights=None, scale=5)


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "affine"])
def test_weights_are_shipped_for_all(name: str) -> None:
    assert shipped_file(name) is not None


def test_loading_draws_nothing_from_the_caller() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    weatherproof.corruption_network("unet_desk")
    assert torch.equal(before, torch.get_rng_state())
