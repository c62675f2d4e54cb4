"""What a batch goes through before a step: sample -> standard -> adversary -> last."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..adversaries import Adversary
from ..augment import Augmentation, ImageAugmentation
from ..data import Batch
from ..errors import InputError
from ..images import to_unit
from ..randomness import stream


@dataclass(frozen=True)
class Pipeline:
    """The paper's way to combine methods, one stage after the other; each draws from a stream of its own.

    sample: which version of each image is trained on, DeepAugment's, say; before the crop.
    standard: crop and flip.
    adversary: attacks the classifier as it stands, within `autocast`; its guard is its own.
    last: AugMix, say.
    views: 1, or as many as the objective compares: the image after `standard`, and further ones that what comes later
        has made of it, each by draws of its own. Where `last` makes the difference, they share an attack.
    """

    standard: Augmentation
    sample: Augmentation | None = None
    adversary: Adversary | None = None
    last: Augmentation | None = None
    views: int = 1
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext

    def __post_init__(self) -> None:
        if self.views > 1 and self.adversary is None and self.last is None:
            raise InputError(
                "this defence compares an image with what augment.adversary or augment.last makes of it; the recipe "
                "names neither"
            )

    def __call__(self, model: nn.Module, batch: Batch, seed: int, number: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Step `number`'s images, float (B, C, H, W) in [0, 1], or (B, views, C, H, W); and what to log."""
        images = batch.images
        if self.sample is not None:
            images = self.sample(to_unit(images), stream(seed, "sample", number))
        images = to_unit(images) if isinstance(self.standard, ImageAugmentation) else images  # others move bytes faster
        clean = to_unit(self.standard(images, stream(seed, "augment", number)))
        attacked, metrics = self._attacked(model, clean, batch.labels, stream(seed, "adversary", number))
        if self.views == 1:
            return self._finished(attacked, stream(seed, "last", number)), metrics
        views = [clean, self._finished(attacked, stream(seed, "last", number))]
        for view in range(2, self.views):
            if self.last is None:
                attacked, _ = self._attacked(model, clean, batch.labels, stream(seed, "adversary", number, view))
            views.append(self._finished(attacked, stream(seed, "last", number, view)))
        return torch.stack(views, dim=1), metrics

    def _attacked(
        self, model: nn.Module, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What the adversary makes of the images, if there is one, and what to log of it."""
        if self.adversary is None:
            return images, {}
        with self.autocast():
            attack = self.adversary.attack(model, images, labels, generator)
        seconds = {f"seconds_{part}": torch.tensor(spent) for part, spent in attack.seconds.items()}
        return attack.images, {f"attack_{name}": value for name, value in {**attack.metrics, **seconds}.items()}

    def _finished(self, images: Tensor, generator: torch.Generator) -> Tensor:
        return images if self.last is None else self.last(images, generator)
