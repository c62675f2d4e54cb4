"""Sets that were begun before, by corrupt and by deepaugment alike: completed, added to or refused; never mixed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numbered import MakeFolder, MakeNpz, numbered_image
from PIL import Image

from weatherproof import InputError
from weatherproof.api import corrupt_data, deepaugment_data
from weatherproof.augment import processed_sets
from weatherproof.evaluation import corrupted_sets

Write = Callable[..., Any]
# Of files and folders of the sets.
NAMES = {"corrupt": ["fog", "contrast"], "deepaugment": ["affine", "cae_desk"]}


def corrupting(data: Path | str, out: Path, names: list[str] = NAMES["corrupt"], **options: Any) -> None:
    corrupt_data(str(data), out, **{"corruptions": names, "severities": [1, 3], "split": "all", **options})


def deepaugmenting(data: Path | str, out: Path, names: list[str] = NAMES["deepaugment"], **options: Any) -> None:
    deepaugment_data(str(data), out, **{"networks": names, "split": "all", **options})


@pytest.fixture(params=["corrupt", "deepaugment"])
def command(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def write(command: str, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a set, in several steps though images are few."""
    monkeypatch.setattr(corrupted_sets, "CHUNK", 5)
    monkeypatch.setattr(processed_sets, "CHUNK", 5)
    return {"corrupt": corrupting, "deepaugment": deepaugmenting}[command]


@pytest.fixture
def npz(make_npz: MakeNpz, tmp_path: Path) -> Path:
    return make_npz(tmp_path / "a.npz", x_train=None, y_train=None)


@pytest.fixture
def photos(make_folder: MakeFolder, tmp_path: Path) -> Path:
    return make_folder(tmp_path / "photos", {"ant": 3, "bee": 2}, (20, 16))


