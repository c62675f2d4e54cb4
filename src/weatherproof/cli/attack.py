"""What AdversarialAugment makes of your own images: the paper's first figure for them.

  weatherproof attack photos/ --model runs/mine
  weatherproof attack cat.jpg dog.jpg --model runs/mine --network unet --radius 0.0075,0.015,0.03 -o attacked
  weatherproof attack photos10 --model runs/photos10-nominal --network edsr_desk --steps 1 --rule normalized

IMAGES are files, folders of images, or the name of a data set, of whose test split some are taken. The classifier is
led away from what it takes each original for. Written are OUT.png, a picture of originals, corrupted images and
exaggerated differences, and OUT.html, a page with SSIM and the label before and after.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..probing import AttackedImages
    from ..report.attack_sheet import Subject

LARGEST = 256  # pixels a side in the page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", nargs="+", metavar="IMAGES", help="image files, folders, or a data set like photos10")
    parser.add_argument("--model", metavar="RUN", required=True, help="a run folder or a model.safetensors")
    parser.add_argument("--network", default="edsr", help="a corruption network, or the run or file of one")
    parser.add_argument("--radius", default="0.0075,0.015,0.03", metavar="NU,NU",
                        help="how far weights may move, relative to their norm (default .0075,.015,.03)")  # fmt: skip
    parser.add_argument("--steps", type=int, default=10, help="of ascent (default 10)")
    parser.add_argument("--rule", default="sign", help="of the steps: sign (default, the paper's) or normalized")
    parser.add_argument("--guard", default="0.3", metavar="T",
                        help="the largest SSIM distance from the original, or none (default .3)")  # fmt: skip
    parser.add_argument("--limit", type=int, default=8, metavar="N", help="attack at most N images (default 8)")
    parser.add_argument("--seed", type=int, default=0, help="of the random starts")
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="where data sets lie; else $WEATHERPROOF_DATA")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, default=Path("attack"),
                        help="the files' name without an ending (default attack)")  # fmt: skip


def run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    known = parser.parse_args(arguments)
    radii, guard = _radii(known.radius), _guard(known.guard)
    from ..probing import EXAGGERATION, attack_images
    from ..report.attack_sheet import write_attack_sheet
    from ..report.contact_sheet import write_contact_sheet
    from .show import console

    found = attack_images(
        known.images,
        known.model,
        known.network,
        radii,
        steps=known.steps,
        rule=known.rule,
        guard=guard,
        limit=known.limit,
        seed=known.seed,
        data_dir=known.data_dir,
        device=known.device,
    )
    picture, page = (known.output.with_name(f"{known.output.name}.{ending}") for ending in ("png", "html"))
    rows, captions = [("originals", found.images)], [found.labels]
    for case in found.attacked:
        count = int(case.fooled.sum())
        similarity = f"SSIM {1 - case.distances.mean():.3f}, {count} of {len(case.fooled)} labels changed"
        rows += [(f"radius {case.radius:g}: {similarity}", case.images)]
        rows += [(f"their difference, {EXAGGERATION:g} times", case.differences)]
        similar = [f"SSIM {1 - d:.2f} {name}" for d, name in zip(case.distances.tolist(), case.labels, strict=True)]
        captions += [similar, []]
    write_contact_sheet(picture, rows, captions)
    protocol = {**found.protocol, "exaggeration": EXAGGERATION}
    write_attack_sheet(page, radii, _subjects(found), found.images.shape[-1], protocol)
    for title, _ in rows[1::2]:
        console().print(title)
    console().print(f"{picture}, {page}")
    return 0


def _subjects(found: AttackedImages) -> list[Subject]:
    from ..evaluation.pictures import data_uri
    from ..report.attack_sheet import Corrupted, Seen, Subject

    subjects = []
    for i, name in enumerate(found.names):
        corrupted = tuple(
            Corrupted(
                Seen(data_uri(case.images[i], LARGEST), case.labels[i], float(case.confidences[i])),
                data_uri(case.differences[i], LARGEST),
                1 - float(case.distances[i]),
                bool(case.fooled[i]),
                bool(case.guarded[i]),
            )
            for case in found.attacked
        )
        original = Seen(data_uri(found.images[i], LARGEST), found.labels[i], float(found.confidences[i]))
        subjects.append(Subject(name, original, corrupted))
    return subjects


def _radii(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"radii look like 0.015 or 0.0075,0.015; got '{text}'") from error


def _guard(text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"a guard's threshold looks like 0.3, or is none; got '{text}'") from error
