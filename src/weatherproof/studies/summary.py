"""What a study has come to, from the records in its folder alone: means over seeds, and differences with intervals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..evaluation import Result, compare_trainings
from ..files import read_json
from .cell import read_record

if TYPE_CHECKING:
    from rich.table import Table

HEADLINES = ("clean_accuracy", "mean_error")


@dataclass(frozen=True)
class StudyOutcome:
    """What a study has come to: `summary` in plain values, and by name of row and seed what failed, and why."""

    folder: Path
    summary: dict[str, Any]
    failed: dict[str, str]

    def table(self) -> Table:
        """For people, on a terminal: means over seeds, and differences from the reference row."""
        from rich.table import Table

        study = self.summary["study"]
        table = Table("row", "seeds", title=f"{study['title']} ({self.folder})", title_justify="left")
        for column in (*HEADLINES, f"difference from {study['reference']}", "verdict", "time"):
            table.add_column(column.replace("_", " "), justify="right")
        for name, row in self.summary["rows"].items():
            first: dict[str, Any] = next(iter(row["metrics"].values()), {})
            compared: dict[str, Any] = next(iter(row["differences"].values()), {})
            found = compared.get("mean_error")
            values = [f"{first[key]['mean']:.2f}" if key in first else "" for key in HEADLINES]
            between = f"{found['value']:+.2f} ({found['low']:+.2f} .. {found['high']:+.2f})" if found else ""
            time = "" if row["time_ratio"] is None else f"x {row['time_ratio']:.2f}"
            table.add_row(
                name, " ".join(map(str, row["seeds"])), *values, between, found["verdict"] if found else "", time
            )
        return table


def summarise(folder: Path, stale: Collection[tuple[str, int]] = ()) -> dict[str, Any]:
    """All numbers of the page, in plain values; cells that are not whole are left out and listed as missing, and so are
    `stale` ones, by row and seed: they are of other recipes than the study's.
    """
    if not (folder / "study.json").is_file():
        raise InputError(f"{folder} holds no study.json; wanted the results of weatherproof study")
    study = read_json(folder / "study.json")
    rows = {name: _Row(folder / name, study, {seed for row, seed in stale if row == name}) for name in study["rows"]}
    reference = rows[study["reference"]]
    return {
        "study": study,
        "rows": {name: row.summary(None if row is reference else reference) for name, row in rows.items()},
        "protocol": {name: _protocol(rows, name) for name in study["evaluations"]},
        "machines": _machines(rows),
        "steps": _steps(folder / "times.json", study["reference"]),
    }


class _Row:
    """The finished cells of a row, by seed."""

    def __init__(self, folder: Path, study: dict[str, Any], stale: Collection[int]) -> None:
        self.evaluations = list(study["evaluations"])
        self.records: dict[int, dict[str, Any]] = {}
        self.results: dict[str, dict[int, Result]] = {name: {} for name in self.evaluations}
        self.wanted = study["seeds"]
        for path in sorted(folder.glob("seed-*")):
            record = read_record(path)
            whole = "training" in record and set(self.evaluations) <= set(record.get("evaluations", {}))
            if whole and record["seed"] not in stale:
                self.records[record["seed"]] = record
        self.records = dict(sorted(self.records.items()))
        for seed in self.records:
            for name in self.evaluations:
                self.results[name][seed] = Result.load(folder / f"seed-{seed}" / f"{name}.json")

    def summary(self, reference: _Row | None) -> dict[str, Any]:
        """The row's numbers; differences are from `reference`, where that is another row."""
        records = list(self.records.values())
        seconds = [record["training"]["seconds"] for record in records]
        return {
            "seeds": list(self.records),
            "missing": [seed for seed in self.wanted if seed not in self.records],
            "selection": records[0].get("selection") if records else None,
            "seconds": {"mean": _mean(seconds), "each": seconds} if records else None,
            "time_ratio": self._ratio(reference),
            "metrics": {name: self._metrics(found) for name, found in self.results.items() if found},
            "differences": self._differences(reference) if reference else {},
        }

    def _ratio(self, reference: _Row | None) -> float | None:
        """How many times as long as the reference this took, on the same kind of device and equally busy."""
        if reference is None:
            return 1.0 if self.records else None
        if len({_load(record) for row in (self, reference) for record in row.records.values()}) != 1:
            return None
        ours, theirs = ([r["training"]["seconds"] for r in row.records.values()] for row in (self, reference))
        return round(_mean(ours) / _mean(theirs), 3) if ours and theirs else None

    @staticmethod
    def _metrics(found: dict[int, Result]) -> dict[str, Any]:
        names = [name for name in next(iter(found.values())).metrics if _is_shown(name)]
        values = {name: [result[name] for result in found.values()] for name in names}
        return {
            name: {"mean": _mean(each), "deviation": _deviation(each), "each": [round(value, 4) for value in each]}
            for name, each in values.items()
        }

    def _differences(self, reference: _Row) -> dict[str, Any]:
        """Row minus reference, over the seeds that both have."""
        seeds = [seed for seed in self.records if seed in reference.records]
        if not seeds:
            return {}
        found = {}
        for name in self.evaluations:
            pairs = [(self.results[name][seed], reference.results[name][seed]) for seed in seeds]
            found[name] = {
                "seeds": seeds,
                **{
                    entry.name: {
                        "value": round(entry.difference.value, 4),
                        "low": round(entry.difference.low, 4),
                        "high": round(entry.difference.high, 4),
                        "verdict": _verdict(entry.difference.low, entry.difference.high),
                    }
                    for entry in compare_trainings(pairs)
                },
            }
        return found


