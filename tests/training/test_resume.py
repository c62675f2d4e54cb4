"""A run that was stopped, in any way, ends as if it had not been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from tiny import tiny_images, tiny_recipe, write_tiny_npz, write_tiny_recipe

import weatherproof
from weatherproof.files import load_tensors, save_tensors
from weatherproof.training import Run
from weatherproof.training.recipe import parse_recipe

TESTS = Path(__file__).parents[1]
LONG = {"epochs": 6, "batch_size": 4, "checkpoint_minutes": 0.002, "ema": 0.95}  # 30 steps an epoch


def launch(*arguments: object) -> subprocess.Popen[str]:
    """The real command line, in a process of its own."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "weatherproof", *map(str, arguments), "--device", "cpu"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for the end, which must be a good one; what it wrote to standard error."""
    errors = process.communicate(timeout=120)[1]
    assert process.returncode == 0, errors
    return errors


def kill(process: subprocess.Popen[str]) -> bool:
    """kill -9; whether that was what ended the process."""
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


def dropout_recipe(folder: Path) -> Path:
    """A recipe with everything that a resumed run could get wrong: BatchNorm or dropout, an average, a warm-up."""
    file = write_tiny_recipe(folder, **LONG)
    content = yaml.safe_load(file.read_text())
    content["classifier"] = "helpers.DropoutNet"
    file.write_text(yaml.safe_dump(content))
    return file


def recorded(run: Run) -> list[dict[str, Any]]:
    """The metrics without the clock."""
    return [{key: value for key, value in entry.items() if key != "seconds"} for entry in run.metrics()]


def assert_same_end(a: Path, b: Path) -> None:
    """Bit for bit: weights, metrics, and the state that a later resume would start from."""
    assert (a / "model.safetensors").read_bytes() == (b / "model.safetensors").read_bytes()
    assert recorded(Run(a)) == recorded(Run(b))
    ours, theirs = load_tensors(Run(a).last_file)[0], load_tensors(Run(b).last_file)[0]
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def wait_for(condition: Any, process: subprocess.Popen[str], seconds: float = 60) -> None:
    """Until the condition holds or the process ends."""
    deadline = time.monotonic() + seconds
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.fixture(scope="module", params=[write_tiny_recipe, dropout_recipe], ids=["norm", "dropout"])
def uninterrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float]:
    """A recipe, its run in one go, and how long that took."""
    folder = tmp_path_factory.mktemp("whole")
    make = request.param
    recipe = make(folder, **LONG) if make is write_tiny_recipe else make(folder)
    start = time.monotonic()
    finish(launch("train", recipe, "-o", folder / "run", "--quiet"))
    return recipe, folder / "run", time.monotonic() - start


@pytest.mark.slow
def test_kill_minus_nine_at_three_random_moments(tmp_path: Path, uninterrupted: tuple[Path, Path, float]) -> None:
    recipe, whole, duration = uninterrupted
    generator, killed = random.Random(0), 0
    process = launch("train", recipe, "-o", tmp_path / "killed", "--quiet")
    for _ in range(3):
        wait_for(lambda: Run(tmp_path / "killed").last_file.exists(), process)
        time.sleep(generator.uniform(0, duration / 4))
        killed += kill(process)
        process = launch("train", "--resume", tmp_path / "killed", "--quiet")
    finish(process)
    assert killed, "the run was over before the first kill"
    assert_same_end(whole, tmp_path / "killed")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_and_says_how_to_go_on(
    tmp_path: Path, uninterrupted: tuple[Path, Path, float], number: signal.Signals
) -> None:
    recipe, whole, _ = uninterrupted
    process = launch("train", recipe, "-o", tmp_path / "run")
    run = Run(tmp_path / "run")
    wait_for(lambda: run.metrics_file.exists(), process)
    time.sleep(0.1)
    process.send_signal(number)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert f"weatherproof train --resume {run.folder}" in errors
    assert "Traceback" not in errors
    assert 0 < json.loads(load_tensors(run.last_file)[1]["state"])["epoch"] < LONG["epochs"]
    finish(launch("train", "--resume", run.folder, "--quiet"))
    assert_same_end(run.folder, whole)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [1.0, 3.0])
def test_killed_before_the_first_checkpoint(tmp_path: Path, moment: float) -> None:
    """As soon as there is a recipe in the folder the run can be resumed; before, the same command starts it."""
    recipe = write_tiny_recipe(tmp_path)
    process = launch("train", recipe, "-o", tmp_path / "run", "--quiet")
    time.sleep(moment)
    kill(process)
    if Run(tmp_path / "run").recipe_file.exists():
        again = launch("train", "--resume", tmp_path / "run", "--quiet")
    else:
        again = launch("train", recipe, "-o", tmp_path / "run", "--quiet")
    finish(again)
    assert Run(tmp_path / "run").finished


def interrupted_run(folder: Path, **training: Any) -> Run:
    """A run of two epochs that stopped in the middle of the second."""
    content = tiny_recipe(write_tiny_npz(folder / "tiny.npz"), **training)
    content["defence"] = {"class_path": "helpers.BreaksAt", "init_args": {"step": 8}}
    recipe = parse_recipe("tiny", content)
    with pytest.raises(weatherproof.InputError, match="became nan"):
        weatherproof.train(recipe, folder / "run", device="cpu", quiet=True)
    return Run(folder / "run")


