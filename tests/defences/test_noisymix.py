"""NoisyMix: against the formula written out with the same draws, at every place where it mixes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from scipy import stats
from tiny import tiny_images
from torch import Tensor, nn
from torch.nn import functional

from weatherproof import classifier
from weatherproof.defences import DEFENCES, NoisyMix
from weatherproof.defences.noisymix import with_extremes
from weatherproof.defences.stages import changed_output, stages_of
from weatherproof.errors import InputError
from weatherproof.networks.classifiers.preact_resnet import PreActResNet
from weatherproof.networks.classifiers.resnet import ResNet
from weatherproof.specs import construct

IMPROBABLE = 1e-4  # the seeds are fixed: a test passes always or never


def batch(count: int = 6, views: int = 3, side: int = 16, channels: int = 3) -> tuple[Tensor, Tensor]:
    """Images (B, V, C, H, W) and labels of ten classes."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(count, views, channels, side, side, generator=generator)
    return images, torch.randint(0, 10, (count,), generator=generator)


def network(name: str = "resnet_small", **options: int) -> nn.Module:
    torch.manual_seed(5)
    return classifier(name, **options)


class Foreign(nn.Module):
    """Somebody else's network, of three layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 3)
        self.twice, self.unused = nn.Identity(), nn.Identity()
        self.head = nn.Linear(5, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = self.second(torch.relu(self.first(images)))
        logits: Tensor = self.head(self.twice(self.twice(torch.relu(x))).mean(dim=(2, 3)))
        return logits


def foreign() -> Foreign:
    torch.manual_seed(6)
    return Foreign()


# ---- the formula, written out


def layers_of(model: nn.Module) -> list[Callable[[Tensor], Tensor]]:
    """The steps of a forward pass; places to mix at lie before the first one, and after each but the last."""
    if isinstance(model, PreActResNet):
        *stages, last = model.stages

        def end(x: Tensor) -> Tensor:
            return model.head(torch.relu(model.norm(last(x))).mean(dim=(2, 3)))  # type: ignore[no-any-return]

        return [lambda x: stages[0](model.stem(model.normalise(x))), *stages[1:], end]
    if isinstance(model, ResNet):
        return [
            lambda x: model.layer1(model.maxpool(torch.relu(model.bn1(model.conv1(model.normalise(x)))))),
            model.layer2, model.layer3, lambda x: model.fc(model.layer4(x).mean(dim=(2, 3))),
        ]  # fmt: skip
    return [model]


def beta(a: float, b: float) -> Tensor:
    return torch.distributions.Beta(torch.tensor(float(a)), torch.tensor(float(b))).sample()


def entropy_apart(logits: Tensor, views: int) -> float:
    """Mean over images of the mean over views of KL(p_v || mean of the p_v), by scipy, in float64."""
    p = logits.detach().double().view(views, -1, logits.shape[1]).softmax(dim=2).numpy()
    return float(np.mean([stats.entropy(view, p.mean(axis=0), axis=1) for view in p]))


def written_out(model: nn.Module, images: Tensor, labels: Tensor, defence: NoisyMix) -> tuple[float, int]:
    """The loss, and the place where the mixing happened."""
    count, views = images.shape[:2]
    layers = layers_of(model)
    place = int(torch.randint(len(layers), ()))
    partner = torch.randperm(count)
    share = beta(defence.alpha, defence.alpha)

    x = torch.cat([images[:, view] for view in range(views)])
    for number, layer in enumerate(layers):
        if number == place:
            x = 2 * x - 1 if number == 0 else x
            x = torch.cat([share * part + (1 - share) * part[partner] for part in x.chunk(views)])
            if defence.multiplicative:
                x = x * (1 + defence.multiplicative * beta(2, 5) * (2 * torch.rand(x.shape) - 1))
            if defence.additive:
                x = x + defence.additive * beta(2, 5) * torch.randn(x.shape)
            x = (x + 1) / 2 if number == 0 else x
        x = layer(x)
    clean = x[:count].log_softmax(dim=1)
    mixed = share * clean[range(count), labels] + (1 - share) * clean[range(count), labels[partner]]
    return -mixed.mean().item() + defence.weight * entropy_apart(x, views), place


@pytest.mark.parametrize(("name", "places", "side"), [("resnet_small", 4, 16), ("resnet18", 4, 32), ("foreign", 1, 16)])
def test_the_loss_is_the_formula(name: str, places: int, side: int) -> None:
    images, labels = batch(side=side)
    defence, met = NoisyMix(), set()
    model = foreign() if name == "foreign" else network(name)
    for seed in range(8):
        torch.manual_seed(seed)
        expected, place = written_out(model, images, labels, defence)
        torch.manual_seed(seed)
        assert defence(model, images, labels).loss.item() == pytest.approx(expected, rel=1e-4)
        met.add(place)
    assert met == set(range(places))


@pytest.mark.parametrize(
    "settings",
    [{"additive": 0.0}, {"multiplicative": 0.0}, {"weight": 0.0}, {"weight": 3.0, "alpha": 0.2}, {"additive": 2.0}],
    ids=str,
)
@pytest.mark.parametrize("views", [1, 2, 3, 4])
def test_settings_and_views(settings: dict[str, float], views: int) -> None:
    images, labels = batch(views=views)
    model, defence = network(), NoisyMix(**settings)
    for seed in range(4):
        torch.manual_seed(seed)
        expected, _ = written_out(model, images, labels, defence)
        torch.manual_seed(seed)
        outcome = defence(model, images, labels)
        assert outcome.loss.item() == pytest.approx(expected, rel=1e-4)
        assert set(outcome.metrics) == {"accuracy"} | ({"divergence"} if views > 1 else set())


def test_single_images_are_one_view() -> None:
    images, labels = batch(views=1)
    model = network()
    torch.manual_seed(1)
    one = NoisyMix()(model, images, labels).loss
    torch.manual_seed(1)
    assert torch.equal(NoisyMix()(model, images[:, 0], labels).loss, one)


def test_equal_views_differ_by_their_noise_alone() -> None:
    images, labels = batch()
    images = images[:, :1].expand(-1, 3, -1, -1, -1)
    quiet = NoisyMix(additive=0.0, multiplicative=0.0)(network(), images, labels)
    assert float(quiet.metrics["divergence"]) < 1e-6
    assert float(NoisyMix()(network(), images, labels).metrics["divergence"]) > 1e-5


def test_nothing_is_mixed_at_alpha_0() -> None:
    images, labels = batch()
    defence = NoisyMix(weight=0.0, alpha=0.0, additive=0.0, multiplicative=0.0)
    model = network()
    for seed in range(6):
        torch.manual_seed(seed)
        outcome = defence(model, images, labels)
        logits = model(images.transpose(0, 1).flatten(0, 1))[:6]
        assert outcome.loss.item() == pytest.approx(functional.cross_entropy(logits, labels).item(), rel=1e-5)
        assert float(outcome.metrics["accuracy"]) == float((logits.argmax(dim=1) == labels).float().mean())


def test_accuracy_counts_hits_like_their_labels() -> None:
    labels = torch.tensor([0, 1, 1, 1] * 25)
    images = torch.zeros(100, 1, 1, 8, 8)
    model = Answers(torch.tensor([1.0, 0.0]))  # always the first class
    torch.manual_seed(3)
    outcome = NoisyMix()(model, images, labels)
    torch.manual_seed(3)
    torch.randint(1, ())
    partner, share = torch.randperm(100), beta(1, 1)
    expected = share * (labels == 0).float().mean() + (1 - share) * (labels[partner] == 0).float().mean()
    assert float(outcome.metrics["accuracy"]) == pytest.approx(float(expected))


class Answers(nn.Module):
    """The same logits for every image."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, images: Tensor) -> Tensor:
        return self.logits.expand(len(images), -1)