def _verdict(low: float, high: float) -> str:
    """What may be said of a difference: real only if its interval leaves zero out."""
    if low <= 0 <= high:
        return "undecided"
    return "lower" if high < 0 else "higher"


def _is_shown(name: str) -> bool:
    """Headlines and means over severities; the 75 single conditions stay in the results."""
    return not name.startswith("error/") or name.count("/") == 1


def _protocol(rows: dict[str, _Row], evaluation: str) -> dict[str, Any]:
    """What all results of an evaluation agree in; a list of values where they do not."""
    protocols = [result.protocol for row in rows.values() for result in row.results[evaluation].values()]
    keys = dict.fromkeys(key for protocol in protocols for key in protocol if key not in ("model", "command"))
    found = {}
    for key in keys:
        values = []
        for protocol in protocols:
            if protocol.get(key) not in values:
                values.append(protocol.get(key))
        found[key] = values[0] if len(values) == 1 else {"differs": values}
    return found


def _machines(rows: dict[str, _Row]) -> list[dict[str, Any]]:
    """The machines that trained, with the rows that each trained."""
    found: list[dict[str, Any]] = []
    for name, row in rows.items():
        for record in row.records.values():
            machine = record["training"]["machine"]
            known = next((entry for entry in found if entry["machine"] == machine), None)
            if known is None:
                found.append(known := {"machine": machine, "rows": []})
            if name not in known["rows"]:
                known["rows"].append(name)
    return found


def _steps(file: Path, reference: str) -> dict[str, Any] | None:
    """What a step of each row costs alone, and times the reference: by the fastest epochs, which nothing disturbed."""
    if not file.is_file():
        return None
    times = read_json(file)
    fastest = {row: min(each) for row, each in times["seconds"].items()}
    rows = {
        row: {
            "milliseconds": round(1000 * seconds, 2),
            "ratio": round(seconds / fastest[reference], 2) if reference in fastest else None,
        }
        for row, seconds in fastest.items()
    }
    return {"rows": rows, **{key: times[key] for key in ("rounds", "steps", "machine")}}


def _load(record: dict[str, Any]) -> tuple[Any, ...]:
    """What a time depends on beside the recipe."""
    machine = record["training"]["machine"]
    return machine["device"], machine["threads"], machine["jobs"]


def _mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)


def _deviation(values: list[float]) -> float | None:
    return round(float(np.std(values, ddof=1)), 4) if len(values) > 1 else None