@pytest.fixture(params=["npz", "photos"])
def data(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def interrupted(write: Write, data: Path, out: Path, **options: Any) -> dict[str, bytes]:
    """Begin a set, and stop when something is finished; what is there then."""

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(data, out, progress=stop, **options)
    return contents(out)


def never(done: int, total: int) -> None:
    raise AssertionError("something was made again")


def test_a_begun_tree_is_not_continued_at_another_size(write: Write, photos: Path, tmp_path: Path) -> None:
    before = interrupted(write, photos, tmp_path / "out", size=16)
    with pytest.raises(InputError, match=r"of another make \(size: 16 there, 12 wanted\); name another folder"):
        write(photos, tmp_path / "out", size=12)
    assert contents(tmp_path / "out") == before
    write(photos, tmp_path / "out", size=16)
    assert {min(size_of(path)) for path in (tmp_path / "out").rglob("*.JPEG")} == {16}


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size


def test_the_protocol_says_size_and_channels(write: Write, data: Path, tmp_path: Path) -> None:
    write(data, tmp_path / "out", size=12)
    protocol = json.loads((tmp_path / "out/protocol.json").read_text())
    assert (protocol["size"], protocol["channels"]) == (12, 3)


def replaced_pixels(data: Path) -> None:
    arrays = dict(np.load(data))
    arrays["x_test"][3, 5, 5] ^= 1
    np.savez(data, **arrays)


def replaced_labels(data: Path) -> None:
    arrays = dict(np.load(data))
    np.savez(data, **{**arrays, "y_test": arrays["y_test"][::-1]})


def replaced_file(data: Path) -> None:
    Image.fromarray(numbered_image(77, (20, 16))).save(data / "bee/004.png")


def renamed_file(data: Path) -> None:
    (data / "bee/004.png").rename(data / "bee/005.png")


@pytest.mark.parametrize("change", [replaced_pixels, replaced_labels, replaced_file, renamed_file])
def test_a_begun_set_is_not_continued_from_other_data(
    write: Write, change: Callable[[Path], None], npz: Path, photos: Path, tmp_path: Path
) -> None:
    data = npz if change in (replaced_pixels, replaced_labels) else photos
    before = interrupted(write, data, tmp_path / "out", size=12)
    change(data)
    with pytest.raises(InputError, match=r"of another make \(fingerprint: "):
        write(data, tmp_path / "out", size=12)
    assert contents(tmp_path / "out") == before


def test_the_same_data_by_another_path_complete_a_set(
    write: Write, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(data, tmp_path / "whole", size=12)
    interrupted(write, data, tmp_path / "cut", size=12)
    write(f"./{data.name}", Path("cut"), size=12)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


@pytest.mark.parametrize("change", ["truncated", "empty", "of another shape"])
def test_a_file_that_was_damaged_later_is_made_again(
    write: Write, command: str, change: str, npz: Path, tmp_path: Path
) -> None:
    write(npz, tmp_path / "out")
    before = contents(tmp_path / "out")
    file = tmp_path / "out" / f"{NAMES[command][0]}.npy"
    if change == "of another shape":
        np.save(file, np.load(file)[:-1])
    else:
        os.truncate(file, 1_000 if change == "truncated" else 0)
    os.truncate(tmp_path / "out/labels.npy", 5)
    write(npz, tmp_path / "out")
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("length", [0, 1, 200])
def test_a_jpeg_that_was_damaged_later_is_made_again(write: Write, length: int, photos: Path, tmp_path: Path) -> None:
    write(photos, tmp_path / "out", size=16)
    before = contents(tmp_path / "out")
    for file in sorted((tmp_path / "out").rglob("*.JPEG"))[::3]:
        os.truncate(file, length)
    write(photos, tmp_path / "out", size=16)
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("spoil", ["empty", "short", "gone", "notes are empty", "notes are no list"])
def test_a_begun_file_that_was_damaged_is_begun_again(
    write: Write, command: str, spoil: str, npz: Path, tmp_path: Path
) -> None:
    write(npz, tmp_path / "whole")
    interrupted(write, npz, tmp_path / "cut")
    begun, notes = tmp_path / "cut" / f".{NAMES[command][0]}.npy.partial", tmp_path / "cut/.done.partial"
    {
        "empty": lambda: os.truncate(begun, 0),
        "short": lambda: os.truncate(begun, 1_000),
        "gone": begun.unlink,
        "notes are empty": lambda: os.truncate(notes, 0),
        "notes are no list": lambda: notes.write_text("[1]"),
    }[spoil]()
    write(npz, tmp_path / "cut")
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_a_file_that_was_noted_to_its_end_but_not_renamed_is_kept(
    write: Write, command: str, npz: Path, tmp_path: Path
) -> None:
    """By a call that was killed between the two."""
    write(npz, tmp_path / "out")
    before = contents(tmp_path / "out")
    name = NAMES[command][0]
    versions = [(name, 1), (name, 3)] if command == "corrupt" else [(name,)]
    blocks = [[*version, first, min(first + 5, 12)] for version in versions for first in (0, 5, 10)]
    (tmp_path / "out" / f"{name}.npy").rename(tmp_path / "out" / f".{name}.npy.partial")
    (tmp_path / "out/.done.partial").write_text(json.dumps(blocks))
    write(npz, tmp_path / "out", progress=never)
    assert contents(tmp_path / "out") == before


def test_a_killed_worker_is_told_in_one_sentence_and_the_set_is_completed(
    write: Write, npz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrupted_sets, "CHUNK", 1)
    monkeypatch.setattr(processed_sets, "CHUNK", 1)
    write(npz, tmp_path / "whole")

    def kill(done: int, total: int) -> None:
        for worker in multiprocessing.active_children():
            os.kill(int(worker.pid or 0), signal.SIGKILL)

    with pytest.raises(InputError, match=r"^one of the processes .* was killed.* is kept: call it again, with fewer"):
        write(npz, tmp_path / "out", jobs=2, progress=kill)
    write(npz, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_two_calls_at_once_are_told_apart(write: Write, data: Path, tmp_path: Path) -> None:
    write(data, tmp_path / "whole", size=12)
    refused: list[str] = []

    def another(done: int, total: int) -> None:
        with pytest.raises(InputError) as caught:
            write(data, tmp_path / "out", size=12)
        refused.append(str(caught.value))

    write(data, tmp_path / "out", size=12, progress=another)
    assert set(refused) == {f"another process is at work in {tmp_path / 'out'}; wait for it, or end it"}
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_what_killed_calls_left_lying_about_is_removed(
    write: Write, command: str, photos: Path, tmp_path: Path
) -> None:
    write(photos, tmp_path / "whole", size=16)
    interrupted(write, photos, tmp_path / "cut", size=16)
    below = next((tmp_path / "cut").rglob("*.JPEG")).parent
    for torn in (below / ".001.JPEG.10024.partial", tmp_path / "cut/.protocol.json.7.partial"):
        torn.write_bytes(b"torn")
    write(photos, tmp_path / "cut", size=16)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def test_more_is_added_to_a_set_and_a_part_of_it_is_there_at_once(
    write: Write, command: str, data: Path, tmp_path: Path
) -> None:
    first, second = NAMES[command]
    write(data, tmp_path / "at once", size=12)
    write(data, tmp_path / "out", [first], size=12)
    alone = contents(tmp_path / "out")
    write(data, tmp_path / "out", [second], size=12)
    assert contents(tmp_path / "out") == contents(tmp_path / "at once")
    assert alone.keys() < contents(tmp_path / "out").keys()
    for part in ([second], [first], [first, second]):
        write(data, tmp_path / "out", part, size=12, progress=never)
    assert contents(tmp_path / "out") == contents(tmp_path / "at once")


def test_a_part_leaves_what_was_begun_besides(write: Write, command: str, npz: Path, tmp_path: Path) -> None:
    """A call that is killed wanted two; the next one wants the second; what the first has is still good."""
    first, second = NAMES[command]
    write(npz, tmp_path / "whole")
    interrupted(write, npz, tmp_path / "cut")
    noted = json.loads((tmp_path / "cut/.done.partial").read_text())
    assert {block[0] for block in noted} == {first}
    write(npz, tmp_path / "cut", [second])
    assert json.loads((tmp_path / "cut/.done.partial").read_text()) == noted
    told: list[int] = []
    write(npz, tmp_path / "cut", progress=lambda done, total: told.append(total - done))
    assert len(told) == len({tuple(block) for block in _blocks(command, first)}) - len(noted)
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def _blocks(command: str, name: str) -> list[tuple[str | int, ...]]:
    versions = [(name, 1), (name, 3)] if command == "corrupt" else [(name,)]
    return [(*version, first) for version in versions for first in (0, 5, 10)]


def test_frost_is_settled_by_the_first_that_wants_it(npz: Path, tmp_path: Path) -> None:
    def frost() -> str:
        return str(json.loads((tmp_path / "out/protocol.json").read_text())["frost"])

    corrupting(npz, tmp_path / "out", ["fog"])
    assert frost() == "none"
    corrupting(npz, tmp_path / "out", ["frost"], frost="procedural")
    corrupting(npz, tmp_path / "out", ["contrast"])
    assert frost() == "procedural"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(tmp_path / "ice.png")
    (tmp_path / "ice").mkdir()
    (tmp_path / "ice.png").rename(tmp_path / "ice/ice.png")
    with pytest.raises(InputError, match=r"another make \(frost: procedural there, .*ice wanted\)"):
        corrupting(npz, tmp_path / "out", ["frost"], frost=str(tmp_path / "ice"))


def test_a_copy_of_the_same_name_by_other_weights_is_refused(npz: Path, tmp_path: Path) -> None:
    deepaugmenting(npz, tmp_path / "out", ["cae_desk"])
    before = contents(tmp_path / "out")
    deepaugmenting(npz, tmp_path / "out", ["cae_desk@ours-cifar10"], progress=never)  # the same, in other words
    with pytest.raises(InputError, match="another make"):
        deepaugmenting(npz, tmp_path / "out", ["affine", "cae_desk@untrained"])
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("protocol", ["[]", "{}", '{"corruptions": ["fgo"]}', "{"])
def test_a_protocol_that_is_none_is_refused(write: Write, protocol: str, npz: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/protocol.json").write_text(protocol)
    with pytest.raises(InputError):
        write(npz, tmp_path / "out")
    assert contents(tmp_path / "out") == {"protocol.json": protocol.encode()}