# ---- noise


class Keeps(nn.Module):
    """Remembers what it was given."""

    def forward(self, images: Tensor) -> Tensor:
        self.images = images
        return images.flatten(1)[:, :10]


def noisy(tone: float, seed: int, **levels: float) -> Tensor:
    """What becomes of three views of images of one tone, with all other noise off."""
    images = torch.full((40, 3, 3, 16, 16), tone)
    keeps, settings = Keeps(), {"additive": 0.0, "multiplicative": 0.0, **levels}
    torch.manual_seed(seed)
    NoisyMix(**settings)(keeps, images, torch.zeros(40, dtype=torch.int64))
    return keeps.images


def test_additive_noise() -> None:
    """Normal, at a level of Beta(2, 5) halves, on a scale on which images go from -1 to 1."""
    found = []
    for seed in range(200):
        changed = noisy(0.3, seed, additive=0.5)[:4].flatten()
        found.append(float(changed.std()))
    assert stats.kstest(np.array(found) / (0.5 * 0.5), stats.beta(2, 5).cdf).pvalue > IMPROBABLE
    drawn = noisy(0.3, 7, additive=0.5).flatten()[::10]
    assert stats.kstest((drawn - 0.3) / drawn.std(), "norm").pvalue > IMPROBABLE
    assert not torch.equal(*noisy(0.3, 7, additive=0.5).chunk(3)[:2])  # every view has its own