def test_a_changed_recipe_is_refused_and_the_change_is_named(tmp_path: Path) -> None:
    run = interrupted_run(tmp_path)
    with pytest.raises(weatherproof.InputError, match=r"changed recipe \(training.epochs: 2 -> 5\)"):
        weatherproof.resume(run.folder, overrides={"training.epochs": 5}, quiet=True)
    text = run.recipe_file.read_text().replace("learning_rate: 0.05", "learning_rate: 0.01")
    run.recipe_file.write_text(text)
    with pytest.raises(weatherproof.InputError, match=r"training.learning_rate: 0.05 -> 0.01"):
        weatherproof.resume(run.folder, quiet=True)


def test_a_finished_run_is_returned_as_it_is(tmp_path: Path) -> None:
    recipe = parse_recipe("tiny", tiny_recipe(write_tiny_npz(tmp_path / "tiny.npz"), epochs=1))
    run = weatherproof.train(recipe, tmp_path / "run", device="cpu", quiet=True)
    before = {file: file.stat().st_mtime_ns for file in run.folder.rglob("*")}
    weatherproof.resume(run.folder, quiet=True)
    assert {file: file.stat().st_mtime_ns for file in run.folder.rglob("*")} == before


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_a_damaged_state_is_refused(tmp_path: Path, damage: str) -> None:
    run = interrupted_run(tmp_path)
    content = bytearray(run.last_file.read_bytes())
    if damage == "truncate":
        content = content[: len(content) // 2]
    elif damage == "flip":
        content[-5] ^= 1
    else:
        content.clear()
    run.last_file.write_bytes(content)
    with pytest.raises(weatherproof.InputError, match=r"state.safetensors (is truncated|was changed)"):
        weatherproof.resume(run.folder, quiet=True)


EDITED_STATES: dict[str, tuple[Callable[[dict[str, torch.Tensor], dict[str, Any]], object], str]] = {
    "before the start": (lambda tensors, state: state.update(epoch=-1), "does not say how far"),
    "an epoch in words": (lambda tensors, state: state.update(epoch="one"), "does not say how far"),
    "no recipe": (lambda tensors, state: state.pop("note"), "does not say how far"),
    "after the end": (
        lambda tensors, state: state.update(epoch=9),
        "stands at epoch 10, step 0, which a training of 2",
    ),
    "beyond an epoch": (lambda tensors, state: state.update(step=9), "stands at epoch 2, step 9"),
    "a momentum of another shape": (
        lambda tensors, state: tensors.update({"optimizer/0/momentum_buffer": torch.zeros(2, 2, 3, 3)}),
        "does not fit the optimizer",
    ),
    "a momentum too many": (
        lambda tensors, state: tensors.update({"optimizer/99/momentum_buffer": torch.zeros(2)}),
        "does not fit the optimizer",
    ),
    "a missing weight": (lambda tensors, state: tensors.pop("model/head.bias"), "does not fit the classifier"),
}


@pytest.mark.parametrize("case", EDITED_STATES)
def test_a_state_that_was_edited_and_signed_again_is_refused(tmp_path: Path, case: str) -> None:
    run = interrupted_run(tmp_path)
    change, sentence = EDITED_STATES[case]
    tensors, note = load_tensors(run.last_file)
    state = json.loads(note["state"])
    change(tensors, state)
    save_tensors(run.last_file, tensors, {"state": json.dumps(state)})
    with pytest.raises(weatherproof.InputError, match=sentence):
        weatherproof.resume(run.folder, quiet=True)


def test_data_that_changed_while_the_run_was_stopped_are_noticed(tmp_path: Path) -> None:
    run = interrupted_run(tmp_path)
    images, labels = tiny_images(60, 0)
    np.savez(tmp_path / "tiny.npz", images=images, labels=labels)
    with pytest.raises(weatherproof.InputError, match="had 120 training images when it was stopped, and has 48 now"):
        weatherproof.resume(run.folder, quiet=True)


@pytest.mark.parametrize(("name", "content", "sentence"), [
    ("metrics.jsonl", b"hello\n", "a line that is not of an epoch"),
    ("metrics.jsonl", b'{"a": 1}\n', "a line that is not of an epoch"),
    ("metrics.jsonl", b"\xff\xfe\n", "a line that is not of an epoch"),
    ("recipe.yaml", b"\xff\xfe", "cannot read .*recipe.yaml"),
    ("recipe.yaml", b"", "wanted a mapping of keys to values; got None"),
])  # fmt: skip
def test_other_files_of_a_run_that_were_edited_are_named(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    run = interrupted_run(tmp_path)
    (run.folder / name).write_bytes(content)
    with pytest.raises(weatherproof.InputError, match=sentence):
        weatherproof.resume(run.folder, quiet=True)


def test_metrics_of_steps_that_were_lost_are_forgotten(tmp_path: Path) -> None:
    run = interrupted_run(tmp_path)
    before = run.metrics()
    run.record({"epoch": 2, "learning_rate": 0.0, "train_loss": 1.0})
    with run.metrics_file.open("a") as file:
        file.write('{"epoch": 3, "cut sho')
    weatherproof.resume(run.folder, quiet=True)  # the objective counts anew and does not come to its eighth step
    assert [entry["epoch"] for entry in run.metrics()] == [1, 2]
    assert run.metrics()[:1] == before


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: the weights' file does not fit."""
    recipe = write_tiny_recipe(tmp_path, epochs=1)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from weatherproof.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "train",
        str(recipe),
        "-o",
        str(tmp_path / "run"),
        "--device",
        "cpu",
        "--quiet",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "state.safetensors" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(file.name for file in (tmp_path / "run").rglob("*") if file.is_file()) == [
        "environment.json",
        "recipe.yaml",
    ]
