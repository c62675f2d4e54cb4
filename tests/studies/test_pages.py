"""Summaries and pages: the numbers are those of the results, and committed pages are those of committed results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from study_examples import write_tiny_study

import weatherproof
from weatherproof import Result
from weatherproof.evaluation import unpack_hits
from weatherproof.studies import page, study_times, summarise

ROOT = Path(__file__).parents[2]
COMMITTED = sorted(path.parent for path in (ROOT / "results").glob("*/summary.json"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the tiny study with three seeds, timed."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        longer = {"data.holdout": 30, "training.epochs": 4, "training.batch_size": 10}
        file = write_tiny_study(folder, seeds=[0, 1, 2], overrides=longer)
        weatherproof.study(file, results=folder / "results", device="cpu", quiet=True)
        study_times(file, results=folder / "results", device="cpu")
    return folder / "results" / "bars"


def errors(ran: Path, row: str, seed: int, conditions: list[str]) -> np.ndarray:
    """Of each image in percent, straight from the packed hits."""
    hits = Result.load(ran / row / f"seed-{seed}" / "corrupted.json").hits
    return np.mean([100.0 - 100.0 * unpack_hits(hits[name]) for name in conditions], axis=0)


def test_means_and_deviations_are_those_of_the_results(ran: Path) -> None:
    summary = summarise(ran)
    for row, found in summary["rows"].items():
        results = [Result.load(ran / row / f"seed-{seed}" / "corrupted.json") for seed in (0, 1, 2)]
        for name in ("clean_accuracy", "mean_error", "error/contrast"):
            values = [result[name] for result in results]
            metric = found["metrics"]["corrupted"][name]
            assert metric["mean"] == pytest.approx(np.mean(values), abs=1e-3)
            assert metric["deviation"] == pytest.approx(np.std(values, ddof=1), abs=1e-3)
            assert metric["each"] == pytest.approx(values, abs=1e-3)


def test_differences_are_paired_over_seeds_and_images(ran: Path) -> None:
    conditions = [f"error/{name}/{severity}" for name in ("contrast", "impulse_noise") for severity in (1, 4)]
    ours, theirs = (np.stack([errors(ran, row, s, conditions) for s in (0, 1, 2)]) for row in ("tuned", "plain"))
    differences = ours - theirs
    found = summarise(ran)["rows"]["tuned"]["differences"]["corrupted"]
    assert found["seeds"] == [0, 1, 2]
    assert found["mean_error"]["value"] == pytest.approx(differences.mean(), abs=1e-3)
    # The images add to what the trainings alone leave open; together at most the sum of both.
    trainings = ttest_1samp(differences.mean(axis=1), 0).confidence_interval(0.95)
    spread = 2 * 1.96 * differences.mean(axis=0).std() / differences.shape[1] ** 0.5
    width = found["mean_error"]["high"] - found["mean_error"]["low"]
    assert differences.std() > 0
    assert 0.95 * (trainings.high - trainings.low) < width < 1.1 * (trainings.high - trainings.low + spread)


def test_a_verdict_needs_an_interval_that_leaves_zero_out(ran: Path) -> None:
    differences = [
        entry
        for row in summarise(ran)["rows"].values()
        for name, entry in row["differences"].get("corrupted", {}).items()
        if name != "seeds"
    ]
    assert len(differences) == 2 * 4
    for entry in differences:
        expected = "lower" if entry["high"] < 0 else "higher" if entry["low"] > 0 else "undecided"
        assert entry["verdict"] == expected


def test_what_is_missing_is_said(ran: Path, tmp_path: Path) -> None:
    """A cell that is not whole is no result."""
    copy = tmp_path / "bars"
    shutil.copytree(ran, copy)
    (copy / "plain" / "seed-1" / "record.json").unlink()
    record = copy / "crops" / "seed-2" / "record.json"
    content = json.loads(record.read_text())
    record.write_text(json.dumps({**content, "evaluations": {}}))
    summary = summarise(copy)
    assert summary["rows"]["plain"]["missing"] == [1] and summary["rows"]["crops"]["missing"] == [2]
    assert summary["rows"]["crops"]["differences"]["corrupted"]["seeds"] == [0]
    assert "Not run: plain, seeds 1; crops, seeds 2." in page(summary)


def test_the_page_holds_every_number_of_its_kind(ran: Path) -> None:
    summary = summarise(ran)
    text = page(summary)
    for row, found in summary["rows"].items():
        for name in ("clean_accuracy", "mean_error"):
            metric = found["metrics"]["corrupted"][name]
            assert f"{metric['mean']:.2f} ± {metric['deviation']:.2f}" in text
            assert all(f"{value:.2f}" in text for value in metric["each"])
        assert f"{found['seconds']['mean']:.1f}" in text
        assert f"{summary['steps']['rows'][row]['milliseconds']:.1f}" in text
    assert summary["steps"]["rows"]["plain"]["ratio"] == 1
    for trial in summary["rows"]["tuned"]["selection"]["trials"]:
        assert f"| {trial['score']:.2f} |" in text
    assert "no image and no corruption that the results are about had a part in it" in text


def test_a_choice_by_what_is_tested_is_not_called_apart(ran: Path) -> None:
    summary = summarise(ran)
    summary["study"]["selection"]["evaluation"].update(split="test", corruptions=["fog"])
    assert "no corruption that the results" in page(summary)
    summary["study"]["selection"]["evaluation"].update(split="test", corruptions=["contrast"])
    assert "had a part in it" not in page(summary)


def test_times_of_unlike_machines_have_no_ratio(ran: Path, tmp_path: Path) -> None:
    copy = tmp_path / "bars"
    shutil.copytree(ran, copy)
    record = copy / "crops" / "seed-2" / "record.json"
    content: dict[str, Any] = json.loads(record.read_text())
    content["training"]["machine"]["jobs"] = 8
    record.write_text(json.dumps(content))
    rows = summarise(copy)["rows"]
    assert rows["crops"]["time_ratio"] is None
    assert rows["tuned"]["time_ratio"] is not None


@pytest.mark.parametrize("folder", COMMITTED, ids=[path.name for path in COMMITTED])
def test_committed_pages_and_results_belong_together(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert (ROOT / "docs" / "studies" / f"{folder.name}.md").read_text(encoding="utf-8") == page(summary)
    again = summarise(folder)
    assert page(again) == page(summary)