def test_multiplicative_noise() -> None:
    """Uniform around 1, in proportion to the value; half-grey, which is 0, gets none."""
    assert torch.equal(noisy(0.5, 0, multiplicative=0.5), torch.full((120, 3, 16, 16), 0.5))
    drawn = 2 * noisy(1.0, 7, multiplicative=0.5).flatten()[::10] - 1
    level = float((drawn - 1).abs().max())
    assert 0 < level < 0.5
    assert stats.kstest((drawn - 1).numpy() / level, stats.uniform(-1, 2).cdf).pvalue > IMPROBABLE
    assert float(noisy(0.75, 7, multiplicative=0.5).max()) == pytest.approx(0.75 + level / 4, rel=1e-3)


def test_extremes() -> None:
    x = torch.rand(40, 3, 50, 50, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    changed = with_extremes(x, torch.tensor(0.1))
    low, high = x.amin((1, 2, 3), keepdim=True), x.amax((1, 2, 3), keepdim=True)
    kept = changed == x
    assert bool((kept | (changed == low) | (changed == high)).all())
    for extreme in (low, high):
        hits = int(((changed == extreme) & ~kept).sum())
        assert stats.binomtest(hits, x.numel(), 0.05).pvalue > IMPROBABLE
    assert torch.equal(with_extremes(x, torch.tensor(0.0)), x)


def test_sparse_noise_is_off_unless_asked_for() -> None:
    images = torch.rand(20, 3, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    labels = torch.zeros(20, dtype=torch.int64)
    for sparse in (0.0, 1.0):
        keeps, quiet = Keeps(), {"alpha": 0.0, "additive": 0.0, "multiplicative": 0.0}
        torch.manual_seed(0)
        NoisyMix(**quiet, sparse=sparse)(keeps, images, labels)
        same = torch.isclose(keeps.images, images.transpose(0, 1).flatten(0, 1), atol=1e-6).float().mean()
        assert float(same) == 1 if sparse == 0 else 0.2 < float(same) < 0.99


@pytest.mark.parametrize(
    ("levels", "kinds"),
    [
        ({}, "Gaussian and multiplicative (speckle) noise"),
        ({"sparse": 0.65}, "Gaussian, multiplicative (speckle) and sparse noise"),
        ({"multiplicative": 0.0}, "Gaussian noise"),
    ],
)
def test_cards_are_told(levels: dict[str, float], kinds: str) -> None:
    note = NoisyMix(**levels).note
    assert note.startswith(f"NoisyMix trains with {kinds}, which overlaps") and note.endswith("here.")
    assert NoisyMix(additive=0.0, multiplicative=0.0).note == ""


# ---- places


def hooks(model: nn.Module) -> int:
    return sum(len(part._forward_hooks) for part in model.modules())


@pytest.mark.parametrize("name", ["resnet_small", "resnet18"])
def test_no_hook_is_left(name: str) -> None:
    images, labels = batch(side=32)
    model = network(name)
    for seed in range(6):
        torch.manual_seed(seed)
        NoisyMix()(model, images, labels)
        assert hooks(model) == 0


class Breaks(nn.Module):
    """The last part of a network that fails."""

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("out of memory")


def test_no_hook_is_left_by_an_exception() -> None:
    images, labels = batch()
    model = foreign()
    model.head = Breaks()  # type: ignore[assignment]
    hooked = []
    model.second.register_forward_hook(lambda module, inputs, output: hooked.append(hooks(model)))
    with pytest.raises(RuntimeError, match="out of memory"):
        NoisyMix(layers=("first",))(model, images, labels)
    assert hooked == [2] and hooks(model) == 1  # ours was there, and only the other one stays


def test_places_of_our_networks() -> None:
    assert [name for name, _ in stages_of(network())] == ["input", "stages.0", "stages.1", "stages.2"]
    assert [name for name, _ in stages_of(network("resnet18"))] == ["input", "layer1", "layer2", "layer3"]
    inside = nn.Sequential(nn.Identity(), network())
    assert [name for name, _ in stages_of(inside)] == ["input", "stages.0", "stages.1", "stages.2"]
    assert stages_of(foreign()) == [("input", None)]
    assert stages_of(nn.ModuleList([network(), network()])) == [("input", None)]  # whose stages would they be?


def test_named_layers() -> None:
    """The output of a named layer is mixed, noise and all: written out for a network of others."""
    images, labels = batch()
    model, defence = foreign(), NoisyMix(layers=("second",), additive=0.0, multiplicative=0.0, weight=0.0)
    assert stages_of(model, ("first", "input")) == [("first", model.first), ("input", None)]
    torch.manual_seed(2)
    loss = defence(model, images, labels).loss
    torch.manual_seed(2)
    torch.randint(1, ())
    partner, share = torch.randperm(6), beta(1, 1)
    x = model.second(torch.relu(model.first(images[:, 0])))
    logits = model.head(torch.relu(share * x + (1 - share) * x[partner]).mean(dim=(2, 3)))
    expected = share * functional.cross_entropy(logits, labels)
    expected = expected + (1 - share) * functional.cross_entropy(logits, labels[partner])
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_names_are_those_inside_of_a_wrapper() -> None:
    model = foreign()
    wrapped = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed").setup(model)
    assert stages_of(wrapped, ("second",)) == [("second", model.second)]
    ours = network()
    assert len(stages_of(Fabric(accelerator="cpu", devices=1).setup(ours))) == 4
    images, labels = batch()
    outcome = NoisyMix(layers=("second",))(wrapped, images, labels)
    assert outcome.loss.dtype == torch.float32 and bool(outcome.loss.isfinite())


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        (("secnd",), "Foreign has no layer 'secnd'; did you mean 'second'?"),
        (("",), "Foreign has no layer ''"),
        (("twice",), "layer 'twice' ran 2 times in a forward pass; wanted one that runs once"),
        (("unused",), "layer 'unused' ran 0 times in a forward pass"),
    ],
)
def test_layers_that_do_not_fit(layers: tuple[str, ...], sentence: str) -> None:
    images, labels = batch()
    model = foreign()
    with pytest.raises(InputError) as caught:
        NoisyMix(layers=layers)(model, images, labels)
    assert sentence in str(caught.value) and hooks(model) == 0


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (lambda x: (x, x), "layer 'odd': got tuple; wanted one tensor with the batch of 18 first"),
        (lambda x: x.mean(), "layer 'odd': got shape ()"),
        (lambda x: x[:3], "layer 'odd': got shape (3, 4)"),
    ],
)
def test_outputs_that_do_not_fit(output: Callable[[Tensor], object], sentence: str) -> None:
    class Odd(nn.Module):
        def forward(self, x: Tensor) -> object:
            return output(x)

    odd = Odd()
    with pytest.raises(InputError) as caught, changed_output(odd, lambda x: x, "odd", 18):
        odd(torch.zeros(18, 4))
    assert sentence in str(caught.value) and hooks(odd) == 0


