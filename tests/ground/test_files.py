"""Writing leaves the whole new file or the whole old one; reading says which file is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from weatherproof.errors import InputError
from weatherproof.files import (
    append_line,
    load_tensors,
    locked,
    read_json,
    save_tensors,
    sweep,
    write_atomically,
    write_json,
)

FULL_DISK = """
import json, resource, signal, sys
from pathlib import Path
import torch
from weatherproof.errors import InputError
from weatherproof.files import append_line, save_tensors, write_atomically, write_json

writers = {
    "write_atomically": lambda path: write_atomically(path, "x" * 100_000),
    "write_json": lambda path: write_json(path, ["x"] * 20_000),
    "save_tensors": lambda path: save_tensors(path, {"weight": torch.zeros(100_000)}),
    "append_line": lambda path: append_line(path, "x" * 100_000),
}
# No file of this process may grow beyond 20,000 bytes: what the kernel then says is what a full disk says.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
found = {}
for name, write in writers.items():
    try:
        write(Path(sys.argv[1]) / name / "file")
        found[name] = "written"
    except InputError as error:
        found[name] = str(error)
print(json.dumps(found))
"""
WRITERS = ["write_atomically", "write_json", "save_tensors", "append_line"]


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder per writer with a file of old content, after each has hit the end of the disk; and what they said."""
    pytest.importorskip("resource")
    root = tmp_path_factory.mktemp("disk")
    for name in WRITERS:
        (root / name).mkdir()
        (root / name / "file").write_text("old content\n")
    command = [sys.executable, "-c", FULL_DISK, str(root)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return root, json.loads(said)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_costs_nothing_that_was_there(writer: str, full_disk: tuple[Path, dict[str, str]]) -> None:
    root, said = full_disk
    file = root / writer / "file"
    assert said[writer].startswith(f"cannot write {file}: ")
    assert file.read_text() == "old content\n"
    assert [path.name for path in file.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("content", ["text with an umlaut: ä\n", b"\x00\xff", "", b"x" * 1_000_000])
def test_write_atomically_replaces_the_whole(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "new" / "folder" / "file"
    for old in (None, "old and rather longer"):
        if old:
            file.write_text(old)
        write_atomically(file, content)
        assert file.read_bytes() == (content.encode() if isinstance(content, str) else content)
        assert [path.name for path in file.parent.iterdir()] == ["file"]


def test_a_reader_never_sees_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there when the new bytes go to the disk, which is when a power cut would come."""
    file, seen = tmp_path / "file", []
    file.write_text("old")
    sync = os.fsync

    def look(descriptor: int) -> None:
        seen.append(file.read_text())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(file, "new")
    assert seen == ["old"] and file.read_text() == "new"


def test_who_reads_the_old_file_goes_on_reading_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old and whole")
    with file.open("rb", buffering=0) as reader:
        assert reader.read(3) == b"old"
        write_atomically(file, "new")
        assert reader.read() == b" and whole"
    assert file.read_text() == "new"


@pytest.mark.parametrize("place", ["is a file/below", "a folder", "n" * 300, "n" * 250])
def test_where_nothing_can_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "is a file").write_text("x")
    (tmp_path / "a folder").mkdir()
    with pytest.raises(InputError, match="cannot write") as caught:
        write_atomically(tmp_path / place, "x")
    assert str(tmp_path / place) in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a folder", "is a file"]


def test_append_line(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    append_line(file, "one")
    append_line(file, "zwölf")
    assert file.read_text(encoding="utf-8") == "one\nzwölf\n"
    with pytest.raises(InputError, match="cannot write"):
        append_line(tmp_path / "no folder" / "lines", "x")


def test_json_round_trip(tmp_path: Path) -> None:
    content = {"b": [1, 2.5, None, True], "a": {"ä": "x"}}
    write_json(tmp_path / "file.json", content)
    assert read_json(tmp_path / "file.json") == content
    assert (tmp_path / "file.json").read_text().endswith("}\n")


def test_json_has_no_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", [1])
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "file.json", [float("nan")])
    assert read_json(tmp_path / "file.json") == [1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "No such file"),
        (b"", "Expecting value"),
        (b'{"a": 1', "Expecting"),
        (b"\xff\xfe\x00", "codec can't decode"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_json_that_cannot_be_read(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "file.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read_json(file)
    assert str(caught.value).startswith(f"cannot read {file}: ")


def test_json_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_json(tmp_path)


TIED = torch.arange(6.0)
TENSORS: dict[str, dict[str, Tensor]] = {
    "none": {},
    "floats": {"b": torch.randn(3, 4), "a": torch.randn(2)},
    "all kinds": {
        str(dtype): torch.ones(2, 3).to(dtype)
        for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool)
    },
    "no and one element": {"none": torch.zeros(0, 3), "one": torch.tensor(7)},
    "another memory layout": {"w": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), "t": TIED[::2]},
    "shared memory": {"one": TIED, "same": TIED, "part": TIED[2:]},
    "parameters": {"w": torch.nn.Parameter(torch.randn(3))},
    "not a number": {"w": torch.tensor([torch.nan, torch.inf])},
}


@pytest.mark.parametrize("case", TENSORS)
def test_tensors_round_trip(tmp_path: Path, case: str) -> None:
    tensors = TENSORS[case]
    save_tensors(tmp_path / "t.safetensors", tensors, {"made": "today"})
    loaded, note = load_tensors(tmp_path / "t.safetensors")
    assert note == {"made": "today"}
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert loaded[name].shape == tensor.shape
        assert bool(((loaded[name] == tensor) | (tensor != tensor)).all())  # NaN differs from itself


def test_files_of_others_need_no_checksum(tmp_path: Path) -> None:
    save_file({"w": torch.arange(3)}, tmp_path / "t.safetensors", metadata={"format": "pt"})
    loaded, note = load_tensors(tmp_path / "t.safetensors")
    assert loaded["w"].tolist() == [0, 1, 2] and note == {"format": "pt"}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small file of tensors."""
    tensors = {"w": torch.tensor([[1.5, -2.0, 3.25], [0.0, 7.0, -8.0]]), "b": torch.arange(3)}
    save_tensors(tmp_path / "t.safetensors", tensors, {"k": "v"})
    return tmp_path / "t.safetensors"


def test_any_changed_byte_is_noticed(saved: Path) -> None:
    """Wherever a byte is changed: the file is refused, or the tensors are the ones that were written."""
    content = saved.read_bytes()
    original = load_tensors(saved)[0]
    data_starts = 8 + int.from_bytes(content[:8], "little")
    assert len(content) - data_starts == 6 * 4 + 3 * 8
    for place in range(len(content)):
        for flip in (0x01, 0x80):
            changed = bytearray(content)
            changed[place] ^= flip
            saved.write_bytes(changed)
            try:
                loaded, _ = load_tensors(saved)
            except InputError as error:
                assert str(saved) in str(error)
                continue
            assert place < data_starts, f"byte {place} of the values was changed and nobody noticed"
            assert loaded.keys() == original.keys()
            assert all(torch.equal(loaded[name], original[name]) for name in original)


def test_changed_values_are_called_so(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[-1] ^= 1
    saved.write_bytes(content)
    with pytest.raises(InputError, match="was changed after it was written"):
        load_tensors(saved)


@pytest.mark.parametrize("edit", [(b'"k":"v"', b'"k":"w"'), (b'"k":"v"', b'"j":"v"')])
def test_a_changed_note_is_called_so(saved: Path, edit: tuple[bytes, bytes]) -> None:
    content = saved.read_bytes()
    assert content.count(edit[0]) == 1
    saved.write_bytes(content.replace(*edit))
    with pytest.raises(InputError, match="was changed after it was written"):
        load_tensors(saved)


def test_any_truncation_is_noticed(saved: Path) -> None:
    content = saved.read_bytes()
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"t\.safetensors is truncated or not a safetensors file"):
            load_tensors(saved)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda path: path.write_text("weights"), id="text"),
        pytest.param(lambda path: path.write_bytes(bytes(1000)), id="zeros"),
        pytest.param(lambda path: torch.save({"w": torch.zeros(2)}, path), id="torch.save"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
    ],
)
def test_what_is_not_safetensors(tmp_path: Path, write: Callable[[Path], object]) -> None:
    write(tmp_path / "file")
    with pytest.raises(InputError, match="file is truncated or not a safetensors file"):
        load_tensors(tmp_path / "file")


def test_no_tensors_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*missing"):
        load_tensors(tmp_path / "missing")


def test_a_lock_is_held_once_and_leaves_no_file_where_that_is_asked(tmp_path: Path) -> None:
    lock = tmp_path / "set" / ".lock"
    for fleeting in (False, True):
        refused = pytest.raises(InputError, match=r"another process is at work in .*set;")
        with locked(lock, fleeting=fleeting), refused, locked(lock):
            raise AssertionError("held twice")
        assert lock.exists() is not fleeting


def test_who_waited_for_a_lock_that_went_with_its_file_holds_the_new_one(tmp_path: Path) -> None:
    """And not the removed one, beside which a third could make another."""
    waiting, had = threading.Event(), threading.Event()

    def wait() -> None:
        waiting.set()
        with locked(tmp_path / ".lock", wait=True, fleeting=True):
            with pytest.raises(InputError, match="another process"), locked(tmp_path / ".lock"):
                raise AssertionError("held twice")
            had.set()

    thread = threading.Thread(target=wait)
    with locked(tmp_path / ".lock", fleeting=True):
        thread.start()
        waiting.wait()
        time.sleep(0.2)  # until it waits for the file that is about to go
        assert not had.is_set()
    thread.join(30)
    assert had.is_set() and list(tmp_path.iterdir()) == []


def test_sweeping_takes_what_writers_left_and_nothing_else(tmp_path: Path) -> None:
    kept = [".fog.npy.partial", ".done.partial", "a.1.partial", ".hidden", "file.partial"]
    (tmp_path / "deep").mkdir()
    for name in [*kept, ".a.json.17.partial", "deep/.im025.JPEG.10024.partial"]:
        (tmp_path / name).write_text("")
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(kept)
