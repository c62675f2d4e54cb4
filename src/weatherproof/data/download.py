"""Finding a published data set on this machine, or fetching it: checked, and never half there."""

from __future__ import annotations

import hashlib
import http.client
import os
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError

TIMEOUT = 30  # seconds without a byte


@dataclass(frozen=True)
class Archive:
    """A published .tar.gz: its official address, its checksum, and the folder that it unpacks to."""

    address: str
    sha256: str
    folder: str


def user_cache() -> Path:
    """Where downloads are kept when nobody says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weatherproof"


def find_or_download(name: str, archive: Archive, data_dir: Path | None) -> Path:
    """The unpacked folder of `archive`: in `data_dir`, else $WEATHERPROOF_DATA, else the user cache, else downloaded.

    A folder that the user names is used or complained about; nothing is downloaded behind their back then, and nothing
    is ever downloaded over a folder that exists.
    """
    if data_dir is not None:
        return _named_folder(name, archive, data_dir)
    environment = os.environ.get("WEATHERPROOF_DATA")
    homes = [Path(environment)] if environment else []
    for home in [*homes, user_cache()]:
        if (home / archive.folder).is_dir():
            return home / archive.folder
    return _download(name, archive, homes[0] if homes else user_cache())


def _named_folder(name: str, archive: Archive, data_dir: Path) -> Path:
    if data_dir.name == archive.folder and data_dir.is_dir():
        return data_dir
    if not (data_dir / archive.folder).is_dir():
        raise InputError(f"{name}: there is no folder {data_dir / archive.folder}; unpack {archive.address} there")
    return data_dir / archive.folder


def _download(name: str, archive: Archive, home: Path) -> Path:
    """Fetch, check and unpack beside the destination, then rename: the folder is there whole or not at all."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=f".{name}-") as scratch:
            packed = Path(scratch) / "archive.tar.gz"
            _fetch(name, archive, packed)
            with tarfile.open(packed) as tar:
                tar.extractall(scratch, filter="data")
            (Path(scratch) / archive.folder).replace(home / archive.folder)
    except (OSError, http.client.HTTPException, tarfile.TarError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InputError(
            f"{name} is not here and could not be downloaded ({reason}); fetch {archive.address} yourself, unpack it, "
            f"and name the folder that holds {archive.folder}/ with --data-dir or $WEATHERPROOF_DATA"
        ) from error
    return home / archive.folder


def _fetch(name: str, archive: Archive, target: Path) -> None:
    digest = hashlib.sha256()
    with urllib.request.urlopen(archive.address, timeout=TIMEOUT) as reply, target.open("wb") as file:
        size = int(reply.headers.get("Content-Length") or 0)
        with _progress(f"downloading {name}", reply, size) as stream:
            for part in iter(lambda: stream.read(1 << 20), b""):
                digest.update(part)
                file.write(part)
    if digest.hexdigest() != archive.sha256:
        raise OSError(
            f"what came from {archive.address} has the checksum {digest.hexdigest()[:12]}..., not the published one"
        )


@contextmanager
def _progress(title: str, reply: BinaryIO, size: int) -> Iterator[BinaryIO]:
    import rich.console
    import rich.progress

    with rich.progress.wrap_file(
        reply, total=size, description=title, console=rich.console.Console(stderr=True), disable=not size
    ) as stream:
        yield stream
