"""From a recipe to a trained module in a run folder."""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..augment import Unchanged, on_files
from ..data import Batch, Data, FileImages, Frame, ImageSet, Loader, default_workers, open_data
from ..devices import pick_device
from ..errors import InputError
from ..networks.corruption import NETWORKS
from ..networks.corruption.saved import named_card
from ..randomness import seed_global_generators, seed_of
from .checkpoint import read_note
from .loop import Loop
from .pipeline import Pipeline
from .recipe import Recipe, differences
from .run import Run, environment
from .tasks import methods_of
from .trainees import Accuracy, Trainee, trainee
from .watch import Silent, Watch

if TYPE_CHECKING:
    from lightning_fabric import Fabric

VALIDATION_BATCH = 500
PRECISIONS = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}


class Prepared:
    """A recipe with its data opened and its module built: everything that comes before the first step."""

    def __init__(
        self, recipe: Recipe, *, data_dir: Path | str | None = None, device: str = "auto", workers: int | None = None
    ) -> None:
        self.recipe = recipe
        self.fabric = _fabric(recipe, device)
        self.workers = default_workers() if workers is None else workers
        self.data = _open(recipe, data_dir, self.workers)
        self.trainee: Trainee = trainee(recipe, self.data)
        self.module = self._build()
        methods_of(recipe.objective(), self.module)
        frame, self.pipeline = self._pipeline()
        _check_networks(recipe, self.data)
        self.loader = self._loader(self.data.train, recipe.training.batch_size, frame, recipe.seed)

    def validation(self) -> tuple[str, Loader]:
        """The split that is measured after every epoch, and its name. Nothing is ever chosen by it."""
        split = "test" if self.data.validation is None else "validation"
        return split, self.measuring(split)

    def measuring(self, split: str) -> Loader:
        """A split in its own order, not augmented."""
        return self._loader(self.data.split(split), VALIDATION_BATCH, None, None)

    def _build(self) -> nn.Module:
        with torch.random.fork_rng():
            seed_global_generators(seed_of(self.recipe.seed, "weights"))
            module = self.trainee.build()
        module = module.to(self.fabric.device)
        image = torch.zeros(1, self.data.channels, *[self.data.size] * 2, device=self.fabric.device)
        self.trainee.check(module, image, self._fewest())
        return module

    def _fewest(self) -> int:
        """The images in the smallest part of a batch that a step looks at together."""
        batch, parts = min(self.recipe.training.batch_size, len(self.data.train)), self.recipe.training.accumulate
        return len(torch.arange(batch).chunk(parts)[-1])

    def _pipeline(self) -> tuple[Frame | None, Pipeline]:
        """How files are opened, where there are files, and what batches go through."""
        frame, standard = None, self.recipe.augmentation() or Unchanged()
        if isinstance(self.data.train.images, FileImages):
            frame, standard = on_files(standard, self.data.size)
        return frame, Pipeline(
            standard,
            self.recipe.augmentation("sample"),
            self.recipe.build_adversary(),
            self.recipe.augmentation("last"),
            getattr(self.recipe.objective(), "views", 1),
            self.fabric.autocast,
        )

    def _loader(self, images: ImageSet, batch_size: int, frame: Frame | None, seed: int | None) -> Loader:
        return Loader(
            images,
            batch_size,
            self.data.size,
            frame=frame,
            seed=seed,
            drop_last=seed is not None,
            device=self.fabric.device,
            workers=self.workers,
        )


def train(prepared: Prepared, run: Run, accuracy: Accuracy, watch: Watch | None = None) -> Run:
    """Train, from the start or from where the run was left; returns the run, finished."""
    recipe, trainee = prepared.recipe, prepared.trainee
    _check_same_data(prepared, run)
    split, loader = prepared.validation()
    loop = Loop(
        prepared.fabric,
        prepared.module,
        recipe.objective(),
        prepared.pipeline,
        prepared.loader,
        recipe.training,
        recipe.seed,
        run,
        {"recipe": recipe.mapping(), "train_images": len(prepared.data.train)},
        lambda module: {f"{split}_{name}": value for name, value in trainee.measure(module, loader, accuracy).items()},
        lambda module: trainee.publish(run.folder, module),
        watch or Silent(),
    )
    try:
        loop.train()
    finally:
        loop.watch.close()
    return run


