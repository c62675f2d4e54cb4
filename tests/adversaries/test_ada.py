"""AdversarialAugment against the written-out algorithm, and what it promises about examples, state and input."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from adversaries.algorithm import algorithm_1
from adversaries.small_networks import (
    NETWORKS,
    AutoEncoder,
    Looker,
    SmallClassifier,
    SuperResolver,
    batch,
    trained_like,
)
from torch import Tensor, nn

from weatherproof import AdversarialAugment, InputError, SSIMGuard
from weatherproof.randomness import seed_of


def seeded(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def base_seed(seed: int = 3) -> int:
    """The one number that an attack draws."""
    return int(torch.randint(2**63 - 1, (), generator=seeded(seed)))


def example_seeds(count: int, seed: int = 3) -> list[int]:
    return [seed_of(base_seed(seed), key) for key in range(count)]


@pytest.fixture
def classifier() -> nn.Module:
    return trained_like(SmallClassifier(), seed=7)


@pytest.mark.parametrize("blocks", ["layer", "tensor"])
@pytest.mark.parametrize("rule", ["sign", "normalized"])
@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_the_written_out_algorithm(classifier: nn.Module, name: str, rule: str, blocks: Any) -> None:
    network = trained_like(NETWORKS[name]())
    images, labels = batch()
    images = images.double()
    ada = AdversarialAugment(network, 0.05, steps=3, rule=rule, guard=None, blocks=blocks, chunk=4)
    found = ada(classifier.double(), images, labels, seeded())
    for image, label, seed, own in zip(images, labels, example_seeds(6), found, strict=True):
        expected = algorithm_1(classifier, network, image, int(label), 0.05, 3, rule, seed, blocks)
        torch.testing.assert_close(own, expected, rtol=0, atol=1e-8)
        assert (own - image).abs().max() > 1e-3


SHIPPED = ["affine", "edsr_desk", "cae_desk", "vqvae_desk", "unet_desk", "edsr", "cae", "vqvae", "unet"]


@pytest.mark.parametrize("rule", ["sign", "normalized"])
@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_the_written_out_algorithm_with_networks_that_are_shipped(
    classifier: nn.Module, name: str, rule: str
) -> None:
    images, labels = (values[:3] for values in batch())
    images = images.double()
    ada = AdversarialAugment(name, 0.015, steps=2, rule=rule, guard=None)
    found = ada(classifier.double(), images, labels, seeded())
    for image, label, seed, own in zip(images, labels, example_seeds(3), found, strict=True):
        expected = algorithm_1(classifier, ada.networks[0], image, int(label), 0.015, 2, rule, seed)
        torch.testing.assert_close(own, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_networks_in_single_and_low_precision(classifier: nn.Module, name: str) -> None:
    images, labels = batch()
    ada = AdversarialAugment(name, 0.015, steps=1, rule="normalized", guard=None)
    found = ada.attack(classifier, images, labels, seeded())
    for image, label, seed, own in zip(images, labels, example_seeds(6), found.images, strict=True):
        expected = algorithm_1(classifier, ada.networks[0], image, int(label), 0.015, 1, "normalized", seed)
        if "vqvae" not in name and "cae" not in name:  # rounding decides ties of their codes and bits
            torch.testing.assert_close(own, expected, rtol=0, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = ada.attack(classifier, images, labels, seeded())
    assert low.metrics["loss_after"].item() == pytest.approx(found.metrics["loss_after"].item(), rel=0.1)


@pytest.mark.parametrize("chunk", [1, 6])
@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_the_written_out_algorithm_in_single_precision(classifier: nn.Module, name: str, chunk: int) -> None:
    network = trained_like(NETWORKS[name]())
    images, labels = batch()
    ada = AdversarialAugment(network, 0.05, steps=2, rule="normalized", guard=None, chunk=chunk)
    found = ada(classifier, images, labels, seeded())
    assert found.dtype == torch.float32
    for image, label, seed, own in zip(images, labels, example_seeds(6), found, strict=True):
        expected = algorithm_1(classifier, network, image, int(label), 0.05, 2, "normalized", seed)
        torch.testing.assert_close(own, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("steps", [1, 10])
def test_the_papers_step_size(classifier: nn.Module, steps: int) -> None:
    network = trained_like(SuperResolver()).double()
    images, labels = (values[:1] for values in batch())
    found = AdversarialAugment(network, 0.015, steps=steps, guard=None)(
        classifier.double(), images.double(), labels, seeded()
    )
    (seed,) = example_seeds(1)
    expected = algorithm_1(classifier, network, images[0].double(), int(labels[0]), 0.015, steps, "sign", seed)
    torch.testing.assert_close(found[0], expected, rtol=0, atol=1e-8)


def test_without_steps_it_is_the_random_start(classifier: nn.Module) -> None:
    network = trained_like(SuperResolver())
    images, labels = batch()
    ada = AdversarialAugment(network, 0.05, steps=0, guard=None)
    found = ada(classifier, images, labels, seeded())
    expected = algorithm_1(classifier, network, images[2], 0, 0.05, 0, "sign", example_seeds(6)[2])
    torch.testing.assert_close(found[2], expected, rtol=0, atol=1e-6)
    assert torch.equal(found, ada(classifier, images, (labels + 1) % 5, seeded()))  # no label was looked at


def same_examples(ada: AdversarialAugment, classifier: nn.Module, order: list[int], chunk: int | str) -> None:
    """The examples of a batch of six, attacked in another company."""
    images, labels = batch()
    images = images.double()
    whole = ada(classifier, images, labels, seeded())
    ada.chunk = chunk  # type: ignore[assignment]
    other = ada(classifier, images[order], labels[order], seeded(), keys=order)
    torch.testing.assert_close(other, whole[order], rtol=0, atol=1e-10)


@pytest.mark.parametrize("chunk", [1, 2, 5, 100, "auto"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4], [4], [2, 3]])
@pytest.mark.parametrize("rule", ["sign", "normalized"])
def test_an_example_does_not_see_its_mates(
    classifier: nn.Module, rule: str, order: list[int], chunk: int | str
) -> None:
    networks = [trained_like(make(), seed) for seed, make in enumerate(NETWORKS.values())]
    same_examples(AdversarialAugment(networks, 0.05, 2, rule), classifier.double(), order, chunk)


def test_same_seed_same_bytes_and_other_seeds_other_images(classifier: nn.Module) -> None:
    images, labels = batch()
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1)
    once, again, other = (ada(classifier, images, labels, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(once, again) and not torch.allclose(once, other, atol=1e-3)


def test_without_a_generator_the_global_one_gives_the_seed(classifier: nn.Module) -> None:
    images, labels = batch()
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        first, second = ada(classifier, images, labels), ada(classifier, images, labels)
        torch.manual_seed(5)
        assert torch.equal(first, ada(classifier, images, labels)) and not torch.equal(first, second)


def test_networks_share_a_batch_equally_and_take_turns(classifier: nn.Module) -> None:
    images, labels = batch(12)
    networks = [trained_like(SuperResolver(), seed) for seed in range(3)]
    single = [AdversarialAugment(network, 0.05, 1, guard=None) for network in networks]
    together = AdversarialAugment(networks, 0.05, 1, guard=None)
    seen = set()
    for seed in range(12):
        alone = torch.stack([ada(classifier, images, labels, seeded(seed)) for ada in single])
        found = together(classifier, images, labels, seeded(seed))
        owners = ((alone - found).abs().amax(dim=(2, 3, 4)) < 1e-6).long().argmax(dim=0)
        assert owners.tolist() == [(int(owners[0]) + i) % 3 for i in range(12)]
        seen.add(int(owners[0]))
    assert seen == {0, 1, 2}


def test_each_network_has_its_own_radius(classifier: nn.Module) -> None:
    images, labels = batch()
    network = trained_like(SuperResolver())
    found = AdversarialAugment([network, network], (0.0, 0.1), 1, guard=None)(classifier, images, labels, seeded())
    with torch.no_grad():
        still = (found - network(images).clamp(0, 1)).abs().amax(dim=(1, 2, 3)) < 1e-6
    assert sorted([still[::2].tolist(), still[1::2].tolist()]) == [[False] * 3, [True] * 3]


def state_of(modules: list[nn.Module]) -> list[Any]:
    return [
        (module.training, [(p.requires_grad, p.grad, p.clone()) for p in module.parameters(recurse=False)],
         [buffer.clone() for buffer in module.buffers(recurse=False)])
        for root in modules for module in root.modules()
    ]  # fmt: skip


def same_state(before: list[Any], after: list[Any]) -> bool:
    return all(
        a[0] == b[0]
        and all(x[0] == y[0] and x[1] is y[1] and torch.equal(x[2], y[2]) for x, y in zip(a[1], b[1], strict=True))
        and all(map(torch.equal, a[2], b[2]))
        for a, b in zip(before, after, strict=True)
    )


class Breaks(SmallClassifier):
    """Raises at its second call."""

    calls = 0

    def forward(self, images: Tensor) -> Tensor:
        self.calls += 1
        if self.calls == 2:
            raise ZeroDivisionError
        return super().forward(images)


@pytest.mark.parametrize("attack_mode", ["eval", "train"])
@pytest.mark.parametrize("make", [SmallClassifier, Breaks])
def test_it_leaves_no_trace(make: type[SmallClassifier], attack_mode: Any) -> None:
    classifier, network = trained_like(make()).train(), trained_like(AutoEncoder()).train()
    classifier.norm.eval()  # somebody froze it
    classifier.head.bias.requires_grad_(False)
    images, labels = batch()
    kept = images.clone()
    ada = AdversarialAugment(network, 0.05, 2, attack_mode=attack_mode)
    before, generator = state_of([classifier, network]), torch.random.get_rng_state()
    try:
        ada(classifier, images, labels, seeded())
        assert make is SmallClassifier
    except ZeroDivisionError:
        assert make is Breaks
    assert same_state(before, state_of([classifier, network]))
    assert torch.equal(generator, torch.random.get_rng_state())
    assert torch.equal(images, kept) and not images.requires_grad and torch.is_grad_enabled()


def test_attack_mode_decides_how_the_classifier_sees_images() -> None:
    class Notes(SmallClassifier):
        modes: list[bool] = []  # noqa: RUF012

        def forward(self, images: Tensor) -> Tensor:
            self.modes.append(self.training)
            return super().forward(images)

    images, labels = batch()
    for mode, expected in (("eval", False), ("train", True)):
        classifier = trained_like(Notes()).train()
        classifier.modes.clear()
        ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 2, attack_mode=mode, chunk=6)  # type: ignore[arg-type]
        ada(classifier, images, labels, seeded())
        assert classifier.modes == [expected, expected]


def test_training_goes_on_after_an_attack_in_the_same_autocast(classifier: nn.Module) -> None:
    images, labels = batch()
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        attack = ada.attack(classifier, images, labels, seeded())
        nn.functional.cross_entropy(classifier(attack.images), labels).backward()
    assert all(parameter.grad is not None for parameter in classifier.parameters())


def test_it_climbs_also_where_gradients_are_off(classifier: nn.Module) -> None:
    images, labels = batch()
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1)
    with torch.no_grad():
        found = ada(classifier, images, labels, seeded())
    assert torch.equal(found, ada(classifier, images, labels, seeded())) and not found.requires_grad


@pytest.mark.parametrize("name", NETWORKS)
def test_low_precision_reaches_nearly_the_same(classifier: nn.Module, name: str) -> None:
    images, labels = batch(32)
    ada = AdversarialAugment(trained_like(NETWORKS[name]()), 0.05, 3, "normalized", guard=None)
    full = ada.attack(classifier, images, labels, seeded())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = ada.attack(classifier, images, labels, seeded())
    assert low.images.dtype == torch.float32 and low.images.min() >= 0 and low.images.max() <= 1
    assert not torch.equal(low.images, full.images)  # the networks did run in bfloat16
    assert low.metrics["loss_after"].item() == pytest.approx(full.metrics["loss_after"].item(), rel=0.02)


def test_what_an_attack_reports(classifier: nn.Module) -> None:
    images, labels = batch(20)
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.3, 3, "normalized", guard=SSIMGuard(0.3))
    attack = ada.attack(classifier, images, labels, seeded())
    assert torch.equal(attack.images, ada(classifier, images, labels, seeded()))
    with torch.no_grad():
        logits = classifier(attack.images)
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    torch.testing.assert_close(attack.examples["loss_after"], losses)
    assert torch.equal(attack.examples["fooled"], logits.argmax(1) != labels)
    metrics = attack.metrics
    assert metrics["loss_after"] > metrics["loss_before"]
    assert 0 < metrics["ssim_distance"] <= metrics["ssim_distance_p95"] <= 0.301
    assert 0 < metrics["guarded"] <= 1


@pytest.mark.parametrize("size", [(16, 16), (11, 17), (32, 13)])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_batch_of_images(count: int, channels: int, size: tuple[int, int]) -> None:
    images, labels = batch(count, size, channels) if count else (torch.zeros(0, channels, *size), torch.zeros(0).long())
    classifier, network = trained_like(SmallClassifier(channels)), trained_like(AutoEncoder(channels))
    attack = AdversarialAugment(network, 0.1, 1).attack(classifier, images, labels, seeded())
    assert attack.images.shape == images.shape and attack.images.dtype == torch.float32
    assert count == 0 or (attack.images.min() >= 0 and attack.images.max() <= 1)
    assert (attack.metrics == {}) == (count == 0)


def test_bytes_and_half_precision_are_taken_for_what_they_mean(classifier: nn.Module) -> None:
    images, labels = batch()
    pixels = (images * 255).round().to(torch.uint8)
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1)
    expected = ada(classifier, pixels.float() / 255, labels, seeded())
    assert torch.equal(ada(classifier, pixels.permute(0, 2, 3, 1), labels, seeded()), expected)
    low = images.bfloat16()
    assert torch.equal(ada(classifier, low, labels, seeded()), ada(classifier, low.float(), labels, seeded()))


def test_a_network_that_vmap_cannot_take_is_run_one_by_one(classifier: nn.Module) -> None:
    images, labels = batch()
    expected = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1)(classifier, images, labels, seeded())
    with pytest.warns(UserWarning, match="Looker takes one example at a time"):
        found = AdversarialAugment(trained_like(Looker()), 0.05, 1)(classifier, images, labels, seeded())
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_what_a_network_names_is_what_moves(classifier: nn.Module) -> None:
    class Choosy(SuperResolver):
        def perturbed_parameters(self) -> list[str]:
            return ["tail.weight"]

    network = trained_like(Choosy())
    frozen = copy.deepcopy(network)
    for name, parameter in frozen.named_parameters():
        parameter.requires_grad_(name == "tail.weight")
    plain = SuperResolver()
    plain.load_state_dict(network.state_dict())
    for name, parameter in plain.named_parameters():
        parameter.requires_grad_(name == "tail.weight")
    images, labels = batch()
    found, expected, everything = (
        AdversarialAugment(module, 0.1, 1)(classifier, images, labels, seeded())
        for module in (network, plain, trained_like(SuperResolver()))
    )
    assert torch.equal(found, expected) and not torch.allclose(found, everything)


class Grows(nn.Conv2d):
    """Makes images larger."""

    def __init__(self) -> None:
        super().__init__(3, 3, 1, padding=1)


REFUSED = [
    ({"networks": []}, "needs at least one corruption network"),
    ({"radius": (0.1, 0.2)}, "got 2 radii for 1 networks"),
    ({"radius": -0.1}, "a radius is 0 or more"),
    ({"radius": float("nan")}, "a radius is 0 or more"),
    ({"steps": -1}, "0 steps or more"),
    ({"step_size": 0.0}, "a step size is above 0"),
    ({"rule": "sing"}, "did you mean 'sign'"),
    ({"chunk": 0}, "a chunk is auto, or 1 example or more; got 0"),
    ({"chunk": "all"}, "got 'all'"),
    ({"blocks": "layers"}, "a block is a layer or a tensor; got 'layers'"),
    ({"attack_mode": "test"}, "attack_mode is eval or train; got 'test'"),
]


@pytest.mark.parametrize(("settings", "sentence"), REFUSED)
def test_settings_that_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        AdversarialAugment(**{"networks": SuperResolver(), **settings})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labels": torch.tensor([0, 1, 2, 3, 4, 5])}, r"label 5 is out of range for 5 classes"),
        ({"labels": torch.tensor([0, 1, 2, 3, 4, -1])}, r"label -1 is out of range"),
        ({"labels": torch.tensor([0, 1])}, "got 2 labels for 6 images"),
        ({"images": torch.full((6, 3, 16, 16), 2.0)}, "got values from 2 to 2"),
        (
            {"images": torch.zeros(6, 3, 8, 8)},
            "guard needs images of at least 11x11 pixels; got 8x8, for which guard=None",
        ),
        ({"keys": [1, 2]}, "keys: got 2 for 6 images"),
    ],
)
def test_input_that_is_refused(classifier: nn.Module, change: dict[str, Any], sentence: str) -> None:
    images, labels = batch()
    with pytest.raises(InputError, match=sentence):
        AdversarialAugment(trained_like(SuperResolver()), 0.05, 1)(
            classifier, **{"images": images, "labels": labels, **change}
        )


def test_networks_and_losses_that_are_refused(classifier: nn.Module) -> None:
    images, labels = batch()
    with pytest.raises(InputError, match=r"Grows made \(3, 18, 18\) of \(3, 16, 16\)"):
        AdversarialAugment(Grows())(classifier, images, labels)
    with pytest.raises(InputError, match="Identity has no parameters, so none to perturb"):
        AdversarialAugment(nn.Identity())(classifier, images, labels)
    with pytest.raises(InputError, match="a loss gives one number per example"):
        AdversarialAugment(SuperResolver(), loss=nn.functional.cross_entropy)(classifier, images, labels)
    with pytest.raises(InputError, match=r"a classifier gives logits \(6, classes\); got \(6, 3, 16, 16\)"):
        AdversarialAugment(SuperResolver(), chunk=6)(nn.Identity(), images, labels)


class Gives(SuperResolver):
    """One that makes of images what it is told to."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.change = change

    def forward(self, images: Tensor) -> Tensor:
        return self.change(super().forward(images))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda x: x + float("nan"), "Gives gives NaN for ordinary images"),
        (lambda x: x / 0, "Gives gives (NaN|infinity)"),
        (lambda x: 9 * x + 4, r"Gives gives values from \d.* to \d.*; a corruption network stays in \[0, 1\]"),
    ],
)
def test_networks_that_are_none_are_refused(
    classifier: nn.Module, change: Callable[[Tensor], Tensor], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        AdversarialAugment(trained_like(Gives(change)), 0.05, 1)(classifier, *batch())


def test_a_broken_classifier_is_no_reason_for_broken_images(classifier: nn.Module) -> None:
    with torch.no_grad():
        next(classifier.parameters()).fill_(float("nan"))
    with pytest.raises(InputError, match="the attack came to images that are not finite"):
        AdversarialAugment(trained_like(SuperResolver()), 0.05, 1, "normalized")(classifier, *batch())


@pytest.mark.parametrize(
    "settings",
    [
        {"radius": "0.1"}, {"radius": None}, {"radius": True}, {"steps": 1.5}, {"steps": "3"}, {"guard": "x"},
        {"networks": 3}, {"networks": [3]}, {"networks": SuperResolver}, {"chunk": 2.5}, {"step_size": "1"},
    ],
)  # fmt: skip
def test_settings_of_other_types_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        AdversarialAugment(**{"networks": SuperResolver(), **settings})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_classifiers_of_another_precision_see_images_in_theirs(dtype: torch.dtype) -> None:
    images, labels = batch()
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1, "normalized")
    plain = ada(trained_like(SmallClassifier(), 7), images, labels, seeded())
    found = ada(trained_like(SmallClassifier(), 7).to(dtype), images, labels, seeded())
    assert found.dtype == torch.float32
    # bfloat16 rounds the gradient, whose direction decides
    torch.testing.assert_close(found, plain, rtol=0, atol=1e-4 if dtype == torch.float64 else 0.1)


