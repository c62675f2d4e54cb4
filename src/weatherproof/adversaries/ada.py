"""AdversarialAugment (Calian et al. 2021): the inner player moves the weights of a corruption network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..images import ImagesLike, as_labels, as_pixels, to_unit
from ..measures.similarity import WINDOW
from ..networks.corruption.fitness import refuse_values
from ..networks.corruption.saved import named_network
from ..networks.per_example import Blocks
from ..randomness import seed_of
from .ascent import Objective, ascend, step_rule
from .attack import Attack, Stopwatch
from .chunks import chunk_size
from .guard import SSIMGuard
from .judge import Judge, Loss, cross_entropy
from .untouched import untouched
from .weights import WeightSpace


class AdversarialAugment:
    """``(classifier, images, labels) -> images``: for each image the worst that a corruption network makes of it when
    its weights may move a little. Call it between augmentation and loss:

        ada = AdversarialAugment(network)
        images = ada(classifier, images, labels)

    networks: a module from images in [0, 1] to images of the same shape, the name of a shipped one, the run or file of
        a trained one, or several of these, which then share each batch equally.
    radius: nu, how far each block of weights may move relative to its own norm; one, or one per network.
    steps: of ascent; 0 leaves the random start.
    rule: sign (the paper's), or normalized: each block along its own gradient.
    step_size: of the rule; None is the paper's eta for sign, a quarter of the median block radius x 10 / steps, and
        the whole of each block's radius for normalized.
    guard: keeps images near the clean ones; a number is the threshold of an exact one, None lets everything pass.
    chunk: examples that are attacked together; peak memory follows it, the result does not. auto picks what is fast.
    blocks: layer takes weight and bias of a layer as one block, tensor each on its own.
    attack_mode: the mode the classifier is attacked in. In train mode BatchNorm makes examples of a chunk depend on
        each other; its statistics are restored.
    loss: logits and labels to the loss of each example.
    """

    def __init__(
        self,
        networks: nn.Module | str | Sequence[nn.Module | str] = "edsr",
        radius: float | Sequence[float] = 0.015,
        steps: int = 10,
        rule: str = "sign",
        step_size: float | None = None,
        guard: SSIMGuard | float | None = SSIMGuard(0.3),  # noqa: B008  it is frozen
        chunk: int | Literal["auto"] = "auto",
        blocks: Blocks = "layer",
        attack_mode: Literal["eval", "train"] = "eval",
        loss: Loss = cross_entropy,
    ) -> None:
        given = [networks] if isinstance(networks, (nn.Module, str)) else _listed(networks)
        self.networks = [_network(entry) for entry in given]
        self._ours = [network for network, entry in zip(self.networks, given, strict=True) if isinstance(entry, str)]
        if not given:
            raise InputError("an adversary needs at least one corruption network")
        self.radii = _radii(radius, len(self.networks))
        if not _is_whole(steps) or steps < 0:
            raise InputError(f"an ascent has 0 steps or more; got {steps!r}")
        if step_size is not None and not (_is_number(step_size) and step_size > 0):
            raise InputError(f"a step size is above 0; got {step_size!r}")
        if chunk != "auto" and not (_is_whole(chunk) and chunk >= 1):
            raise InputError(f"a chunk is auto, or 1 example or more; got {chunk!r}")
        if not (guard is None or isinstance(guard, SSIMGuard) or _is_number(guard)):
            raise InputError(f"a guard is an SSIMGuard, its threshold, or None; got {guard!r}")
        if blocks not in ("layer", "tensor"):
            raise InputError(f"a block is a layer or a tensor; got '{blocks}'")
        if attack_mode not in ("eval", "train"):
            raise InputError(f"attack_mode is eval or train; got '{attack_mode}'")
        self.steps, self.rule, self.step_size = steps, rule, step_size
        self.step = step_rule(rule, step_size, steps)
        self.guard = guard if guard is None or isinstance(guard, SSIMGuard) else SSIMGuard(guard)
        self.chunk, self.blocks, self.attack_mode, self.loss = chunk, blocks, attack_mode, loss
        self._sizes: dict[Any, int] = {}  # chunks of networks that were tried

    def __call__(
        self,
        classifier: nn.Module,
        images: ImagesLike,
        labels: Any,
        generator: torch.Generator | None = None,
        keys: Sequence[int] | None = None,
    ) -> Tensor:
        """Corrupted images, detached, on the device of `images`: float NCHW in [0, 1], or uint8 NHWC given.

        One number is drawn from `generator` (torch's global one by default). What becomes of an example follows from
        that number, the example's key (by default its position), its image and its label alone.
        """
        return self._attack(classifier, images, labels, generator, keys, measure=False).images

    def attack(
        self,
        classifier: nn.Module,
        images: ImagesLike,
        labels: Any,
        generator: torch.Generator | None = None,
        keys: Sequence[int] | None = None,
    ) -> Attack:
        """The same images, and what was measured on the way: one more pass of the classifier, without gradients."""
        return self._attack(classifier, images, labels, generator, keys, measure=True)

    def _attack(
        self, classifier: nn.Module, images: ImagesLike, labels: Any, generator: torch.Generator | None,
        keys: Sequence[int] | None, measure: bool,
    ) -> Attack:  # fmt: skip
        pixels = to_unit(as_pixels(images)).detach()
        if self.guard is not None and len(pixels) and min(pixels.shape[2:]) < WINDOW:
            raise InputError(
                f"the SSIM guard needs images of at least {WINDOW}x{WINDOW} pixels; got {pixels.shape[2]}x"
                f"{pixels.shape[3]}, for which guard=None leaves it out"
            )
        with torch.inference_mode(False):
            # A copy where inference mode made them, since what it makes takes part in no gradient.
            clean = pixels.to(torch.promote_types(pixels.dtype, torch.float32)).contiguous()
            clean = clean.clone() if clean.is_inference() else clean
        targets = as_labels(labels, len(clean)).to(clean.device)
        keys = range(len(clean)) if keys is None else [int(key) for key in keys]
        if len(keys) != len(clean):
            raise InputError(f"keys: got {len(keys)} for {len(clean)} images")
        if len(clean) == 0:
            return Attack(clean, {})
        base = int(torch.randint(2**63 - 1, (), generator=generator, device=generator.device if generator else None))
        training, watch = self.attack_mode == "train", Stopwatch(clean.device)
        for network in self._ours:
            network.to(clean.device)
        self._try(classifier, clean)
        with untouched(classifier, self.networks, training, clean.device, seed_of(base, "global")):
            judge = Judge(classifier, targets, self.loss)
            corrupted, before, largest = self._corrupted(clean, judge, keys, base)
            watch.lap("ascent")
            return self._finish(clean, corrupted, before, judge, 4 * largest if measure else None, watch)

    def _corrupted(self, clean: Tensor, judge: Judge, keys: Sequence[int], base: int) -> tuple[Tensor, Tensor, int]:
        """Every network's share, chunk by chunk: images, losses at the start, and the length of the longest chunk."""
        corrupted, before, largest = torch.empty_like(clean), clean.new_zeros(len(clean)), 1
        shares = _shares(keys, base, len(self.networks))
        for network, radius, share in zip(self.networks, self.radii, shares, strict=True):
            if len(share) == 0:
                continue
            size = self._sizes[_case(network, judge.classifier, clean)]
            largest = max(largest, size)
            for part in share.chunk(math.ceil(len(share) / size)):  # of equal length
                seeds = [seed_of(base, keys[position]) for position in part.tolist()]
                places = part.to(clean.device)
                space = WeightSpace(network, radius, clean[places], self.blocks)
                corrupted[places], before[places] = self._climb(space, judge.losses_of(places), seeds)
        return corrupted, before, largest

    def _try(self, classifier: nn.Module, images: Tensor) -> None:
        """Networks that are new to images of this kind: that they keep to what a corruption network is, and how many
        examples go together. In evaluation mode, and apart from the attack's random numbers."""
        for network in self.networks:
            case = _case(network, classifier, images)
            if case in self._sizes:
                continue
            with untouched(classifier, [network], False, images.device, 0):
                refuse_values(type(network).__name__, WeightSpace(network, 0.0, images[:2], self.blocks).undisturbed())
                self._sizes[case] = chunk_size(network, classifier, images) if self.chunk == "auto" else int(self.chunk)

    def _climb(self, space: WeightSpace, objective: Objective, seeds: list[int]) -> tuple[Tensor, Tensor]:
        """The corrupted images, and the losses at the start (zeros without steps): the first step sees them anyway."""
        seen: list[Tensor] = []

        def watched(images: Tensor) -> Tensor:
            losses = objective(images)
            seen.append(losses.detach().to(images.dtype))
            return losses

        point = ascend(space, watched, space.start(seeds), self.steps, self.step)
        with torch.no_grad():
            return space.apply(point), seen[0] if seen else space.images.new_zeros(len(seeds))

    @torch.no_grad()
    def _finish(
        self, clean: Tensor, corrupted: Tensor, before: Tensor, judge: Judge, at_once: int | None, watch: Stopwatch
    ) -> Attack:
        if not bool(corrupted.isfinite().all()):
            raise InputError(
                "the attack came to images that are not finite: the classifier's loss or its gradient is not, or a "
                f"network whose weights move by {max(self.radii):g} of their norm"
            )
        examples: dict[str, Tensor] = {}
        if self.guard is not None:
            guarded = self.guard.examine(clean, corrupted, overwrite=True)
            corrupted = guarded.images
            examples = {"ssim_distance": guarded.distance, "guarded": guarded.pulled_back}
        watch.lap("guard")
        if at_once is not None:
            after, fooled = judge.verdicts(corrupted, at_once)
            examples |= {"loss_before": before if self.steps else after, "loss_after": after, "fooled": fooled}
            watch.lap("judge")
        return Attack(corrupted, examples, watch.seconds)


def _shares(keys: Sequence[int], base: int, count: int) -> list[Tensor]:
    """Positions of the examples that each of `count` networks gets: by turns, and each call starts with another."""
    turns = (torch.as_tensor(list(keys), dtype=torch.int64) + seed_of(base, "turn") % count) % count
    return [(turns == number).nonzero()[:, 0] for number in range(count)]


def _case(network: nn.Module, classifier: nn.Module, images: Tensor) -> Any:
    return network, type(classifier), images.shape[1:], images.dtype, images.device


def _listed(networks: Any) -> list[Any]:
    if not isinstance(networks, Sequence):
        raise InputError(f"networks are modules or names; got {networks!r}")
    return list(networks)


def _network(entry: nn.Module | str) -> nn.Module:
    if isinstance(entry, nn.Module):
        return entry
    if not isinstance(entry, str):
        raise InputError(f"networks are modules or names; got {entry!r}")
    return named_network(entry)


def _radii(given: Any, count: int) -> list[float]:
    radii = [given] * count if _is_number(given) else given
    if not isinstance(radii, Sequence) or not all(_is_number(radius) and 0 <= radius < math.inf for radius in radii):
        raise InputError(f"a radius is 0 or more, one for all networks or one for each; got {given!r}")
    if len(radii) != count:
        raise InputError(f"got {len(radii)} radii for {count} networks")
    return [float(radius) for radius in radii]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
