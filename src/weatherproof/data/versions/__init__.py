"""Writing versions of a data set: resumed where it was interrupted, in several processes, the same bytes always."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..image_sets import ArrayImages, Frame, ImageSet
from .arrays import Arrays
from .claim import PROTOCOL, Plan, claimed
from .maker import Maker, Version, Writer
from .processes import finished
from .tree import Tree

Progress = Callable[[int, int], None]  # images written, images in all


def write_versions(
    images: ImageSet,
    out: Path,
    plan: Plan,
    maker: Maker,
    frame: Frame,
    what: str,
    chunk: int = 1_000,
    jobs: int = 1,
    progress: Progress | None = None,
    begin: Callable[[], None] = lambda: None,
) -> None:
    """Write what `maker` makes of `images`; whatever an interrupted call finished is kept.

    Images in memory become one .npy for each first word of the versions (its versions one after the other, uint8 NHWC)
    and labels.npy; images in files become <version>/<class>/<file>.JPEG, opened as `frame` says. What the `plan` says
    lies beside them; a folder that was begun by another one is refused, unless it is one that this can be added to.
    `what` names such a set in sentences. `chunk` images in memory are worked on, and written, at a time. The bytes do
    not depend on `jobs`. `begin` is called when all that could be refused is not, before an image is made.
    """
    in_memory = isinstance(images.images, ArrayImages)
    writer: Writer = Arrays(images, out, maker, chunk) if in_memory else Tree(images, out, maker, frame)
    with claimed(out, plan, what):
        begin()
        _write(writer, len(images) * len(maker.versions), jobs, progress)


def _write(writer: Writer, total: int, jobs: int, progress: Progress | None) -> None:
    units = writer.missing()
    done = total - sum(writer.size(unit) for unit in units)
    for unit in finished(writer, units, jobs):
        writer.note(unit)
        done += writer.size(unit)
        if progress:
            progress(done, total)
    writer.finish()


__all__ = ["PROTOCOL", "Maker", "Plan", "Progress", "Version", "write_versions"]