def test_compiled_networks_are_refused_where_a_stage_would_be_changed() -> None:
    compiled = torch.compile(network(), backend="eager")  # compiles when it is first called, which it is not
    for model in (compiled, Fabric(accelerator="cpu", devices=1).setup(compiled)):
        with pytest.raises(InputError, match="compiled network's stages cannot be changed"):
            stages_of(model)
        assert stages_of(model, ("input",)) == [("input", None)]


# ---- training


def test_gradients_reach_everything() -> None:
    images, labels = batch()
    for seed in range(6):
        model = network()
        torch.manual_seed(seed)
        NoisyMix(sparse=0.5)(model, images, labels).loss.backward()
        assert all(weight.grad is not None and bool(weight.grad.any()) for weight in model.parameters())


def test_both_labels_pull() -> None:
    """The gradient of the logits of a network that sees nothing is the mixture of labels, less the prediction."""
    labels = torch.tensor([0, 1, 1, 1])
    model = Answers(torch.zeros(2))
    NoisyMix(weight=0.0)(model, torch.zeros(4, 3, 3, 8, 8), labels).loss.backward()
    assert model.logits.grad is not None
    assert torch.allclose(model.logits.grad, torch.tensor([0.25, -0.25]))


def test_a_classifier_learns() -> None:
    """Bars at three heights; the loss with its noise falls, and the plain images are told apart."""
    pixels, numbers = tiny_images(60, 0)
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    labels = torch.from_numpy(numbers)
    model = network(classes=3, width=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(0)
    losses = []
    for _ in range(25):
        outcome = NoisyMix()(model, images[:, None].expand(-1, 3, -1, -1, -1), labels)
        outcome.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(outcome.loss.item())
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:3])
    with torch.no_grad():
        assert float((model(images).argmax(dim=1) == labels).float().mean()) > 0.9


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_low_precision_ends_at_the_logits(layout: torch.memory_format) -> None:
    images, labels = batch()
    model = network().to(memory_format=layout)  # type: ignore[call-overload]
    for seed in range(6):
        torch.manual_seed(seed)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outcome = NoisyMix(sparse=0.2)(model, images, labels)
        assert outcome.loss.dtype == torch.float32
        assert all(value.dtype == torch.float32 and not value.requires_grad for value in outcome.metrics.values())
        outcome.loss.backward()


