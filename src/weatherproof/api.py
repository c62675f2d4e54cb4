"""The roof: what joins rooms that do not know each other, for the command line and for Python alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from . import __version__, training
from .augment import processed_sets
from .corruptions import SCALES, SEVERITIES
from .data import ArrayImages, Data, ImageSet, Loader, default_workers, open_data, open_split, stratified
from .devices import pick_device
from .errors import InputError, did_you_mean
from .evaluation import Result, accuracy, run_suite
from .evaluation.corrupted_sets import Plan, plan_for, write_corrupted
from .evaluation.corruptions import known_corruptions, known_severities
from .evaluation.official import refuse_other_images
from .images import ImagesLike, as_labels, as_pixels
from .networks.classifiers.saved import Card, load_with_card
from .networks.corruption.saved import NetworkCard
from .specs import construct
from .training import Prepared, Recipe, Run, load_recipe
from .training.pretraining import complete_card, examples, pretraining_recipe
from .training.recipe import DataSettings, parse_recipe
from .training.run import free_folder
from .training.watch import watch as choose_watch


def train(
    recipe: str | Path | Recipe,
    folder: str | Path | None = None,
    *,
    overrides: dict[str, Any] | None = None,
    data_dir: str | Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    quiet: bool = False,
) -> Run:
    """Train a recipe (a shipped name, a file, or a `Recipe`) in a new folder; what ``weatherproof train`` does.

    `folder` defaults to the first free ``runs/NAME``. `overrides` maps dotted keys to values:
    ``{"training.epochs": 3}``. Returns the finished run.
    """
    loaded = recipe if isinstance(recipe, Recipe) else load_recipe(recipe, overrides)
    if isinstance(recipe, Recipe) and overrides:
        loaded = parse_recipe(recipe.name, recipe.mapping(), overrides)
    prepared = Prepared(loaded, data_dir=data_dir, device=device, workers=workers)
    run = training.start(prepared, Path(folder).expanduser() if folder else free_folder(loaded.name, Path("runs")))
    return training.train(prepared, run, accuracy, choose_watch(quiet))


def resume(
    folder: str | Path,
    *,
    overrides: dict[str, Any] | None = None,
    data_dir: str | Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    quiet: bool = False,
) -> Run:
    """Go on with an interrupted run, exactly as if it had not been; a finished one is returned as it is."""
    run, recipe = training.reopen(folder, overrides)
    if run.finished:
        return run
    prepared = Prepared(recipe, data_dir=data_dir, device=device, workers=workers)
    return training.train(prepared, run, accuracy, choose_watch(quiet))


@dataclass(frozen=True)
class Pretrained:
    """A trained corruption network: its run, its card with PSNR and SSIM on the test split, a picture."""

    run: Run
    card: NetworkCard
    picture: Path


def pretrain(
    name: str | Path,
    folder: str | Path | None = None,
    *,
    overrides: dict[str, Any] | None = None,
    data_dir: str | Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    quiet: bool = False,
) -> Pretrained:
    """Train a corruption network, by its name or by a recipe; what ``weatherproof pretrain`` does."""
    recipe = pretraining_recipe(name)
    recipe = parse_recipe(recipe.name, recipe.mapping(), overrides)
    run = train(recipe, folder, data_dir=data_dir, device=device, workers=workers, quiet=quiet)
    return _pretrained(run, recipe, data_dir, device, workers)


def resume_pretraining(
    folder: str | Path,
    *,
    overrides: dict[str, Any] | None = None,
    data_dir: str | Path | None = None,
    device: str = "auto",
    workers: int | None = None,
    quiet: bool = False,
) -> Pretrained:
    """Go on with an interrupted `pretrain`; of a finished one, the measurement and the picture are made again."""
    run = resume(folder, overrides=overrides, data_dir=data_dir, device=device, workers=workers, quiet=quiet)
    return _pretrained(run, run.recipe(), data_dir, device, workers)


def _pretrained(run: Run, recipe: Recipe, data_dir: str | Path | None, device: str, workers: int | None) -> Pretrained:
    from .report.contact_sheet import write_contact_sheet

    prepared = Prepared(recipe, data_dir=data_dir, device=device, workers=workers)
    card = complete_card(prepared, run)
    originals, restored = examples(prepared, run)
    picture = run.folder / "reconstructions.png"
    quality = f"PSNR {card.measured['psnr']:.2f} dB, SSIM {card.measured['ssim']:.4f}"
    title = f"{card.network['class_path']}, undisturbed: {quality}"
    write_contact_sheet(picture, [("originals", originals), (title, restored)])
    return Pretrained(run, card, picture)


def evaluate(
    classifier: nn.Module,
    images: ImagesLike,
    labels: Any,
    suite: str = "clean",
    *,
    batch_size: int = 250,
    **options: Any,
) -> Result:
    """Measure any classifier on arrays or tensors: uint8 NHWC, or float NCHW in [0, 1]; labels are integers.

    The classifier takes float NCHW images in [0, 1] and gives logits. It stays on its device and in its modes.
    `options` are the suite's own: ``evaluate(..., suite="corruptions", scale="cifar", severities=[3, 5])``.
    """
    if not isinstance(classifier, nn.Module):
        raise InputError(f"a classifier is an nn.Module; got {type(classifier).__name__}")
    pixels = as_pixels(images).detach().cpu()
    if pixels.is_floating_point():
        pixels = pixels.to(_dtype(classifier))  # numpy's habit of float64 is no reason to refuse
    targets = as_labels(labels, len(pixels)).cpu()
    image_set = ImageSet(ArrayImages(pixels), targets, ())
    loader = Loader(image_set, batch_size, pixels.shape[-1], device=_device(classifier))
    protocol = {"data": "arrays", "images": len(pixels), "size": f"{pixels.shape[2]} x {pixels.shape[3]}"}
    return run_suite(suite, classifier, loader, {**protocol, "weatherproof": __version__}, options)


def evaluate_on(
    model: str | Path,
    source: str | None = None,
    suite: str = "clean",
    *,
    split: str = "test",
    data_dir: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    batch_size: int = 250,
    device: str = "auto",
    workers: int | None = None,
    **options: Any,
) -> Result:
    """Measure a run or a model file on a data set by name; what ``weatherproof evaluate`` does.

    Without a `source`, the data set that the classifier was trained on.
    """
    classifier, card = load_with_card(model, pick_device(device))
    said = card.origin.get("data")
    trained_on = asdict(construct(DataSettings, said, f"{model}: origin.data")) if said else {}
    name = source or trained_on.get("source")
    if not name:
        raise InputError(f"{model} does not say what it was trained on; name the data with --data")
    # The set that it was trained on is opened as it was then, so that its splits are the same.
    settings = trained_on if name == trained_on.get("source") else {"source": name, "channels": card.channels}
    workers = default_workers() if workers is None else workers
    data = open_data(**settings, opened_size=card.size, data_dir=data_dir, workers=workers)
    check_classes(card, data)
    if data.channels != card.channels:
        raise InputError(f"the classifier takes {card.channels} channel(s), but {data.name} has {data.channels}")
    image_set = _measured(data, split, data_dir)
    if options.get("folder"):
        refuse_other_images(Path(options["folder"]), image_set)
    if limit is not None:
        if limit < 1:
            raise InputError(f"a limit is at least 1 image; got {limit}")
        image_set = image_set.take(stratified(image_set.labels, min(limit, len(image_set)), seed)[0])
    loader = Loader(image_set, batch_size, data.size, device=_device(classifier), workers=workers)
    protocol = {"model": str(model), "data": name, "split": split, "images": len(image_set), "size": data.size}
    if card.origin.get("against"):
        protocol["trained_against"] = card.origin["against"]
    if limit is not None:
        protocol |= {"limit": limit, "seed": seed}
    return run_suite(suite, classifier, loader, {**protocol, "weatherproof": __version__}, options)


def _measured(data: Data, split: str, data_dir: str | Path | None) -> ImageSet:
    if split != "all":
        return data.split(split)
    # As it is on disk, whatever the classifier's recipe set aside.
    return open_split(data.name, split, data_dir, size=data.size, channels=data.channels).images


def corrupt_data(
    source: str,
    out: str | Path,
    *,
    split: str | None = None,
    data_dir: str | Path | None = None,
    size: int | None = None,
    corruptions: Sequence[str] = ("all",),
    severities: Sequence[int] = SEVERITIES,
    scale: str = "auto",
    frost: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> Plan:
    """Write a corrupted version of a data set, as ``weatherproof corrupt`` does; returns what was written.

    `split` defaults to test, or to all where the set has no test split of its own. `tell` is told, before anything is
    written, which images are meant, of what size, and what is left out.
    """
    names, chosen = known_corruptions(corruptions), known_severities(severities)
    if jobs < 1:
        raise InputError(f"at least 1 process is needed; got {jobs}")
    if scale not in (*SCALES, "auto"):
        raise InputError(f"there is no scale '{scale}'{did_you_mean(scale, (*SCALES, 'auto'))}")
    part = open_split(source, split, data_dir, size=size)
    plan = plan_for(part, names, chosen, scale, seed, frost)
    words = part.words("resized and cropped to")
    write_corrupted(part.images, Path(out).expanduser(), plan, jobs, progress, lambda: tell(words))
    return plan


def deepaugment_data(
    source: str,
    out: str | Path,
    networks: Sequence[str] = ("edsr", "cae"),
    *,
    split: str = "train",
    data_dir: str | Path | None = None,
    size: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> processed_sets.Plan:
    """Write copies of a data set that DeepAugment has processed, one for each network, as ``weatherproof deepaugment``
    does; returns what was written. `data.copies` of a recipe names them. `tell` is as for `corrupt_data`."""
    if jobs < 1:
        raise InputError(f"at least 1 process is needed; got {jobs}")
    maker = processed_sets.Processing(networks, seed)
    maker.weights()  # a network that is not there is named before data are opened
    part = open_split(source, split, data_dir, size=size)
    plan = processed_sets.plan_for(part, maker)
    words, folder = part.words("the shorter side brought to"), Path(out).expanduser()
    processed_sets.write_processed(part.images, folder, plan, maker, jobs, progress, lambda: tell(words))
    return plan


def check_classes(card: Card, data: Data) -> None:
    """Refuse data whose classes are not the classifier's."""
    ours, theirs = card.class_names, data.classes
    if len(ours) != len(theirs):
        raise InputError(f"the classifier tells {len(ours)} classes apart, but {data.name} has {len(theirs)}")
    numbers = tuple(str(i) for i in range(len(ours)))
    if ours != theirs and numbers not in (ours, theirs):  # classes that are only numbered fit any names
        i = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
        raise InputError(f"class {i} is '{ours[i]}' for the classifier but '{theirs[i]}' in {data.name}")


def _device(classifier: nn.Module) -> torch.device:
    return next((tensor.device for tensor in (*classifier.parameters(), *classifier.buffers())), torch.device("cpu"))


def _dtype(classifier: nn.Module) -> torch.dtype:
    return next((weights.dtype for weights in classifier.parameters() if weights.is_floating_point()), torch.float32)
