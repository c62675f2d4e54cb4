"""What a person sees of a training: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any, Protocol

PLAIN_SECONDS = 60  # between lines within a long epoch, when there is no terminal


@dataclass(frozen=True)
class Moment:
    """Where a training is. `rate` is in images per second; `loss` and `accuracy` are means over the epoch so far."""

    epoch: int
    epochs: int
    step: int
    steps: int
    rate: float
    eta: float
    loss: float
    accuracy: float | None


class Watch(Protocol):
    """Told about a training as it goes. `pause` is the least time in seconds between two calls of `step`."""

    @property
    def pause(self) -> float: ...

    def step(self, moment: Moment) -> None: ...

    def epoch(self, entry: dict[str, Any], moment: Moment) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    pause = float("inf")

    def step(self, moment: Moment) -> None: ...

    def epoch(self, entry: dict[str, Any], moment: Moment) -> None: ...

    def close(self) -> None: ...


class Lines:
    """One line per epoch, and one per minute within."""

    pause = PLAIN_SECONDS

    def step(self, moment: Moment) -> None:
        print(_place(moment), _means(moment), _pace(moment), sep="  ", file=sys.stderr, flush=True)

    def epoch(self, entry: dict[str, Any], moment: Moment) -> None:
        print(_summary(entry, moment), _pace(moment), sep="  ", file=sys.stderr, flush=True)

    def close(self) -> None: ...


class Live:
    """A bar for the epoch at hand, below the lines of the epochs done."""

    pause = 0.1

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[means]}")
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("starting", total=None, means="")
        self._progress.start()

    def step(self, moment: Moment) -> None:
        means = f"{_means(moment)}  {_pace(moment)}"
        self._progress.update(
            self._task, description=_place(moment), completed=moment.step, total=moment.steps, means=means
        )

    def epoch(self, entry: dict[str, Any], moment: Moment) -> None:
        self._progress.console.print(_summary(entry, moment), highlight=False, markup=False)

    def close(self) -> None:
        self._progress.stop()


def watch(quiet: bool = False) -> Watch:
    """The watch that suits where we run."""
    if quiet:
        return Silent()
    return Live() if sys.stderr.isatty() else Lines()


FORMATS = {"_accuracy": "{:5.2f}%", "_psnr": "{:5.2f} dB", "_ssim": "{:.4f}"}  # of a metric, by the end of its name


def formatted(name: str, value: float) -> str:
    """A metric with its unit."""
    pattern = next((pattern for ending, pattern in FORMATS.items() if name.endswith(ending)), "{:.4g}")
    return pattern.format(value)


def clock(seconds: float) -> str:
    """``1:02:03`` or ``4:05``."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _place(moment: Moment) -> str:
    width = len(str(moment.epochs))
    return f"epoch {moment.epoch:{width}}/{moment.epochs}  step {moment.step}/{moment.steps}"


def _means(moment: Moment) -> str:
    accuracy = "" if moment.accuracy is None else f"  train {100 * moment.accuracy:5.2f}%"
    return f"loss {moment.loss:.4f}{accuracy}"


def _pace(moment: Moment) -> str:
    return f"{moment.rate:,.0f} img/s  {clock(moment.eta)} to go"


def _summary(entry: dict[str, Any], moment: Moment) -> str:
    width = len(str(moment.epochs))
    parts = [f"epoch {moment.epoch:{width}}/{moment.epochs}", _means(moment)]
    parts += [
        f"{key.removesuffix('_accuracy').replace('_', ' ')} {formatted(key, value)}"
        for key, value in entry.items()
        if key.endswith(tuple(FORMATS)) and not key.startswith("train_")
    ]
    return "  ".join([*parts, f"lr {entry['learning_rate']:.4g}"])


def now() -> float:
    """Seconds on a clock that only goes forward."""
    return time.perf_counter()
