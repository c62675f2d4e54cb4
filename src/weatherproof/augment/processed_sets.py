"""Writing processed copies of a data set: each image as DeepAugment makes it, one copy for each network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import __version__
from ..data import ImageSet, ShortSide, Split, fingerprint
from ..data.versions import Progress, Version, write_versions
from ..errors import InputError
from ..files import checksum
from ..networks.corruption.saved import card_of, named_network
from ..randomness import seed_of, stream
from .deepaugment import DeepAugment

COPIES = ("copies", "networks", "weights")  # the columns of a plan that say what the copies are; names come first
CHUNK = 64  # images in memory that are worked on, and written, at a time


@dataclass(frozen=True)
class Plan:
    """What processed copies are made of; it lies beside them as protocol.json, and copies of another plan are never
    mixed with them, but for more copies. For each of the `copies`, `networks` says how its network was named, `weights`
    whose they are and what they are, by checksum."""

    method: str
    data: str
    split: str
    images: int
    size: int
    channels: int
    copies: tuple[str, ...]
    networks: tuple[str, ...]
    weights: tuple[str, ...]
    seed: int
    weatherproof: str
    fingerprint: str

    def protocol(self) -> dict[str, Any]:
        """In plain values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def added_to(self, there: Mapping[str, Any]) -> dict[str, Any]:
        """What the protocol of a set comes to when these copies are added to those that it has.

        Nothing where a copy of that name is there already, by another network.
        """
        ours, theirs = _rows(self.protocol()), _rows(there)
        if any(theirs.get(name, row)[-1] != row[-1] for name, row in ours.items()):
            return {}
        rows = {**ours, **theirs}
        names = [*theirs, *(name for name in ours if name not in theirs)]
        return {column: [rows[name][i] for name in names] for i, column in enumerate(COPIES)}


def _rows(protocol: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What is known of each copy, by its name."""
    return {row[0]: row for row in zip(*(protocol.get(column, ()) for column in COPIES), strict=False)}


class Processing:
    """Makes the versions of a plan. Networks are loaded where they are needed, in each process."""

    def __init__(self, networks: Sequence[str], seed: int) -> None:
        self.networks, self.seed = tuple(networks), seed
        self.names = copy_names(self.networks)

    @property
    def versions(self) -> Sequence[Version]:
        return [(name,) for name in self.names]

    @cached_property
    def augmentations(self) -> dict[str, DeepAugment]:
        """By the name of the copy."""
        return {
            name: DeepAugment(_network(network, self.seed))
            for name, network in zip(self.names, self.networks, strict=True)
        }

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key != "augmentations"}

    def weights(self) -> tuple[str, ...]:
        """Whose weights each network has, and their checksum."""
        modules = [augmentation.network for augmentation in self.augmentations.values()]
        return tuple(f"{card_of(module).protocol()} {checksum(module.state_dict())[:16]}" for module in modules)

    def make(self, pixels: Tensor, version: Version, numbers: Sequence[int]) -> np.ndarray:
        name = str(version[0])
        with one_thread():
            processed = self.augmentations[name](pixels, stream(self.seed, "deepaugment", name), numbers)
        return processed.contiguous().numpy()


def plan_for(part: Split, maker: Processing) -> Plan:
    """The plan for images of a data set."""
    return Plan(
        method="deepaugment",
        data=part.data,
        split=part.name,
        images=len(part.images),
        size=part.size,
        channels=part.images.images.channels,
        copies=maker.names,
        networks=maker.networks,
        weights=maker.weights(),
        seed=maker.seed,
        weatherproof=__version__,
        fingerprint=fingerprint(part.images),
    )


def write_processed(
    images: ImageSet, out: Path, plan: Plan, maker: Processing, jobs: int = 1, progress: Progress | None = None,
    begin: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Write the copies that `plan` describes; whatever an interrupted call finished is kept.

    Images in memory become <copy>.npy, uint8 NHWC, and labels.npy; images in files become <copy>/<class>/<file>.JPEG,
    their shorter side brought to the plan's size. The bytes do not depend on `jobs`. `begin` is called when nothing was
    refused, before anything is made.
    """
    sample = torch.zeros(1, plan.size, plan.size, plan.channels, dtype=torch.uint8)
    for version in maker.versions:  # what a network has to complain of, it says before anything is written
        maker.make(sample, version, [0])
    write_versions(images, out, plan, maker, ShortSide(plan.size), "processed set", CHUNK, jobs, progress, begin)


def copy_names(networks: Sequence[str]) -> tuple[str, ...]:
    """What the copies are called: as the network, or as the last part of its path."""
    names = tuple(Path(name.partition("@")[0]).name.removesuffix(".safetensors") for name in networks)
    if not names or len(set(names)) < len(names) or "labels" in names:
        raise InputError(
            "copies are called after their networks, which must be one or more of different names; got "
            f"{', '.join(names) or 'none'}"
        )
    return names


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums may depend in their last bit on how many threads share them, and bytes would depend on the machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _network(name: str, seed: int) -> nn.Module:
    """An untrained network is the same in every process."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed_of(seed, "network", name))
        return named_network(name)
