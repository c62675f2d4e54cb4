"""NoisyMix (Erichson et al. 2022): images or features are mixed, with noise on them, and all views predict the same."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.distributions import Beta
from torch.nn import functional

from ..errors import InputError
from .divergence import jensen_shannon
from .objective import Outcome
from .stages import changed_output, stages_of


class NoisyMix:
    """Cross-entropy of mixed labels on the first view, and `weight` times the Jensen-Shannon divergence of all views.

    Images are (B, 3, C, H, W): view 0 as it is, views 1 and 2 augmented (AugMix, as published). One forward pass for
    all of them. In it, at a place drawn for each step from the images and the outputs of the classifier's stages but
    for the last one, with one lambda ~ Beta(alpha, alpha) and one permutation for all views,

        x <- lambda x + (1 - lambda) x[permutation]
        x <- x (1 + multiplicative * s U(-1, 1)) + additive * t N(0, 1),  s, t ~ Beta(2, 5), once a step

    Images count from -1 to 1 in this, the scale on which the authors' CIFAR networks get them. `alpha` 0 mixes nothing.
    Any number of views is taken, (B, C, H, W) too, where nothing is left of the divergence; views that are not
    augmented differ by their noise.

    The stages are those of this package's classifiers. Of another one only the images are mixed, unless `layers` names
    the modules whose outputs are to be: ``("input", "layer1", "layer2")``. Each has to give one tensor, batch first,
    once in a forward pass.

    `sparse` is made after the authors' later "sparse level", whose code is not known to us: a share sparse * Beta(2, 5)
    of the values becomes the lowest or the highest value of its image or feature map.

    Gaussian and sparse noise are also what corruption benchmarks measure (Gaussian, shot and impulse noise), so that
    results there are not those of a classifier that has never seen such noise; `note` says so, for cards and reports.
    Draws come from torch's global generators: those of the tensors' device, and the CPU's for the place.
    """

    views = 3

    def __init__(
        self,
        weight: float = 12.0,
        alpha: float = 1.0,
        additive: float = 0.5,
        multiplicative: float = 0.5,
        sparse: float = 0.0,
        layers: tuple[str, ...] | None = None,
    ) -> None:
        for name, value in {"weight": weight, "alpha": alpha, "additive": additive, "multiplicative": multiplicative,
                            }.items():  # fmt: skip
            if not 0 <= value < float("inf"):
                raise InputError(f"noisymix wants a finite {name} of 0 or more; got {value}")
        if not 0 <= sparse <= 1:
            raise InputError(f"noisymix wants sparse from 0 to 1; got {sparse}")
        if layers is not None and not layers:
            raise InputError("noisymix wants one layer or more to mix at ('input' are the images); got none")
        self.weight, self.alpha, self.layers = weight, alpha, layers
        self.additive, self.multiplicative, self.sparse = additive, multiplicative, sparse

    @property
    def note(self) -> str:
        """What a report has to say of the noise in training; empty where there is none."""
        levels = {"Gaussian": self.additive, "multiplicative (speckle)": self.multiplicative, "sparse": self.sparse}
        kinds = [kind for kind, level in levels.items() if level > 0]
        if not kinds:
            return ""
        listed = " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
        return (
            f"NoisyMix trains with {listed} noise, which overlaps with types of noise that the corruption benchmark "
            f"contains (Gaussian, shot, impulse and speckle noise): those are not unseen corruptions here."
        )

    def __call__(self, model: nn.Module, images: Tensor, labels: Tensor) -> Outcome:
        views = images if images.ndim == 5 else images[:, None]
        count, number = views.shape[:2]
        stacked = views.transpose(0, 1).flatten(0, 1)  # the first view of all images, then the second, ...
        places = stages_of(model, self.layers)
        name, stage = places[int(torch.randint(len(places), ()))]
        partner = torch.randperm(count, device=images.device)
        share = _beta(self.alpha, self.alpha, images) if self.alpha else images.new_ones((), dtype=torch.float32)

        def change(x: Tensor) -> Tensor:
            return self._noisy(mixed(x, share, partner, number))

        logits = _through(model, stacked, change, name, stage).float().view(number, count, -1)
        loss = _mixed_loss(logits[0], labels, share, partner)
        metrics = {"accuracy": _accuracy(logits[0].detach(), labels, share, partner)}
        if number > 1:
            apart = jensen_shannon(logits)
            loss = loss + self.weight * apart
            metrics["divergence"] = apart.detach()
        return Outcome(loss, metrics)

    def _noisy(self, x: Tensor) -> Tensor:
        changed = x
        if self.multiplicative:
            level = self.multiplicative * _beta(2, 5, x)
            changed = changed * (1 + level * (2 * torch.rand_like(x) - 1))
        if self.additive:
            changed = changed + self.additive * _beta(2, 5, x) * torch.randn_like(x)
        if self.sparse:
            changed = with_extremes(changed, self.sparse * _beta(2, 5, x))
        return changed


def mixed(x: Tensor, share: Tensor, partner: Tensor, views: int) -> Tensor:
    """lambda x + (1 - lambda) x[partner] within each of the views that are stacked in the first dimension."""
    share = share.to(x.dtype)
    apart = x.view(views, len(partner), *x.shape[1:])
    return (share * apart + (1 - share) * apart.index_select(1, partner)).flatten(0, 1)


def with_extremes(x: Tensor, share: Tensor) -> Tensor:
    """A `share` of the values, drawn one by one, becomes the lowest or the highest value of its example."""
    dims = tuple(range(1, x.ndim))
    u = torch.rand(x.shape, device=x.device)
    low, high = x.detach().amin(dims, keepdim=True), x.detach().amax(dims, keepdim=True)
    return torch.where(u < share / 2, low, torch.where(u < share, high, x))


def _through(
    model: nn.Module, images: Tensor, change: Callable[[Tensor], Tensor], name: str, stage: nn.Module | None
) -> Tensor:
    """The logits when `change` happens at that place."""
    if stage is None:
        logits: Tensor = model((change(2 * images - 1) + 1) / 2)
        return logits
    with changed_output(stage, change, name, len(images)):
        logits = model(images)
    return logits


def _mixed_loss(logits: Tensor, labels: Tensor, share: Tensor, partner: Tensor) -> Tensor:
    own = functional.cross_entropy(logits, labels)
    return share * own + (1 - share) * functional.cross_entropy(logits, labels[partner])


def _accuracy(logits: Tensor, labels: Tensor, share: Tensor, partner: Tensor) -> Tensor:
    """Hits count as much as their label does in the mixture."""
    predicted = logits.argmax(dim=1)
    hits, others = (predicted == labels).float().mean(), (predicted == labels[partner]).float().mean()
    return share * hits + (1 - share) * others


def _beta(a: float, b: float, like: Tensor) -> Tensor:
    """A draw on the tensor's device, float32, without dimensions."""
    first, second = torch.tensor([a, b], device=like.device, dtype=torch.float32)
    drawn: Tensor = Beta(first, second).sample()
    return drawn
