"""``weatherproof deepaugment``: what is written, resumed after a kill, refused, and trained on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numbered import MakeFolder
from PIL import Image
from tiny import tiny_images, write_tiny_npz

from weatherproof import DeepAugment
from weatherproof.augment import processed_sets
from weatherproof.cli.main import main
from weatherproof.data import Loader, open_data
from weatherproof.randomness import stream

Cli = Callable[..., tuple[int, str, str]]
NETWORKS = "edsr_desk,unet_desk"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main(["deepaugment", *(str(argument) for argument in arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several to a copy, though images are few."""
    monkeypatch.setattr(processed_sets, "CHUNK", 30)


@pytest.fixture
def photos(tmp_path: Path, make_folder: MakeFolder) -> Path:
    for split, first in (("train", 0), ("test", 20)):
        make_folder(tmp_path / "photos" / split, {"ant": 3, "bee": 2}, (60, 40), first)
    return tmp_path / "photos"


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    return write_tiny_npz(tmp_path / "tiny.npz")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_copy_of_a_set_in_memory_is_deepaugment_of_it(cli: Cli, npz: Path, tmp_path: Path) -> None:
    code, out, _ = cli(npz, "out", "--network", NETWORKS, "--seed", 3)
    assert code == 0 and "240 images in out" in out and "edsr_desk (ours-cifar10 at 32 px)" in out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "edsr_desk.npy", "unet_desk.npy", "labels.npy", "protocol.json",
    }  # fmt: skip
    images, labels = tiny_images(120, 0)
    assert (np.load("out/labels.npy") == labels).all()
    copy = np.load("out/unet_desk.npy", mmap_mode="r")
    assert copy.dtype == np.uint8 and copy.shape == images.shape
    numbers = [3, 77, 119]
    expected = DeepAugment("unet_desk")(images[numbers], stream(3, "deepaugment", "unet_desk"), keys=numbers)
    assert int((torch.from_numpy(copy[numbers]).int() - expected.int()).abs().max()) <= 1
    protocol = json.loads(Path("out/protocol.json").read_text())
    assert protocol["networks"] == ["edsr_desk", "unet_desk"] and protocol["split"] == "train"
    data = open_data(npz, copies=["out/edsr_desk.npy", "out/unet_desk.npy"])
    assert len(data.train.copies) == 2


def test_a_copy_of_a_folder_is_a_tree(cli: Cli, photos: Path, tmp_path: Path) -> None:
    assert cli(photos, "out", "--network", "unet_desk", "--size", 32, "--quiet") == (0, "", "")
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.JPEG"))
    assert files == [f"unet_desk/{name}.JPEG" for name in ("ant/000", "ant/001", "ant/002", "bee/003", "bee/004")]
    with Image.open(tmp_path / "out" / files[0]) as image:
        assert image.size == (48, 32)
    data = open_data(photos, size=32, copies=["out/unet_desk"])
    assert next(iter(Loader(data.train, 5, 32, seed=0).epoch())).images.shape == (5, 3, 32, 32)


@pytest.mark.parametrize("source", ["npz", "photos"])
@pytest.mark.usefixtures("small_chunks")
def test_processes_write_the_same_bytes(source: str, cli: Cli, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data = request.getfixturevalue(source)
    for jobs in (1, 2):
        assert cli(data, f"out{jobs}", "--network", NETWORKS, "--jobs", jobs, "--quiet")[0] == 0
    assert contents(tmp_path / "out1") == contents(tmp_path / "out2")
    assert cli(data, "other", "--network", NETWORKS, "--seed", 1, "--quiet")[0] == 0
    assert contents(tmp_path / "out1") != contents(tmp_path / "other")


@pytest.mark.slow
def test_a_killed_command_is_completed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "weatherproof", "deepaugment", "photos10", "out", "--network", NETWORKS]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for jobs, noted in ((2, 2), (1, 12)):
        arguments = [*command, "--jobs", str(jobs), "--quiet"]
        process = subprocess.Popen(arguments, cwd=tmp_path, env=environment, start_new_session=True)
        while _noted(tmp_path / "out") < noted:
            assert process.poll() is None, "done before it was killed"
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = _noted(tmp_path / "out")
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert before >= 12 and "8,000 images in out" in done.stdout
    command[command.index("out")] = "whole"
    subprocess.run([*command, "--jobs", "2"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def _noted(out: Path) -> int:
    """How many blocks are finished."""
    notes = out / ".done.partial"
    return len(json.loads(notes.read_text())) if notes.is_file() else 0


@pytest.mark.parametrize(("changed", "sentence"), [
    (["--seed", 1], "another make (seed: 0 there, 1 wanted)"),
    (["--split", "test"], "another make (images: 120 there, 60 wanted)"),
])  # fmt: skip
def test_a_folder_of_another_make_is_refused(
    cli: Cli, npz: Path, tmp_path: Path, changed: list[object], sentence: str
) -> None:
    assert cli(npz, "out", "--network", "edsr_desk", "--quiet")[0] == 0
    before = contents(tmp_path / "out")
    code, _, err = cli(npz, "out", "--network", "edsr_desk", "--quiet", *changed)
    assert code == 2 and sentence in err
    assert contents(tmp_path / "out") == before
    assert cli(npz, "out", "--network", "edsr_desk", "--quiet")[0] == 0
    assert contents(tmp_path / "out") == before


def test_a_copy_by_another_network_is_added(cli: Cli, npz: Path, tmp_path: Path) -> None:
    assert cli(npz, "out", "--network", "edsr_desk", "--quiet")[0] == 0
    before = (tmp_path / "out" / "edsr_desk.npy").read_bytes()
    assert cli(npz, "out", "--network", "unet_desk", "--quiet")[0] == 0
    assert (tmp_path / "out" / "edsr_desk.npy").read_bytes() == before
    assert (tmp_path / "out" / "unet_desk.npy").is_file()
    assert json.loads((tmp_path / "out" / "protocol.json").read_text())["networks"] == ["edsr_desk", "unet_desk"]


def test_other_weights_are_another_make(cli: Cli, npz: Path) -> None:
    """By name they are the same."""
    weights = "weatherproof.networks.corruption.unet_desk@untrained"
    assert cli(npz, "out", "--network", weights, "--quiet")[0] == 0
    code, _, err = cli(npz, "out", "--network", weights, "--quiet", "--seed", 1)
    assert code == 2 and "weights" in err
    assert cli(npz, "out", "--network", weights, "--quiet")[0] == 0  # untrained ones follow from the seed


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--network", "edsr_dsk"], "there is no corruption network 'edsr_dsk'; did you mean 'edsr_desk'?"),
    (["--network", "edsr_desk,edsr_desk"], "one or more of different names; got edsr_desk, edsr_desk"),
    (["--network", ","], "got none"),
    (["--jobs", 0], "at least 1 process is needed; got 0"),
    (["--split", "validation"], "has no split 'validation'"),
])  # fmt: skip
def test_what_is_refused(cli: Cli, npz: Path, tmp_path: Path, arguments: list[object], sentence: str) -> None:
    code, _, err = cli(npz, "out", *["--network", "edsr_desk"], *arguments)
    assert code == 2 and sentence in err
    assert not (tmp_path / "out").exists()