def test_in_inference_mode_it_climbs_all_the_same(classifier: nn.Module) -> None:
    images, labels = batch()
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1, "normalized")
    expected = ada(classifier, images, labels, seeded())
    with torch.inference_mode():
        assert torch.equal(ada(classifier, images * 1.0, labels, seeded()), expected)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_in_training_mode_the_first_call_is_like_the_second(dropout: float) -> None:
    """Trying how many examples go together takes none of the attack's random numbers, and no batch of one."""
    classifier = trained_like(SmallClassifier(), 7)
    head = nn.Sequential(classifier, nn.BatchNorm1d(5), nn.Dropout(dropout))
    ada = AdversarialAugment(trained_like(SuperResolver()), 0.05, 1, "normalized", attack_mode="train")
    first, second = (ada(head, *batch(), seeded()) for _ in range(2))
    assert torch.equal(first, second)


def test_buffers_of_a_network_that_counts_stay(classifier: nn.Module) -> None:
    class Counts(SuperResolver):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, images: Tensor) -> Tensor:
            self.calls += 1
            return super().forward(images)

    network = trained_like(Counts())
    before = network.calls.clone()
    AdversarialAugment(network, 0.05, 2, "normalized")(classifier, *batch())
    assert torch.equal(network.calls, before)


def test_a_frozen_network_is_perturbed_all_the_same(classifier: nn.Module) -> None:
    network = trained_like(SuperResolver())
    expected = AdversarialAugment(network, 0.05, 1, "normalized")(classifier, *batch(), seeded())
    frozen = AdversarialAugment(network.requires_grad_(False), 0.05, 1, "normalized")
    assert torch.equal(frozen(classifier, *batch(), seeded()), expected)
