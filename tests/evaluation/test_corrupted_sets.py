"""Corrupted sets on disk: what is written, resumed, refused, and read back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numbered import MakeFolder
from PIL import Image
from test_evaluate import Brightest, bars

import weatherproof
from weatherproof import InputError, corrupt
from weatherproof.api import corrupt_data, evaluate_on
from weatherproof.data import open_data
from weatherproof.evaluation import corrupted_sets
from weatherproof.networks.classifiers.saved import Card, save_classifier

LABELS = np.arange(12) % 3


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    np.savez(tmp_path / "bars.npz", x_train=bars(LABELS, 12), y_train=LABELS, x_test=bars(LABELS, 12), y_test=LABELS)
    return tmp_path / "bars.npz"


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several to a corruption, though images are few."""
    monkeypatch.setattr(corrupted_sets, "CHUNK", 5)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_layout_of_cifar_10_c(npz: Path, tmp_path: Path) -> None:
    corrupt_data(str(npz), tmp_path / "out", corruptions=["fog", "saturate"], severities=[1, 4])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "fog.npy", "saturate.npy", "labels.npy", "protocol.json",
    }  # fmt: skip
    fog, labels = np.load(tmp_path / "out/fog.npy"), np.load(tmp_path / "out/labels.npy")
    assert fog.dtype == np.uint8 and fog.shape == (24, 12, 12, 3)
    assert labels.dtype == np.uint8 and (labels == np.tile(LABELS, 2)).all()
    assert (fog[12:] == corrupt(bars(LABELS, 12), "fog", 4, "cifar")).all()
    protocol = json.loads((tmp_path / "out/protocol.json").read_text())
    assert protocol["severities"] == [1, 4] and protocol["scale"] == "cifar"


@pytest.fixture
def photos(tmp_path: Path, make_folder: MakeFolder) -> Path:
    for split, first in (("train", 0), ("test", 20)):
        make_folder(tmp_path / "photos" / split, {"ant": 3, "bee": 2}, (60, 50), first)
    return tmp_path / "photos"


def test_the_layout_of_imagenet_c(photos: Path, tmp_path: Path) -> None:
    plan = corrupt_data(str(photos), tmp_path / "out", size=48, corruptions=["contrast"], severities=[2])
    assert plan.scale == "tiny"
    files = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.JPEG"))
    assert files == [f"contrast/2/{name}.JPEG" for name in ("ant/020", "ant/021", "ant/022", "bee/023", "bee/024")]
    Image.new("RGB", (48, 48)).save(tmp_path / "like.jpg", quality=85)
    with Image.open(tmp_path / "out" / files[0]) as image, Image.open(tmp_path / "like.jpg") as like:
        assert image.size == (48, 48)
        assert image.quantization == like.quantization  # type: ignore[attr-defined]