def test_the_same_seed_gives_the_same_step() -> None:
    images, labels = batch()
    model, before, losses = network(), images.clone(), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(NoisyMix(sparse=0.3)(model, images, labels).loss)
    assert torch.equal(losses[0], losses[1]) and not torch.equal(losses[0], losses[2])
    assert torch.equal(images, before)


def test_it_has_a_name_and_asks_for_three_views() -> None:
    assert NoisyMix.views == 3
    built = construct(DEFENCES["noisymix"], {"weight": 6.0, "layers": ["input", "first"]}, "defence")
    assert isinstance(built, NoisyMix) and built.layers == ("input", "first") and built.weight == 6.0


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: NoisyMix(weight=-1.0), "noisymix wants a finite weight of 0 or more; got -1.0"),
        (lambda: NoisyMix(alpha=math.nan), "a finite alpha of 0 or more; got nan"),
        (lambda: NoisyMix(additive=math.inf), "a finite additive of 0 or more; got inf"),
        (lambda: NoisyMix(multiplicative=-0.1), "a finite multiplicative of 0 or more; got -0.1"),
        (lambda: NoisyMix(sparse=1.5), "noisymix wants sparse from 0 to 1; got 1.5"),
        (lambda: NoisyMix(layers=()), "one layer or more to mix at ('input' are the images); got none"),
    ],
)
def test_settings_that_do_not_fit(make: Callable[[], NoisyMix], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert sentence in str(caught.value)
