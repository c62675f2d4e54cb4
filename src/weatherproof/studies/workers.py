"""Where cells are worked on: here, one after the other, or in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any, Protocol

from ..errors import InputError
from .cell import Cell
from .machine import Machine

Told = Callable[[Cell, str], None]
Finished = tuple[Cell, str | None]  # a cell, and why it failed


class Workers(Protocol):
    """Work on cells; `wait` gives those that have ended."""

    @property
    def free(self) -> bool:
        """Whether another cell can be begun."""

    @property
    def busy(self) -> bool:
        """Whether there is anything to wait for."""

    def begin(self, cell: Cell) -> None: ...

    def wait(self) -> list[Finished]: ...

    def stop(self) -> None:
        """End what is under way, at the next step, so that it can be resumed."""


class Here:
    """In this process."""

    def __init__(self, machine: Machine, told: Told) -> None:
        self.machine, self.told = machine, told
        self._cell: Cell | None = None

    @property
    def free(self) -> bool:
        return self._cell is None

    @property
    def busy(self) -> bool:
        return self._cell is not None

    def begin(self, cell: Cell) -> None:
        self._cell = cell

    def wait(self) -> list[Finished]:
        assert self._cell is not None
        cell, self._cell = self._cell, None
        return [(cell, _attempt(cell, self.machine, lambda words: self.told(cell, words)))]

    def stop(self) -> None:
        """Nothing runs between calls."""


@dataclass
class _Job:
    cell: Cell
    process: Any
    told: connection.Connection
    failure: str | None = "its process ended without a word"


class Processes:
    """In up to `machine.jobs` processes, each with one thread, and one for each cell: what one of them leaves behind
    or breaks, a crash of the driver included, is nothing to the others."""

    def __init__(self, machine: Machine, told: Told) -> None:
        self.machine, self.told = machine, told
        self._jobs: list[_Job] = []

    @property
    def free(self) -> bool:
        return len(self._jobs) < self.machine.jobs

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    def begin(self, cell: Cell) -> None:
        # Not forked: a process that forks while torch's threads run may hang.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(cell, self.machine, theirs), name=cell.name)
        with _one_thread():
            process.start()
        theirs.close()
        self._jobs.append(_Job(cell, process, ours))

    def wait(self) -> list[Finished]:
        while True:
            ready = connection.wait([job.told for job in self._jobs])
            ended = [job for job in self._jobs if job.told in ready and not self._listen(job)]
            if ended:
                self._jobs = [job for job in self._jobs if job not in ended]
                return [(job.cell, _verdict(job)) for job in ended]

    def stop(self) -> None:
        for job in self._jobs:
            job.process.terminate()
        for job in self._jobs:
            job.process.join()

    def _listen(self, job: _Job) -> bool:
        """Hear one message; False when there will be no more."""
        try:
            kind, words = job.told.recv()
        except (EOFError, OSError):
            return False
        if kind == "told":
            self.told(job.cell, words)
        else:
            job.failure = words
        return True


def _verdict(job: _Job) -> str | None:
    job.process.join()
    code = job.process.exitcode
    if code is not None and code < 0:
        return f"its process was ended by signal {-code} ({signal.Signals(-code).name})"
    return job.failure


def _work(cell: Cell, machine: Machine, told: connection.Connection) -> None:
    """What a process does."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C goes to the study alone, which then asks us to stop
    _end_with_parent()
    told.send(("ended", _attempt(cell, machine, lambda words: told.send(("told", words)))))
    told.close()


@contextmanager
def _one_thread() -> Iterator[None]:
    """A process that is started meanwhile computes with one thread: to the bit what we do with OMP_NUM_THREADS=1,
    which ``torch.set_num_threads(1)`` does not."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def _end_with_parent() -> None:
    """A study that was killed leaves nobody behind who would write into its folders; the run is saved if it can be."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _attempt(cell: Cell, machine: Machine, tell: Callable[[str], None]) -> str | None:
    """Perform a cell; why it failed, or None."""
    from ..training import Interrupted

    try:
        cell.perform(machine, tell)
    except Interrupted:
        if multiprocessing.parent_process() is None:
            raise KeyboardInterrupt from None
        return "stopped"
    except InputError as error:
        return str(error)
    except Exception as error:  # a row that fails is a result too; the others go on
        trace = traceback.format_exc()
        with (cell.folder / "log.txt").open("a", encoding="utf-8") as log:
            log.write(trace)
        return f"{type(error).__name__}: {error} (see {cell.folder / 'log.txt'})"
    return None
