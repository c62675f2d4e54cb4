"""Several splits as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from PIL import Image

from .image_sets import ArrayImages, FileImages, ImageSet


def joined(sets: Sequence[ImageSet]) -> ImageSet:
    """All examples, one set after the other; the sets are alike in kind, classes and channels."""
    if len(sets) == 1:
        return sets[0]
    labels = torch.cat([part.labels for part in sets])
    return replace(sets[0], images=_joined_images([part.images for part in sets]), labels=labels)


def _joined_images(parts: Sequence[ArrayImages | FileImages]) -> ArrayImages | FileImages:
    arrays = [part for part in parts if isinstance(part, ArrayImages)]
    if arrays:
        return ArrayImages(torch.cat([part.pixels for part in arrays]))
    files = [part for part in parts if isinstance(part, FileImages)]
    if len({part.opener for part in files}) == 1:
        items: list[object] = [item for part in files for item in part.items]
        return FileImages(items, files[0].channels, files[0].opener)
    numbered = [(i, item) for i, part in enumerate(files) for item in part.items]
    return FileImages(numbered, files[0].channels, _Openers([part.opener for part in files]))


class _Openers:
    """Opens each item as its own set does; a class and not a closure, so that worker processes can be handed it."""

    def __init__(self, openers: Sequence[Callable[[object], Image.Image]]) -> None:
        self.openers = openers
        self.fingerprint = " ".join(getattr(opener, "fingerprint", "") for opener in openers)

    def __call__(self, item: object) -> Image.Image:
        assert isinstance(item, tuple)
        return self.openers[item[0]](item[1])
