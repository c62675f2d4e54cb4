"""Whose a folder is: sets of different makes are never mixed, and only one process at a time writes a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ...errors import InputError
from ...files import locked, read_json, sweep, write_json

PROTOCOL, LOCK = "protocol.json", ".lock"
TOLD = ("data", "split")  # where the images came from, for those who read it; which ones they are, a fingerprint says


class Plan(Protocol):
    """What a set is made of."""

    def protocol(self) -> dict[str, Any]:
        """In plain values, as it lies beside the set."""

    def added_to(self, there: Mapping[str, Any]) -> dict[str, Any]:
        """The entries that change in the protocol `there` when this is added to its set, with their new values.

        Any other entry must be the same in both; so nothing is said of what cannot be added.
        """


@contextmanager
def claimed(out: Path, plan: Plan, what: str) -> Iterator[None]:
    """Hold the folder `out`, which is of this plan or becomes so; `what` names such a set in sentences.

    One that holds something else, a set of another make or a set that is being written is refused. What killed calls
    left lying about is removed in the end.
    """
    if out.exists() and not (out / PROTOCOL).is_file() and not _is_free(out):
        raise InputError(f"{out} exists and is not an empty folder; name another")
    with locked(out / LOCK, fleeting=True):
        _enter(out, plan, what)
        yield
        sweep(out)


def _is_free(out: Path) -> bool:
    return out.is_dir() and all(path.name == LOCK or path.name.endswith(".partial") for path in out.iterdir())


def _enter(out: Path, plan: Plan, what: str) -> None:
    """Write down what the set is made of, or find that it is so."""
    wanted = plan.protocol()
    if not (out / PROTOCOL).is_file():
        write_json(out / PROTOCOL, wanted)
        return
    there = read_json(out / PROTOCOL)
    if not isinstance(there, dict):
        raise InputError(f"{out / PROTOCOL} is not the protocol of a {what}; name another folder")
    added = plan.added_to(there)
    for key in wanted:
        if key not in (*TOLD, *added) and there.get(key) != wanted[key]:
            raise InputError(
                f"{out} holds a {what} of another make ({key}: {there.get(key)} there, {wanted[key]} wanted); name "
                "another folder"
            )
    if {**there, **added} != there:
        write_json(out / PROTOCOL, {**there, **added})