def start(prepared: Prepared, folder: Path) -> Run:
    """A new run in `folder`."""
    return Run.create(folder, prepared.recipe, environment(str(prepared.fabric.device), sys.argv))


def reopen(folder: str | Path, overrides: dict[str, Any] | None = None) -> tuple[Run, Recipe]:
    """A run to resume, and its recipe; refuses when the recipe is not the one that the run was started with."""
    from .recipe import parse_recipe

    run = Run(folder)
    recipe = run.recipe()
    if overrides:
        recipe = parse_recipe(recipe.name, recipe.mapping(), overrides)
    if run.last_file.exists():
        note = read_note(run.last_file)
        # Read as of today, so that a setting that did not exist then has its default.
        changed = differences(parse_recipe(recipe.name, note["recipe"]).mapping(), recipe.mapping())
        if changed:
            raise InputError(
                f"{folder} cannot be resumed with a changed recipe ({'; '.join(changed)}); start a new run"
            )
        run.forget_metrics_after(note["metrics_bytes"])
    return run, recipe


def dry_run(prepared: Prepared) -> dict[str, Any]:
    """One forward and backward pass on the first batch, or on two images of it where an adversary attacks them, and
    nothing written; what a training would be like."""
    recipe = prepared.recipe
    batch = next(iter(prepared.loader.epoch()))
    if prepared.pipeline.adversary is not None:  # two images are enough to see that it can
        batch = Batch(batch.images[:2], batch.labels[:2], batch.indices[:2])
    with torch.random.fork_rng():
        images, _ = prepared.pipeline(prepared.module, batch, recipe.seed, 0)
        outcome = recipe.objective()(prepared.module, images, batch.labels)
        outcome.loss.backward()  # type: ignore[no-untyped-call]
    split, _ = prepared.validation()
    return {
        "parameters": sum(p.numel() for p in prepared.module.parameters()),
        "train_images": len(prepared.data.train),
        f"{split}_images": len(prepared.data.split(split)),
        "classes": len(prepared.data.classes),
        "input": f"{prepared.data.channels} x {prepared.data.size} x {prepared.data.size}",
        "steps_per_epoch": len(prepared.loader),
        "peak_learning_rate": recipe.training.peak_learning_rate,
        "device": str(prepared.fabric.device),
        "first_loss": round(float(outcome.loss.detach()), 4),
    }


def _fabric(recipe: Recipe, device: str) -> Fabric:
    from lightning_fabric import Fabric

    accelerator = pick_device(device).type
    if recipe.training.precision == "fp16" and accelerator != "cuda":
        raise InputError("training.precision fp16 needs CUDA; bf16 and fp32 run everywhere")
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it announces every mixed precision
    precision: Any = PRECISIONS[recipe.training.precision]
    fabric = Fabric(accelerator=accelerator, devices=1, precision=precision)
    fabric.launch()
    return fabric


def _open(recipe: Recipe, data_dir: Path | str | None, workers: int) -> Data:
    try:
        return open_data(**asdict(recipe.data), data_dir=data_dir, workers=workers)
    except InputError as error:
        if str(error).startswith("cannot hold out"):  # which key it is that asks for it
            raise InputError(f"data.holdout: {error}") from error
        raise


def _check_networks(recipe: Recipe, data: Data) -> None:
    """Networks that know small images only are used on larger ones when the recipe says whose weights it means."""
    for entry in recipe.networks():
        size = named_card(entry).size
        if entry in NETWORKS and 0 < size < data.size:
            raise InputError(
                f"the weights of {entry} were trained on images of {size} pixels, and {data.name} has {data.size}; "
                f"pretrain others (weatherproof pretrain), or say that you mean these: "
                f"{entry}@{named_card(entry).weights}"
            )


def _check_same_data(prepared: Prepared, run: Run) -> None:
    """A recipe names its data; what lies behind the name can change while a run is stopped."""
    count = len(prepared.data.train)
    before = read_note(run.last_file).get("train_images", count) if run.last_file.exists() else count
    if before != count:
        raise InputError(
            f"{run.folder} cannot be resumed: {prepared.data.name} had {before:,} training images when it was stopped, "
            f"and has {count:,} now"
        )
