"""The roof over what an adversary does to images: sheets of attacks, radii that match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from . import __version__
from .adversaries import AdversarialAugment
from .adversaries.radius import Match, matching_radius, ssim_distances
from .api import check_classes
from .data import FileImages, ImageSet, Loader, open_data, stratified
from .data.folder import is_image
from .data.image_sets import open_file
from .devices import pick_device
from .errors import InputError
from .images import to_unit
from .measures import ssim
from .networks.classifiers.saved import Card, load_with_card
from .networks.corruption.saved import named_card

EXAGGERATION = 5.0
NOTHING = 1e-3  # of 1 - SSIM: less than that is no corruption to match


@dataclass(frozen=True)
class Attacked:
    """Images at one radius: corrupted ones (N, C, H, W) and their exaggerated difference from the originals; of each
    1 - SSIM, what the classifier takes it for and how surely, and whether the guard pulled it back."""

    radius: float
    images: Tensor
    differences: Tensor
    distances: Tensor
    labels: list[str]
    confidences: Tensor
    guarded: Tensor
    fooled: Tensor


@dataclass(frozen=True)
class AttackedImages:
    """Originals (N, C, H, W), their names, what the classifier takes them for and how surely, and the same at each
    radius."""

    names: list[str]
    images: Tensor
    labels: list[str]
    confidences: Tensor
    attacked: list[Attacked]
    protocol: dict[str, Any]


def attack_images(
    sources: Sequence[str],
    model: str | Path,
    network: str = "edsr",
    radii: Sequence[float] = (0.0075, 0.015, 0.03),
    *,
    steps: int = 10,
    rule: str = "sign",
    guard: float | None = 0.3,
    limit: int = 8,
    seed: int = 0,
    data_dir: str | Path | None = None,
    device: str = "auto",
) -> AttackedImages:
    """What AdversarialAugment makes of images, at each radius; ``weatherproof attack``.

    `sources` are image files, folders of them, or the name of a data set; at most `limit` images are taken. The
    classifier is led away from what it takes the originals for, so that nobody need label them.
    """
    classifier, card = load_with_card(model, pick_device(device))
    chosen, names = _chosen(sources, card, limit, seed, data_dir)
    (batch,) = Loader(chosen, len(chosen), card.size, device=pick_device(device)).epoch()
    images = to_unit(batch.images)
    targets, confidences = _looked_at(classifier, images)
    attacked = []
    for radius in radii:
        ada = AdversarialAugment(network, radius, steps=steps, rule=rule, guard=guard)
        attack = ada.attack(classifier, images, targets, torch.Generator().manual_seed(seed))
        labels, sure = _looked_at(classifier, attack.images)
        none = torch.zeros(len(images), dtype=torch.bool)
        attacked.append(
            Attacked(
                radius,
                attack.images.cpu(),
                (0.5 + EXAGGERATION * (attack.images - images)).clamp(0, 1).cpu(),
                (1 - ssim(images, attack.images)).cpu(),
                [card.class_names[label] for label in labels.tolist()],
                sure,
                attack.examples.get("guarded", none).cpu(),
                (labels != targets).cpu(),
            )
        )
    protocol = {"images": ", ".join(sources), "count": len(images), "model": str(model)}
    protocol |= {"network": named_card(network).protocol(), "radii": list(radii), "rule": rule, "steps": steps}
    protocol |= {"guard": guard, "seed": seed}
    known = [card.class_names[label] for label in targets.tolist()]
    return AttackedImages(
        names, images.cpu(), known, confidences, attacked, {**protocol, "size": card.size, "weatherproof": __version__}
    )


def _looked_at(classifier: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """What a classifier takes images for, (N,) on their device, and how surely, (N,)."""
    with torch.no_grad():
        sure, labels = classifier(images).softmax(dim=1).max(dim=1)
    return labels, sure.cpu()


def _chosen(
    sources: Sequence[str], card: Card, limit: int, seed: int, data_dir: str | Path | None
) -> tuple[ImageSet, list[str]]:
    """The images to attack, and what to call them."""
    if limit < 1:
        raise InputError(f"at least 1 image is needed; got {limit}")
    paths = [Path(source).expanduser() for source in sources]
    if len(sources) == 1 and (paths[0].suffix == ".npz" or not paths[0].exists()):
        data = open_data(sources[0], data_dir, channels=card.channels, opened_size=card.size)
        places = stratified(data.test.labels, min(limit, len(data.test)), seed)[0]
        return data.test.take(places), [f"{sources[0]} {place}" for place in places]
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no file or folder {path}")
        found += sorted(file for file in path.rglob("*") if is_image(file)) if path.is_dir() else [path]
    if not found:
        raise InputError(f"{', '.join(sources)} holds no images")
    found = found[:limit]
    files = FileImages(found, card.channels, open_file)
    return ImageSet(files, torch.zeros(len(found), dtype=torch.int64), card.class_names), [path.name for path in found]


@dataclass(frozen=True)
class FoundRadius:
    """The radius of one network that corrupts as another does at its own, and the SSIM distances of both, (N,)."""

    match: Match
    wanted: Tensor
    protocol: dict[str, Any]


def find_radius(
    network: str,
    source: str,
    *,
    like: str = "edsr",
    like_radius: float = 0.015,
    count: int = 512,
    model: str | Path | None = None,
    steps: int = 0,
    rule: str = "normalized",
    seed: int = 0,
    size: int | None = None,
    data_dir: str | Path | None = None,
    device: str = "auto",
    report: Callable[[Match], None] | None = None,
) -> FoundRadius:
    """The radius at which `network` corrupts training images as `like` does at its own; ``weatherproof radius``.

    What is compared is the distribution of 1 - SSIM over `count` images, every class in proportion: of random
    perturbations, or with a `model` and `steps` of those that AdA finds against it. The guard is left out. A network
    that undisturbed takes images further away than is wanted is measured from its own undisturbed images instead.
    """
    for name in (network, like):
        named_card(name)  # refuses what is not there, before anything is computed
    where = pick_device(device)
    data = open_data(source, data_dir, size=size)
    classifier, card = load_with_card(model, where) if model else (None, None)
    if card is not None:
        check_classes(card, data)
    if not 1 <= count <= len(data.train):
        raise InputError(f"between 1 and {len(data.train):,} images can be taken; got {count}")
    chosen = data.train.take(stratified(data.train.labels, count, seed)[0])
    (batch,) = Loader(chosen, count, data.size, device=where).epoch()

    images = to_unit(batch.images)

    def distances(name: str, radius: float, origin: Tensor | None = None) -> Tensor:
        ada = AdversarialAugment(name, radius, steps=steps, rule=rule, guard=None)
        return ssim_distances(ada, images, classifier, batch.labels, seed, origin)

    wanted = distances(like, like_radius)
    if wanted.mean() <= NOTHING:
        raise InputError(
            f"{like} at radius {like_radius:g} changes these images by {wanted.mean():.1g} on average, which is "
            f"nothing to match; name a larger radius, or a model to attack"
        )
    origin = None
    if distances(network, 0.0).mean() >= wanted.mean():
        still = AdversarialAugment(network, 0.0, steps=0, guard=None)
        origin = still(nn.Identity(), images, batch.labels)
    match = matching_radius(partial(distances, network, origin=origin), wanted, report)
    protocol = {"data": source, "images": count, "size": data.size}
    protocol |= {"network": named_card(network).protocol(), "like": named_card(like).protocol()}
    protocol |= {"like radius": like_radius}
    if origin is not None:
        protocol["distances from"] = "what the network makes of images undisturbed"
    attack = {"model": str(model), "rule": rule, "steps": steps} if model else {"perturbations": "random"}
    return FoundRadius(match, wanted, {**protocol, **attack, "seed": seed, "weatherproof": __version__})
