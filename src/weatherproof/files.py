"""Writing that never leaves half a file behind, and reading that says which file is broken."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from .errors import InputError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Replace `path` by `content`, or leave it as it was: a reader never sees a part, whenever we are killed."""
    data = content.encode() if isinstance(content, str) else content
    # The process number keeps two writers of one file apart; the last one to finish wins, whole.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; what was there is untouched") from error
    finally:
        with suppress(OSError):  # a folder that is not there, a name that is too long: the error above says it
            partial.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what writers left below a folder when they were killed; nobody may be writing there."""
    for torn in list(folder.rglob(".*.partial")):
        if re.fullmatch(r"\..+\.\d+\.partial", torn.name):
            torn.unlink(missing_ok=True)


def append_line(path: Path, line: str) -> None:
    """Add one line to a text file; when the disk is full the file keeps its old length."""
    size = path.stat().st_size if path.exists() else 0
    try:
        with path.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if path.exists():
            os.truncate(path, size)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read and diff."""
    write_atomically(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Parsed JSON; a missing or malformed file is an `InputError` that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


@contextmanager
def locked(path: Path, wait: bool = False, fleeting: bool = False) -> Iterator[None]:
    """Hold the lock file `path`; when another process holds it, wait for it or be an `InputError`.

    The lock goes when its holder ends, however that happens; with `fleeting` the file goes too. Where there are no such
    locks (Windows) nothing is held.
    """
    try:
        import fcntl  # noqa: F401 (asks whether it is there)
    except ImportError:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with _held(path, wait):
        try:
            yield
        finally:
            if fleeting:
                path.unlink(missing_ok=True)


def _held(path: Path, wait: bool) -> IO[bytes]:
    """The lock file, open and locked."""
    import fcntl

    while True:
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BlockingIOError as error:
            file.close()
            raise InputError(f"another process is at work in {path.parent}; wait for it, or end it") from error
        except FileNotFoundError:
            pass
        file.close()  # its last holder removed it between our two steps: what we hold is no longer the lock


def save_tensors(path: Path, tensors: Mapping[str, Tensor], note: Mapping[str, str] | None = None) -> None:
    """Write tensors as safetensors, with `note` and checksums of both in the file's own header."""
    from safetensors.torch import save

    # Copies, because safetensors refuses tensors that share memory, as tied weights do.
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    said = dict(note or {})
    checksums = {"checksum": checksum(plain)} | ({"note_checksum": _note_checksum(said)} if said else {})
    write_atomically(path, save(plain, {**said, **checksums}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and note of a file written by `save_tensors` (a file without a checksum is taken as it is)."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            note = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path} is truncated or not a safetensors file ({error})") from error
    of_tensors, of_note = note.pop("checksum", None), note.pop("note_checksum", None)
    if of_tensors not in (None, checksum(tensors)) or of_note not in (None, _note_checksum(note)):
        raise InputError(f"{path} was changed after it was written: its checksum does not fit its contents")
    return tensors, note


def _note_checksum(note: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
