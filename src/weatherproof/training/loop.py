"""The one training loop. It knows modules, an objective and batches; not what they are for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..data import Batch, Loader
from ..defences import Objective
from ..errors import InputError
from ..networks.layout import channels_last_is_safe
from ..randomness import seed_global_generators, seed_of
from .checkpoint import Position, load_state, save_state
from .interrupts import StopRequest
from .pipeline import Pipeline
from .run import Run
from .settings import TrainingSettings
from .tasks import methods_of
from .watch import Moment, Watch, now

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Validate = Callable[[nn.Module], dict[str, float]]
"""Measures a module; called after every epoch. The names of the results end up in metrics.jsonl."""

Publish = Callable[[nn.Module], None]
"""Saves the module for users; called after every epoch."""


class Interrupted(Exception):
    """The user asked for a stop; the state was saved."""


class Loop:
    """Trains `model` for `settings.epochs` epochs, from where `run` stands.

    Everything random in step n follows from (seed, n), so that a resumed run repeats an uninterrupted one bit for bit
    on a CPU, from the middle of an epoch too.
    """

    def __init__(
        self,
        fabric: Fabric,
        model: nn.Module,
        objective: Objective,
        pipeline: Pipeline,
        loader: Loader,
        settings: TrainingSettings,
        seed: int,
        run: Run,
        note: dict[str, Any],
        validate: Validate,
        publish: Publish,
        watch: Watch,
    ) -> None:
        self.fabric, self.objective, self.pipeline, self.loader = fabric, objective, pipeline, loader
        self.settings, self.seed, self.run, self.note = settings, seed, run, note
        self.validate, self.publish, self.watch = validate, publish, watch
        last = settings.channels_last and channels_last_is_safe(model)
        self.layout = torch.channels_last if last else torch.contiguous_format
        self.model = model.to(memory_format=self.layout)  # type: ignore[call-overload]
        stepped: Any = torch.compile(self.model) if settings.compile else self.model
        optimizer = settings.build_optimizer(model.parameters())
        self.module, self.optimizer = fabric.setup(stepped, optimizer)  # the module as a step calls it
        methods = methods_of(objective, model)
        for method in methods:
            self.module.mark_forward_method(method)
        # On one device Fabric gives its precision to the forward pass alone, and not to methods that are marked.
        self.precision = fabric.autocast if methods else nullcontext
        self.average = _average(self.model, settings.ema)
        self.position = Position()
        self.steps = len(loader)
        self._losses: list[Tensor] = []  # of the steps that nobody has looked at yet
        self._started = now()

    def train(self) -> None:
        """Go on to the end, or until the user interrupts."""
        if self.run.last_file.exists():
            self._resume()
        else:
            self._save()
        with StopRequest() as stop, torch.random.fork_rng():
            for epoch in range(self.position.epoch, self.settings.epochs):
                self._epoch(epoch, stop)

    def _epoch(self, epoch: int, stop: StopRequest) -> None:
        self._started = now() - self.position.seconds
        first, began = self.position.step, now()
        shown = saved = began
        for batch in self.loader.epoch(epoch, start=first):
            self._step(batch, epoch)
            if stop.requested:
                self._save()
                raise Interrupted
            time = now()
            if time - shown >= self.watch.pause:
                self.watch.step(self._moment(first, began))
                shown = time
            if time - saved >= 60 * self.settings.checkpoint_minutes:
                self._save()
                saved = time
        self._finish_epoch(epoch, self._moment(first, began))

    def _step(self, batch: Batch, epoch: int) -> None:
        began = now()
        number = epoch * self.steps + self.position.step
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate_at(number / self.steps)
        try:
            images, metrics = self.pipeline(self.model, batch, self.seed, number)
        except InputError:  # perhaps because the classifier is broken, of which more can be said
            self._check_losses()
            self._check_weights()
            raise
        if images.ndim == 4:
            images = images.contiguous(memory_format=self.layout)
        seed_global_generators(seed_of(self.seed, "global", number))  # dropout and its like
        parts = self.settings.accumulate
        for part_images, part_labels in zip(images.chunk(parts), batch.labels.chunk(parts), strict=True):
            share = len(part_images) / len(images)
            with self.precision():
                outcome = self.objective(self.module, part_images, part_labels)
            self.fabric.backward(outcome.loss * share)
            self._losses.append(outcome.loss.detach())
            self._add({"loss": outcome.loss.detach(), **outcome.metrics}, share)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update_parameters(self.model)
        if metrics:
            self._add({**metrics, "seconds_step": torch.tensor(now() - began)})
        self.position.step += 1

    def _add(self, metrics: dict[str, Tensor], share: float = 1.0) -> None:
        """Sum up on the device: nothing here waits for an accelerator."""
        for name, value in metrics.items():
            total = self.position.totals.get(name)
            self.position.totals[name] = value * share if total is None else total + value * share

    def _means(self) -> dict[str, float]:
        self._check_losses()
        return {name: float(total) / self.position.step for name, total in sorted(self.position.totals.items())}

    def _check_losses(self) -> None:
        """Refuse to go on from a loss that is not finite; called before anything is shown or saved."""
        if not self._losses:
            return
        finite = torch.stack(self._losses).isfinite().cpu()
        looked_at, self._losses = self._losses, []
        if not finite.all():
            back = (len(looked_at) - 1 - int(finite.long().argmin())) // self.settings.accumulate
            self._fail(self.position.step - back, f"the loss became {float(looked_at[int(finite.long().argmin())])}")

    def _fail(self, step: int, what: str) -> None:
        rate = self.optimizer.param_groups[0]["lr"]
        raise InputError(
            f"{what} at epoch {self.position.epoch + 1}, step {step} (learning rate {rate:.4g}); stopped, and the last "
            f"good state is kept in {self.run.last_file.parent}; a lower training.learning_rate or more warm-up helps"
        )

    def _finish_epoch(self, epoch: int, moment: Moment) -> None:
        means = self._means()
        seconds = round(now() - self._started, 3)  # of training: measuring and saving are not what it costs
        module = self.module_to_keep
        entry: dict[str, Any] = {"epoch": epoch + 1, "learning_rate": self.optimizer.param_groups[0]["lr"]}
        entry |= {f"train_{k}": 100 * v if k == "accuracy" else v for k, v in means.items()}
        self._check_weights()
        try:
            entry |= self.validate(module)
        except InputError:  # an image that cannot be read, say: the epoch is kept
            self._save()
            raise
        entry["seconds"] = seconds
        self.publish(module)
        self.run.record(entry)
        self.position = Position(epoch=epoch + 1)
        self._save()
        self.watch.epoch(entry, moment)

    @property
    def module_to_keep(self) -> nn.Module:
        """What is validated and saved: the averaged weights where there are any."""
        return self.model if self.average is None else self.average.module  # type: ignore[no-any-return]

    def _save(self) -> None:
        self._check_losses()
        self._check_weights()
        self.position.seconds = now() - self._started if self.position.step else 0.0
        size = self.run.metrics_file.stat().st_size if self.run.metrics_file.exists() else 0
        precision = self.fabric.strategy.precision.state_dict()
        note = {**self.note, "metrics_bytes": size}
        save_state(self.run.last_file, self.position, self._modules, self.optimizer, precision, note)

    def _check_weights(self) -> None:
        for name, weight in self.model.named_parameters():
            if not bool(torch.isfinite(weight).all()):
                self._fail(self.position.step, f"the weights in {name} became infinite or NaN")

    def _resume(self) -> None:
        self.position, precision = load_state(self.run.last_file, self._modules, self.optimizer)
        if self.position.epoch > self.settings.epochs or self.position.step > self.steps:
            raise InputError(
                f"{self.run.last_file} stands at epoch {self.position.epoch + 1}, step {self.position.step}, which a "
                f"training of {self.settings.epochs} epochs with {self.steps} steps each does not reach"
            )
        self.fabric.strategy.precision.load_state_dict(precision)

    @property
    def _modules(self) -> dict[str, nn.Module]:
        return {"model": self.model} | ({} if self.average is None else {"average": self.average})

    def _moment(self, first: int, began: float) -> Moment:
        means = self._means()
        done, spent = self.position.step - first, max(now() - began, 1e-9)
        left = (self.settings.epochs - self.position.epoch) * self.steps - self.position.step
        return Moment(
            epoch=self.position.epoch + 1,
            epochs=self.settings.epochs,
            step=self.position.step,
            steps=self.steps,
            rate=done * min(self.loader.batch_size, len(self.loader.images)) / spent,
            eta=left * spent / max(done, 1),
            loss=means["loss"],
            accuracy=means.get("accuracy"),
        )


def _average(model: nn.Module, decay: float | None) -> Any:
    """A moving average of weights and buffers, or None."""
    if decay is None:
        return None
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    blend = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    return AveragedModel(model, multi_avg_fn=blend, use_buffers=True)
