"""What a person sees of a running study: a live table in a terminal, a line per finished cell elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..training.watch import clock
from .cell import Cell

if TYPE_CHECKING:
    from rich.table import Table

    from .runner import Watch

PREPARING_SECONDS = 20  # between lines about what is prepared, when there is no terminal


class Silent:
    """Shows nothing."""

    def planned(self, cells: Sequence[Cell], later: int) -> None: ...

    def preparing(self, what: str, done: int, total: int) -> None: ...

    def told(self, cell: Cell, words: str) -> None: ...

    def cached(self, cell: Cell) -> None: ...

    def finished(self, cell: Cell, failure: str | None) -> None: ...

    def close(self) -> None: ...


class Lines(Silent):
    """A line for each thing done."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._prepared = 0.0

    def planned(self, cells: Sequence[Cell], later: int) -> None:
        for cell in cells:
            reason = cell.stale()
            if reason not in ("new", "not measured yet", None):
                self._say(f"{cell.name}: made again, since it was made with {reason}")

    def preparing(self, what: str, done: int, total: int) -> None:
        if done == total or time.monotonic() - self._prepared > PREPARING_SECONDS:
            self._prepared = time.monotonic()
            self._say(f"{what}: {done:,} of {total:,}")

    def told(self, cell: Cell, words: str) -> None:
        self._began.setdefault(cell.name, time.monotonic())

    def cached(self, cell: Cell) -> None:
        self._say(f"{cell.name}: cached")

    def finished(self, cell: Cell, failure: str | None) -> None:
        spent = clock(time.monotonic() - self._began.get(cell.name, time.monotonic()))
        self._say(f"{cell.name}: failed: {failure}" if failure else f"{cell.name}: done in {spent}")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Live(Lines):
    """A line per cell under way, below those of the cells that are done."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live as RichLive

        self._console = Console(file=sys.stderr)  # the stream of now: a cell's output is sent elsewhere
        self._state: dict[str, str] = {}
        self._done, self._later = 0, 0
        self._live = RichLive(console=self._console, transient=True, refresh_per_second=4, redirect_stdout=False,
                              redirect_stderr=False, get_renderable=self._table)  # fmt: skip
        self._live.start()

    def planned(self, cells: Sequence[Cell], later: int) -> None:
        super().planned(cells, later)
        self._state |= {cell.name: "waiting" for cell in cells}
        self._later = later

    def preparing(self, what: str, done: int, total: int) -> None:
        self._state[what] = f"{100 * done // total}%"
        if done == total:
            del self._state[what]

    def told(self, cell: Cell, words: str) -> None:
        self._began.setdefault(cell.name, time.monotonic())
        self._state[cell.name] = words

    def cached(self, cell: Cell) -> None:
        super().cached(cell)
        self._done += 1

    def finished(self, cell: Cell, failure: str | None) -> None:
        super().finished(cell, failure)
        self._state.pop(cell.name, None)
        self._done += failure is None

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        self._live.stop()

    def _table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        busy = {name: state for name, state in self._state.items() if state != "waiting"}
        for name, state in busy.items():
            began = self._began.get(name)
            table.add_row(Text(name), state, "" if began is None else clock(time.monotonic() - began))
        table.add_row(f"{self._done} done, {len(self._state) - len(busy) + self._later} waiting")
        return table


def choose_watch(quiet: bool) -> Watch:
    """The watch that suits where we run."""
    if quiet:
        return Silent()
    return Live() if sys.stderr.isatty() else Lines()
