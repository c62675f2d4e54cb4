"""The sentence that the page begins with, the protocol, and the command that measures the same again."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from report_examples import clean_result, corrupted_result

from weatherproof.cli.main import command_parser
from weatherproof.report.answer import answer
from weatherproof.report.protocol import command, facts
from weatherproof.report.record import Record, records


def spoken(*results: dict[str, Any]) -> str:
    found = answer(records(results))
    return " ".join(["".join(words for words, _ in found.lead), *found.more])


def with_interval(result: dict[str, Any], value: float, width: float) -> dict[str, Any]:
    found = {
        "name": "mean_error",
        "value": value,
        "low": value - width,
        "high": value + width,
        "images": 9,
        "unit": "%",
    }
    return {**result, "metrics": {**result["metrics"], "mean_error": found}}


def three(*values: float, width: float) -> list[dict[str, Any]]:
    return [with_interval(corrupted_result(f"runs/{name}"), v, width) for name, v in zip("abc", values, strict=True)]


SENTENCES = {
    "whole": (
        [with_interval(corrupted_result(), 39.7, 1)],
        "Wrong on 13.5% of clean images and on 39.7% of corrupted ones; worst under glass blur (48.2%).",
    ),
    "two corruptions": (
        [with_interval(corrupted_result(corruptions=["fog", "jpeg_compression"]), 20, 1)],
        "of those under fog and JPEG compression; worst under JPEG compression",
    ),
    "some corruptions": (
        [corrupted_result(corruptions=["fog", "snow", "frost"], severities=[3, 4, 5])],
        "of those under 3 corruptions at severities 3–5; worst under fog",  # noqa: RUF001
    ),
    "clean": ([clean_result()], "Wrong on 13.5% of 1,000 clean images. What noise, blur, weather and lossy files do"),
    "clear order": (
        [with_interval(corrupted_result("runs/a"), 30, 1), with_interval(corrupted_result("runs/b"), 20, 1)],
        "b errs least: wrong on 20.0% of corrupted images, 10.0 points fewer than a (30.0%).",
    ),
    "clear order of three": (
        three(30, 20, 25, width=1),
        "b errs least: wrong on 20.0% of corrupted images, 5.0 points fewer than the next, c. The last, a, is wrong on "
        "30.0%.",
    ),
    "two too close": (
        [with_interval(corrupted_result("runs/a"), 21, 2), with_interval(corrupted_result("runs/b"), 20, 2)],
        "b and a are too close to call: wrong on 20.0% and 21.0% of corrupted images. Intervals overlap; weatherproof "
        "compare tells",
    ),
    "three too close": (
        three(21, 20, 22, width=2),
        "b errs least: wrong on 20.0% of corrupted images, with a and c too close to call.",
    ),
    "different data": (
        [corrupted_result("runs/a"), corrupted_result("runs/b", data="cifar10", scale="tiny")],
        "They were not measured alike (data and scale), so the numbers do not rank them.",
    ),
    "different limits": (
        [corrupted_result("runs/a"), corrupted_result("runs/b", limit=50, images=50, seed=1)],
        "not measured alike (limit)",
    ),
    "one of them clean": (
        [corrupted_result("runs/a"), clean_result("runs/b")], "Measured on clean images only: b.",
    ),
    "all clean": (
        [clean_result("runs/a", 20), clean_result("runs/b", 10)],
        "b errs least: wrong on 10.0% of clean images, 10.0 points fewer than a (20.0%).",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_the_answer_in_words(case: str) -> None:
    results, wanted = SENTENCES[case]
    assert wanted in spoken(*results)


def record(**changes: Any) -> Record:
    return records([corrupted_result(**changes)])[0]


@pytest.mark.parametrize("changes", [
    {},
    {"model": "my runs/it's $HOME", "limit": 50, "seed": 3, "split": "validation"},
    {"corruptions": ["snow", "fog"], "severities": [2, 3, 4], "scale": "imagenet", "recompressed": True},
    {"severities": [1, 5], "corruption_seed": 7, "frost": "photographs of ice/"},
    {"corrupted": "/data/CIFAR-10-C", "frost": None, "corruption_seed": None, "recompressed": None},
])  # fmt: skip
def test_the_command_means_what_was_measured(changes: dict[str, Any]) -> None:
    found = record(**changes)
    program, name, *arguments = shlex.split(command(found))
    assert (program, name) == ("weatherproof", "evaluate")
    parsed = command_parser("evaluate")[0].parse_args(arguments)
    protocol = found.protocol
    assert (parsed.model, parsed.data, parsed.split) == (protocol["model"], protocol["data"], protocol["split"])
    assert (parsed.suite, parsed.scale, parsed.limit) == ("corruptions", protocol["scale"], protocol.get("limit"))
    assert parsed.seed == protocol.get("seed", 0)
    assert parsed.corruptions in (["all"], protocol["corruptions"])
    assert parsed.severities == protocol["severities"]
    assert parsed.corruption_seed == protocol.get("corruption_seed", 0)
    assert parsed.recompress == protocol.get("recompressed", False)
    assert str(parsed.corrupted or "") == protocol.get("corrupted", "")
    assert parsed.frost == ("auto" if protocol.get("frost") is None else protocol["frost"])


def test_the_call_from_python() -> None:
    found = record(model=None, data="arrays", severities=[3])
    wanted = 'weatherproof.evaluate(classifier, images, labels, suite="corruptions", severities=[3], scale="cifar", '
    wanted += 'frost="procedural")'
    assert command(found) == wanted


def test_what_all_results_share_is_said_once() -> None:
    results = [corrupted_result(), corrupted_result("runs/b", data="x"), clean_result("runs/c")]
    found = {fact.name: fact for fact in facts(records(results))}
    assert found["data"].values == (("photos10", (0, 2)), ("x", (1,)))
    assert found["data"].shared is None
    assert found["images"].shared == "1000"
    assert found["corruptions"].shared == "all 15"  # of all that hold corruptions
