"""Units of a writer, made here or in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import torch

from ...errors import InputError
from .maker import Writer


def finished(writer: Writer, units: list[Any], jobs: int) -> Iterator[Any]:
    """Units as they are finished, here or in other processes."""
    if jobs == 1 or len(units) < 2:
        for unit in units:
            writer.work(unit)
            yield unit
        return
    # Not forked: a process that forks while torch's threads run may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(units)), mp_context=context, initializer=_adopt, initargs=(writer,))
    try:
        futures = {pool.submit(_work, unit): unit for unit in units}
        for future in as_completed(futures):
            future.result()
            yield futures[future]
    except BrokenProcessPool as error:
        raise InputError(
            "one of the processes that write images was killed, which happens where memory runs out; what is finished "
            "is kept: call it again, with fewer processes if need be"
        ) from error
    finally:  # after Ctrl-C too: what has not begun is not begun
        pool.shutdown(cancel_futures=True)


_adopted: Writer


def _adopt(writer: Writer) -> None:
    """What a worker process keeps, so that images travel once."""
    global _adopted
    _adopted = writer
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(unit: Any) -> None:
    _adopted.work(unit)