@pytest.mark.parametrize("source", ["npz", "photos"])
@pytest.mark.usefixtures("small_chunks")
def test_processes_write_the_same_bytes(source: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data = request.getfixturevalue(source)
    options = {"corruptions": ["glass_blur", "shot_noise"], "severities": [1, 5]}
    for jobs in (1, 2):
        corrupt_data(str(data), tmp_path / f"out{jobs}", jobs=jobs, **options)  # type: ignore[arg-type]
    assert contents(tmp_path / "out1") == contents(tmp_path / "out2")


@pytest.mark.parametrize("source", ["npz", "photos"])
@pytest.mark.usefixtures("small_chunks")
def test_an_interrupted_set_is_completed(source: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data = request.getfixturevalue(source)
    options = {"corruptions": ["shot_noise", "fog"], "severities": [1, 5]}
    corrupt_data(str(data), tmp_path / "whole", **options)  # type: ignore[arg-type]

    def stop(done: int, total: int) -> None:
        if done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corrupt_data(str(data), tmp_path / "cut", progress=stop, **options)  # type: ignore[arg-type]
    assert contents(tmp_path / "cut") != contents(tmp_path / "whole")
    told: list[int] = []
    corrupt_data(str(data), tmp_path / "cut", progress=lambda done, total: told.append(done), **options)  # type: ignore[arg-type]
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    assert told[0] > 5  # what was done was not done again
    corrupt_data(str(data), tmp_path / "cut", **options)  # type: ignore[arg-type]
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_a_killed_command_is_completed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "weatherproof", "corrupt", "photos10", "out"]
    command += ["--corruptions", "noise,blur", "--jobs", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for kill, noted in ((os.killpg, 1), (os.kill, 8)):  # all processes; the first one alone
        process = subprocess.Popen([*command, "--quiet"], cwd=tmp_path, env=environment, start_new_session=True)
        while _noted(tmp_path / "out") < noted:
            assert process.poll() is None, "done before it was killed"
            time.sleep(0.02)
        kill(process.pid, signal.SIGKILL)
        process.wait()
        _wait_for_workers_to_end(process.pid)
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    images = open_data("photos10").test.images.pixels.permute(0, 2, 3, 1)  # type: ignore[union-attr]
    for name in ("shot_noise", "glass_blur"):
        array = np.load(tmp_path / f"out/{name}.npy")
        for severity in range(1, 6):
            part = array[(severity - 1) * 1000 : severity * 1000]
            assert torch.equal(torch.from_numpy(part), corrupt(images, name, severity, "cifar"))
    assert not list((tmp_path / "out").glob("*.partial")) and not list((tmp_path / "out").glob(".*"))


def _noted(out: Path) -> int:
    """How many blocks are finished."""
    notes = out / ".done.partial"
    return len(json.loads(notes.read_text())) if notes.is_file() else 0


def _wait_for_workers_to_end(group: int) -> None:
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("a worker outlives its parent")


def test_sets_of_another_make_are_not_mixed(npz: Path, tmp_path: Path) -> None:
    corrupt_data(str(npz), tmp_path / "out", corruptions=["fog"], severities=[1])
    before = contents(tmp_path / "out")
    for changed in ({"severities": [1, 2]}, {"seed": 1}, {"scale": "imagenet"}):
        options = {"corruptions": ["fog"], "severities": [1], **changed}
        with pytest.raises(InputError, match="another make"):
            corrupt_data(str(npz), tmp_path / "out", **options)  # type: ignore[arg-type]
    assert contents(tmp_path / "out") == before


def test_a_set_of_all_images_is_measured_on_all_images(tmp_path: Path) -> None:
    """By number alone, those of the fifth that is for testing would be others."""
    np.savez(tmp_path / "flat.npz", images=np.concatenate([bars(LABELS, 12)] * 5), labels=np.tile(LABELS, 5))
    data, out = str(tmp_path / "flat.npz"), tmp_path / "out"
    plan = corrupt_data(data, out, corruptions=["fog"], severities=[1])
    assert (plan.split, plan.images, len(np.load(out / "fog.npy"))) == ("all", 60, 60)
    save_classifier(tmp_path / "model", {}, Card({"class_path": "test_evaluate.Brightest"}, ("0", "1", "2"), 3, 12))
    options: dict[str, Any] = {"corruptions": ["fog"], "severities": [1], "folder": out, "device": "cpu"}
    result = evaluate_on(tmp_path / "model", data, "corruptions", split="all", limit=30, **options)
    assert (result.protocol["split"], result.protocol["images"]) == ("all", 30)
    with pytest.raises(InputError, match=r"out was not made from these images, but from split all of its set"):
        evaluate_on(tmp_path / "model", data, "corruptions", **options)
    corrupt_data(data, tmp_path / "tests", split="test", corruptions=["fog"], severities=[1])
    evaluate_on(tmp_path / "model", data, "corruptions", **{**options, "folder": tmp_path / "tests"})


def test_a_setting_of_frost_is_no_matter_where_there_is_none(npz: Path, tmp_path: Path) -> None:
    corrupt_data(str(npz), tmp_path / "out", corruptions=["fog"], frost="procedural")
    chosen = {"corruptions": ["fog"], "folder": tmp_path / "out", "frost": "procedural"}
    protocol = weatherproof.evaluate(Brightest(), bars(LABELS, 12), LABELS, suite="corruptions", **chosen).protocol
    assert "frost" not in protocol


def test_a_folder_with_something_else_in_it_is_left_alone(npz: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("dear")
    with pytest.raises(InputError, match="not an empty folder"):
        corrupt_data(str(npz), tmp_path / "mine", corruptions=["fog"])
    assert contents(tmp_path / "mine") == {"thesis.tex": b"dear"}


@pytest.mark.parametrize(
    ("side", "frost", "sentence"), [(12, "/nowhere", "there is no '/nowhere'"), (7, "auto", "at least 8x8 pixels")]
)
def test_what_a_corruption_complains_of_is_said_before_anything_is_written(
    side: int, frost: str, sentence: str, tmp_path: Path
) -> None:
    images = bars(LABELS, 12)[:, :side, :side]
    np.savez(tmp_path / "x.npz", x_train=images, y_train=LABELS, x_test=images, y_test=LABELS)
    with pytest.raises(InputError, match=sentence):
        corrupt_data(str(tmp_path / "x.npz"), tmp_path / "out", frost=frost)
    assert not (tmp_path / "out").exists()


def test_two_images_that_would_share_a_name_are_refused_before_anything_is_written(
    photos: Path, tmp_path: Path
) -> None:
    Image.new("RGB", (60, 50)).save(photos / "test/ant/020.bmp")
    with pytest.raises(InputError, match="same name but for its ending"):
        corrupt_data(str(photos), tmp_path / "out", size=48, corruptions=["fog"])
    assert not (tmp_path / "out").exists()


def assert_same_numbers(a: weatherproof.Result, b: weatherproof.Result) -> None:
    """Confidences may differ in their last digit with the batch."""
    assert a.hits == b.hits
    values = ({name: metric.value for name, metric in result.metrics.items()} for result in (a, b))
    assert next(values) == pytest.approx(next(values))


def test_a_set_read_back_measures_as_one_made_on_the_fly(npz: Path, tmp_path: Path) -> None:
    options = {"corruptions": ["shot_noise", "fog"], "severities": [2, 5]}
    corrupt_data(str(npz), tmp_path / "out", corruptions=["noise", "fog"], severities=[2, 3, 5])
    images = bars(LABELS, 12)
    made = weatherproof.evaluate(Brightest(), images, LABELS, suite="corruptions", **options)
    read = weatherproof.evaluate(
        Brightest(), images, LABELS, suite="corruptions", folder=tmp_path / "out", batch_size=5, **options
    )
    assert_same_numbers(read, made)
    assert read.protocol["corrupted"] == str(tmp_path / "out")


def official(folder: Path, **changes: np.ndarray | None) -> Path:
    """A set in the official layout, all severities, of two corruptions."""
    folder.mkdir()
    arrays: dict[str, np.ndarray | None] = {
        name: np.concatenate([corrupt(bars(LABELS, 12), name, severity, "cifar") for severity in range(1, 6)])
        for name in ("fog", "contrast")
    }
    arrays = {**arrays, "labels": np.tile(LABELS, 5).astype(np.uint8), **changes}
    for name, array in arrays.items():
        if array is not None:
            np.save(folder / f"{name}.npy", array)
    return folder


def read(folder: Path, **options: object) -> weatherproof.Result:
    chosen = {"corruptions": ["fog", "contrast"], **options}
    return weatherproof.evaluate(Brightest(), bars(LABELS, 12), LABELS, suite="corruptions", folder=folder, **chosen)


def test_an_official_folder_is_read_in_place(tmp_path: Path) -> None:
    folder = official(tmp_path / "C")
    made = weatherproof.evaluate(
        Brightest(), bars(LABELS, 12), LABELS, suite="corruptions", corruptions=["fog", "contrast"]
    )
    assert_same_numbers(read(folder), made)


def test_pages_of_an_official_folder_are_read_as_they_are_needed(tmp_path: Path) -> None:
    from weatherproof.evaluation.official import _load

    official(tmp_path / "C")
    assert isinstance(_load(tmp_path / "C/fog.npy"), np.memmap)


SHORT = np.zeros((30, 12, 12, 3), np.uint8)
BROKEN: dict[str, tuple[dict[str, np.ndarray | None], str]] = {
    "a missing file": ({"fog": None}, r"lacks fog\.npy; nothing was measured"),
    "two missing files": ({"fog": None, "contrast": None}, r"lacks fog\.npy, contrast\.npy; nothing"),
    "no labels": ({"labels": None}, r"lacks labels\.npy"),
    "two short files": ({"fog": SHORT, "contrast": SHORT}, r"60 uint8 images in fog\.npy.*contrast\.npy"),
    "floats": ({"fog": np.zeros((60, 12, 12, 3))}, r"fog\.npy \(found float64"),
    "labels of another set": ({"labels": np.tile(LABELS[::-1], 5)}, "its labels differ"),
    "two severities of five": (
        {
            name: (np.tile(LABELS, 2) if name == "labels" else np.zeros((24, 12, 12, 3), np.uint8))
            for name in ("labels", "fog", "contrast")
        },
        r"labels\.npy holds 24 labels that are not the same ones for each of 5 severities",
    ),
    "severities that contradict each other": (
        {"labels": np.concatenate([LABELS, *[LABELS[::-1]] * 4])},
        r"labels\.npy holds 60 labels that are not the same",
    ),
    "images of another size": (
        {"fog": np.zeros((60, 6, 6, 3), np.uint8)},
        r"fog\.npy holds images \(6, 6, 3\), but those of the test set are \(12, 12, 3\)",
    ),
    "grey images": ({"fog": np.zeros((60, 12, 12, 1), np.uint8)}, r"fog\.npy holds images \(12, 12, 1\)"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_with_an_official_folder_is_said(case: str, tmp_path: Path) -> None:
    changes, sentence = BROKEN[case]
    with pytest.raises(InputError, match=sentence):
        read(official(tmp_path / "C", **changes))


class NeverAsked(Brightest):
    """A classifier that must not be run."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        raise AssertionError("something was computed")


def test_truncated_files_are_named_all_at_once_before_anything_is_computed(tmp_path: Path) -> None:
    folder = official(tmp_path / "C")
    data = (folder / "fog.npy").read_bytes()
    (folder / "fog.npy").write_bytes(data[: len(data) // 2])
    (folder / "labels.npy").write_bytes(b"")
    (folder / "contrast.npy").unlink()
    with pytest.raises(InputError, match=r"lacks fog\.npy \(trunc.*, contrast\.npy, labels\.npy \(trunc.*nothing was"):
        weatherproof.evaluate(
            NeverAsked(), bars(LABELS, 12), LABELS, suite="corruptions", folder=folder, corruptions=["fog", "contrast"]
        )


def test_a_pickle_in_place_of_an_array_is_not_loaded(tmp_path: Path) -> None:
    folder = official(tmp_path / "C")
    np.save(folder / "fog.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"fog\.npy \(truncated, or not a \.npy file"):
        read(folder)


def test_a_tree_of_images_is_read_with_group_folders_too(photos: Path, tmp_path: Path) -> None:
    corrupt_data(str(photos), tmp_path / "out", size=48, corruptions=["fog", "contrast"], severities=[1])
    (tmp_path / "out/weather").mkdir()
    (tmp_path / "out/fog").rename(tmp_path / "out/weather/fog")
    from weatherproof.data import Loader
    from weatherproof.evaluation import run_suite

    data = open_data(str(photos), size=48)
    loader = Loader(data.test, 2, 48)
    options = {"corruptions": ["fog", "contrast"], "severities": [1], "folder": tmp_path / "out"}
    result = run_suite("corruptions", Brightest(), loader, {}, options)
    assert result.metrics["error/fog/1"].images == 5
    (tmp_path / "out/contrast/1/bee/024.JPEG").unlink()
    (tmp_path / "out/weather/fog/1/ant/020.JPEG").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"lacks .*fog/1/ant/020\.JPEG, .*contrast/1/bee/024\.JPEG; nothing was measured"
    ):
        run_suite("corruptions", NeverAsked(), loader, {}, options)


def test_a_set_of_ours_says_how_it_was_made(npz: Path, tmp_path: Path) -> None:
    corrupt_data(str(npz), tmp_path / "out", corruptions=["fog", "frost"], scale="tiny", seed=3, frost="procedural")
    chosen = {"suite": "corruptions", "corruptions": ["fog"], "folder": tmp_path / "out"}
    protocol = weatherproof.evaluate(Brightest(), bars(LABELS, 12), LABELS, **chosen).protocol
    assert (protocol["scale"], protocol["corruption_seed"]) == ("tiny", 3) and "frost" not in protocol
    chosen["corruptions"] = ["frost"]
    assert weatherproof.evaluate(Brightest(), bars(LABELS, 12), LABELS, **chosen).protocol["frost"] == "procedural"
    with pytest.raises(InputError, match="was made on the scale tiny; got a wish for cifar"):
        weatherproof.evaluate(NeverAsked(), bars(LABELS, 12), LABELS, scale="cifar", **chosen)
