"""One of several augmentations for each image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError
from ..images import ImagesLike
from ..randomness import seed_of, stream
from ..specs import Spec, accepts, construct
from .border import ImageAugmentation, in_kind


class OneOf(ImageAugmentation):
    """``(images, generator=None, keys=None) -> images``: each image gets one of the augmentations, equally likely.

    choices: names (``none``, ``deepaugment``), mappings with class_path and init_args, or callables
        ``(images, generator) -> images`` for float NCHW images.

    One number is drawn from `generator`; which augmentation an image gets follows from that number and the image's key
    (by default its position). Augmentations that take keys get those of their images.
    """

    def __init__(self, choices: Sequence[Any]) -> None:
        if isinstance(choices, str) or len(choices) == 0:
            raise InputError(f"one_of wants a list of augmentations to choose from; got {choices!r}")
        self.choices = [_built(choice, f"one_of.choices[{number}]") for number, choice in enumerate(choices)]

    def __call__(
        self, images: ImagesLike, generator: torch.Generator | None = None, keys: Sequence[int] | None = None
    ) -> Tensor:
        return in_kind(images, lambda pixels: self.augment(pixels, generator or torch.default_generator, keys))

    def augment(self, images: Tensor, generator: torch.Generator, keys: Sequence[int] | None = None) -> Tensor:
        """As `__call__`, for float images (B, C, H, W)."""
        keys = range(len(images)) if keys is None else [int(key) for key in keys]
        if len(keys) != len(images):
            raise InputError(f"keys: got {len(keys)} for {len(images)} images")
        base = int(torch.randint(2**63 - 1, (), generator=generator, device=generator.device))
        chosen = torch.tensor([seed_of(base, "choice", key) % len(self.choices) for key in keys])
        changed = images.clone()
        for number, choice in enumerate(self.choices):
            rows = (chosen == number).nonzero()[:, 0]
            if len(rows):
                places, own = rows.to(images.device), [keys[row] for row in rows.tolist()]
                changed[places] = _call(choice, images[places], stream(base, "augment", number), own)
        return changed


def _call(choice: Any, images: Tensor, generator: torch.Generator, keys: list[int]) -> Tensor:
    if accepts(choice, "keys"):
        return choice(images, generator, keys=keys)  # type: ignore[no-any-return]
    return choice(images, generator)  # type: ignore[no-any-return]


def _built(choice: Any, where: str) -> Any:
    if callable(choice):
        return choice
    from .standard import AUGMENTATIONS  # which lists this class too

    spec = Spec.parse(choice, where)
    built = construct(spec.target(AUGMENTATIONS, where), spec.init_args, where)
    if not callable(built):
        raise InputError(f"{where}: {spec.class_path} gave a {type(built).__name__}, which cannot be called")
    return built
