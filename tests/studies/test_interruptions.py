"""A study that was stopped, in any way, ends as if it had not been; and two do not get into each other's way."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from study_examples import finish, launch, write_tiny_study

import weatherproof
from weatherproof.files import locked

ROWS = {"plain": {}}
LONG = {
    "rows": ROWS,
    "seeds": [0],
    "overrides": {
        "data.holdout": 30,
        "training.epochs": 40,
        "training.batch_size": 4,
        "training.checkpoint_minutes": 0.002,
    },
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.is_file() else 0


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_study_goes_on_and_ends_the_same(tmp_path: Path, jobs: int) -> None:
    file = write_tiny_study(tmp_path, **LONG)
    finish(launch(file, "-o", tmp_path / "whole", cwd=tmp_path))
    cell = tmp_path / "killed" / "bars" / "plain" / "seed-0"
    command = [file, "-o", tmp_path / "killed", "--jobs", jobs]
    for epochs in (3, 12):
        study = launch(*command, cwd=tmp_path)
        until(lambda epochs=epochs: lines(cell / "run" / "metrics.jsonl") >= epochs)
        study.kill()
        study.communicate()
        assert study.returncode == -signal.SIGKILL
        assert not (cell / "model.safetensors").exists()
        until(lambda: is_free(cell))  # a process that was left behind saves its run, and goes
    finish(launch(*command, cwd=tmp_path))
    whole = tmp_path / "whole" / "bars" / "plain" / "seed-0"
    assert (cell / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    epochs = [line.split("  ")[0] for line in (cell / "log.txt").read_text().splitlines() if line.startswith("epoch")]
    assert epochs[-1] == "epoch 40/40"
    assert len(epochs) < 80  # it did not begin anew
    assert not (cell / "run").exists()


def is_free(cell: Path) -> bool:
    try:
        with locked(cell / ".lock"):
            return True
    except weatherproof.InputError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "asked"), [(1, signal.SIGINT), (2, signal.SIGINT), (2, signal.SIGTERM)])
def test_a_study_that_is_asked_to_stop_saves_first(tmp_path: Path, jobs: int, asked: int) -> None:
    file = write_tiny_study(tmp_path, **LONG)
    cell = tmp_path / "results" / "bars" / "plain" / "seed-0"
    study = launch(file, "--jobs", jobs, cwd=tmp_path)
    until(lambda: lines(cell / "run" / "metrics.jsonl") >= 2)
    os.kill(study.pid, asked)
    _, errors = study.communicate(timeout=60)
    assert study.returncode == 130
    assert errors.rstrip().endswith("weatherproof: stopped; the same command goes on where it was")
    assert is_free(cell)
    assert (cell / "run" / "last" / "state.safetensors").is_file()


def test_two_studies_do_not_work_on_one_cell(tmp_path: Path) -> None:
    file = write_tiny_study(tmp_path, rows=ROWS, seeds=[0, 1])
    cell = tmp_path / "results" / "bars" / "plain" / "seed-1"
    with locked(cell / ".lock"):
        outcome = weatherproof.study(file, results=tmp_path / "results", device="cpu", quiet=True)
    assert list(outcome.failed) == ["plain seed 1"]
    assert "another process is at work in" in outcome.failed["plain seed 1"]
    assert outcome.summary["rows"]["plain"]["seeds"] == [0]


@pytest.mark.slow
def test_a_process_that_is_killed_is_a_failure_of_its_cell_alone(tmp_path: Path) -> None:
    rows = {"plain": {}, "killed": {"overrides": {"defence": "study_helpers.KillsItself"}, "cost": 2}}
    file = write_tiny_study(tmp_path, rows=rows, seeds=[0])
    study = launch(file, "--jobs", 2, cwd=tmp_path)
    _, errors = study.communicate(timeout=120)
    assert study.returncode == 1
    assert "killed seed 0 failed: its process was ended by signal 9 (SIGKILL)" in errors
    assert "plain seed 0: done" in errors


def test_a_run_that_was_begun_otherwise_is_not_gone_on_with(tmp_path: Path) -> None:
    """A run folder of another recipe, or one that was cut short at birth, is replaced."""
    file = write_tiny_study(tmp_path, rows=ROWS, seeds=[0, 1])
    for seed, text in ((0, ""), (1, "data: {source: photos10}\nclassifier: resnet_small\ntraining: {epochs: 1}\n")):
        run = tmp_path / "results" / "bars" / "plain" / f"seed-{seed}" / "run"
        run.mkdir(parents=True)
        (run / "recipe.yaml").write_text(text)
    outcome = weatherproof.study(file, results=tmp_path / "results", device="cpu", quiet=True)
    assert outcome.failed == {} and outcome.summary["rows"]["plain"]["seeds"] == [0, 1]
