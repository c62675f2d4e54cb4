"""The Markdown page of a study, from its summary alone: nothing on it is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..corruptions import CORRUPTIONS
from ..evaluation.corruptions import known_corruptions

MINUS, BETWEEN = "\N{MINUS SIGN}", " to "


def page(summary: dict[str, Any]) -> str:
    """The page as text."""
    study = summary["study"]
    parts = [
        f"<!-- Written by {command(study)} --page -->\n# {study['title']}\n",
        study["text"] + "\n" if study["text"] else "",
        f"```sh\n{command(study)}\n```\n",
        *(_evaluation(summary, name) for name in study["evaluations"]),
        _selections(summary),
        _times(summary),
        _protocol(summary),
    ]
    return "\n".join(part for part in parts if part)


def command(study: dict[str, Any]) -> str:
    """What makes the results again."""
    words = ["weatherproof study", study["name"]] + ([] if study["size"] == "desk" else ["--size", study["size"]])
    return " ".join(words + [f"--{key} {value}" for key, value in study["changed"].items()])


def _evaluation(summary: dict[str, Any], name: str) -> str:
    rows = {row: found for row, found in summary["rows"].items() if name in found["metrics"]}
    study = summary["study"]
    heading = f"## {'Results' if len(study['evaluations']) == 1 else name}\n"
    if not rows:
        return f"{heading}\nNothing was measured yet.\n"
    corrupted = any("mean_error" in row["metrics"][name] for row in rows.values())
    parts = [heading, _headline(summary, rows, name, corrupted)]
    missing = {row: found["missing"] for row, found in summary["rows"].items() if found["missing"]}
    if missing:
        parts.append("Not run: " + "; ".join(f"{row}, seeds {_list(seeds)}" for row, seeds in missing.items()) + ".\n")
    if corrupted:
        parts.append(_by_corruption(study, rows, name))
    parts.append(_by_seed(rows, name, corrupted))
    return "\n".join(parts)


def _headline(summary: dict[str, Any], rows: dict[str, Any], name: str, corrupted: bool) -> str:
    study = summary["study"]
    columns = {"clean accuracy": ("clean_accuracy", "clean_error")}
    if corrupted:
        columns["mean corrupted error"] = ("mean_error", "mean_error")
    head = ["row", "seeds"]
    for title in columns:
        head += [title, f"difference from {study['reference']}", "verdict"]
    lines = []
    for row, found in rows.items():
        cells = [row + _chosen(found["selection"]), _list(found["seeds"])]
        for metric, compared in columns.values():
            cells.append(_value(found["metrics"][name][metric]))
            difference = found["differences"].get(name, {}).get(compared)
            cells += _difference(difference, -1 if metric == "clean_accuracy" else 1)
        lines.append(cells)
    note = (
        "In percent: the mean over seeds ± the standard deviation between them, and the paired difference with its 95% "
        "interval over seeds and images. A difference counts only if the interval leaves zero out; else it is "
        "undecided.\n"
    )
    return f"{_table(head, lines)}\n{note}"


def _by_corruption(study: dict[str, Any], rows: dict[str, Any], name: str) -> str:
    """Mean error per corruption, and which differences from the reference are real."""
    conditions = [metric for row in rows.values() for metric in row["metrics"][name] if metric.startswith("error/")]
    head = ["error under", *rows]
    lines = []
    for condition in dict.fromkeys(conditions):
        cells = [condition.removeprefix("error/").replace("_", " ")]
        for found in rows.values():
            value = found["metrics"][name].get(condition)
            difference = found["differences"].get(name, {}).get(condition, {})
            sign = {"lower": " ↓", "higher": " ↑"}.get(difference.get("verdict", ""), "")
            cells.append("" if value is None else f"{value['mean']:.1f}{sign}")
        lines.append(cells)
    note = f"In percent, over severities and seeds; ↓ lower, ↑ higher than {study['reference']}, by the interval.\n"
    return f"{_table(head, lines)}\n{note}"


def _by_seed(rows: dict[str, Any], name: str, corrupted: bool) -> str:
    """Every single training."""
    metrics = ["clean_accuracy", *(["mean_error"] if corrupted else [])]
    lines = [
        [row, str(seed), *(f"{found['metrics'][name][metric]['each'][i]:.2f}" for metric in metrics)]
        for row, found in rows.items()
        for i, seed in enumerate(found["seeds"])
    ]
    return _table(["row", "seed", "clean accuracy", *(["mean corrupted error"] if corrupted else [])], lines)


def _selections(summary: dict[str, Any]) -> str:
    """How each row came to its values: all trials, with the choice."""
    chosen = {row: found["selection"] for row, found in summary["rows"].items() if found["selection"]}
    if not chosen:
        return ""
    evaluation = summary["study"]["selection"]["evaluation"]
    lines = []
    for row, selection in chosen.items():
        for trial in selection["trials"]:
            picked = "chosen" if trial["values"] == selection["chosen"] else ""
            scores = [f"{trial[name]:.2f}" for name in ("score", "clean_accuracy")]
            lines.append([row, _values(trial["values"]), *scores, picked])
    metric = summary["study"]["selection"]["metric"]
    table = _table(["row", "values", metric.replace("_", " "), "clean accuracy", ""], lines)
    seed, changed = (summary["study"]["selection"][key] for key in ("seed", "overrides"))
    trained = f"one training of seed {seed}{f' with {_values(changed)}' if changed else ''} for each value"
    note = (
        f"Chosen by the lowest {metric.replace('_', ' ')} ({_settings(evaluation)}), {trained}"
        f"{_kept_apart(summary['study'])}.\n"
    )
    return f"## What was chosen, and by what\n\n{table}\n{note}"


def _chosen(selection: dict[str, Any] | None) -> str:
    return f" ({_values(selection['chosen'])})" if selection else ""


def _values(values: dict[str, Any]) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in values.items())


def _kept_apart(study: dict[str, Any]) -> str:
    """What the choice had no sight of, as far as that is so."""
    chosen_by, others = study["selection"]["evaluation"], study["evaluations"].values()
    said = []
    if all(chosen_by.get("split", "test") != other["split"] for other in others):
        said.append("no image")
    seen = set(known_corruptions(chosen_by.get("corruptions", ["all"])))
    if not any(seen & set(known_corruptions(other.get("corruptions", ["all"]))) for other in others):
        said.append("no corruption")
    return f"; {' and '.join(said)} that the results are about had a part in it" if said else ""


def _times(summary: dict[str, Any]) -> str:
    """What training took, and what a step costs alone."""
    rows = {row: found for row, found in summary["rows"].items() if found["seconds"]}
    if not rows:
        return ""
    lines = [
        [row, f"{found['seconds']['mean']:.1f}", _each(found["seconds"]["each"]), _times_reference(found["time_ratio"])]
        for row, found in rows.items()
    ]
    head = ["row", "training seconds", "each seed", f"times {summary['study']['reference']}"]
    machines = "\n".join(f"- {', '.join(entry['rows'])}: {_machine(entry['machine'])}" for entry in summary["machines"])
    return f"## Time\n\n{_table(head, lines)}\n{machines}\n{_steps(summary)}"


def _steps(summary: dict[str, Any]) -> str:
    steps = summary["steps"]
    if not steps:
        return ""
    lines = [
        [row, f"{found['milliseconds']:.1f}", _times_reference(found["ratio"])] for row, found in steps["rows"].items()
    ]
    table = _table(["row", "milliseconds per step", f"times {summary['study']['reference']}"], lines)
    note = (
        f"Each row alone, in turns: the fastest epoch of {steps['rounds']} rounds of {steps['steps']} steps "
        f"(`{command(summary['study'])} --time`); {_machine(steps['machine'])}.\n"
    )
    return f"\n{table}\n{note}"


def _each(values: Sequence[float]) -> str:
    return _list([f"{value:.1f}" for value in values])


def _times_reference(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _machine(machine: dict[str, Any]) -> str:
    jobs = "one training at a time" if machine["jobs"] == 1 else f"up to {machine['jobs']} trainings at a time"
    threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads each"
    return f"{machine['device']}, {jobs}, {threads}, torch {machine['torch']}, python {machine['python']}"


def _protocol(summary: dict[str, Any]) -> str:
    study = summary["study"]
    lines = ["- recipe: " + " ".join([f"`{study['recipe']}`", *_overrides(study["overrides"] | study["changed"])])]
    for name, row in study["rows"].items():
        settings = ([f"`{row['recipe']}`"] if row["recipe"] else []) + _overrides(row["overrides"])
        said = "; ".join(part for part in (row["text"], " ".join(settings)) if part)
        lines.append(f"- row {name}: {said or 'the recipe as it is'}")
    for name, protocol in summary["protocol"].items():
        lines.append(f"- {name}: {_settings(protocol)}")
    return "## Protocol\n\n" + "\n".join(lines) + "\n"


def _overrides(overrides: dict[str, Any]) -> list[str]:
    return [f"`{key}={value if isinstance(value, str) else json.dumps(value)}`" for key, value in overrides.items()]


def _settings(values: dict[str, Any]) -> str:
    return "; ".join(f"{key.replace('_', ' ')}: {_plain(value)}" for key, value in values.items() if value is not None)


def _plain(value: Any) -> str:
    if isinstance(value, dict) and "differs" in value:
        return "differs (" + ", ".join(_plain(entry) for entry in value["differs"]) + ")"
    if value == list(CORRUPTIONS):
        return "all 15"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _value(metric: dict[str, Any]) -> str:
    return f"{metric['mean']:.2f}" + ("" if metric["deviation"] is None else f" ± {metric['deviation']:.2f}")


def _difference(difference: dict[str, Any] | None, sign: int) -> list[str]:
    """The difference of an error, or with sign -1 of the accuracy that goes with it, and what may be said of it."""
    if difference is None:
        return ["", ""]
    low, high = sorted((sign * difference["low"], sign * difference["high"]))
    opposite = {"lower": "higher", "higher": "lower"}
    verdict = difference["verdict"]
    text = f"{_signed(sign * difference['value'])} ({_signed(low)}{BETWEEN}{_signed(high)})"
    return [text, verdict if sign > 0 else opposite.get(verdict, verdict)]


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", MINUS)


def _list(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---" if i == 0 else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines)) + "\n"
