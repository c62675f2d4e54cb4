"""A published data set is found where it lies, or fetched from a server, whole or not at all."""

from __future__ import annotations

import hashlib
import http.server
import io
import random
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from weatherproof.data.download import Archive, find_or_download, user_cache
from weatherproof.errors import InputError


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


ONE = random.Random(0).randbytes(5000)
CONTENT = packed({"mini-set/one": ONE, "mini-set/two": b"2"})


class Server(http.server.ThreadingHTTPServer):
    """Serves what `reply` writes, and counts."""

    def __init__(self) -> None:
        self.reply: Callable[[http.server.BaseHTTPRequestHandler], None] = whole
        self.asked = 0
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked += 1
        self.server.reply(self)

    def log_message(self, *_: object) -> None:
        """Tests print nothing."""


def send(handler: http.server.BaseHTTPRequestHandler, body: bytes, announced: int | None) -> None:
    handler.send_response(200)
    if announced is not None:
        handler.send_header("Content-Length", str(announced))
    handler.end_headers()
    handler.wfile.write(body)


def whole(handler: http.server.BaseHTTPRequestHandler) -> None:
    send(handler, CONTENT, len(CONTENT))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


@pytest.fixture
def archive(server: Server) -> Archive:
    address = f"http://127.0.0.1:{server.server_address[1]}/mini.tar.gz"
    return Archive(address, hashlib.sha256(CONTENT).hexdigest(), "mini-set")


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache is in the test's folder, and $WEATHERPROOF_DATA is not set."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WEATHERPROOF_DATA", raising=False)


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_download_into_the_users_cache(
    archive: Archive, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = find_or_download("mini", archive, None)
    assert folder == tmp_path / "cache" / "weatherproof" / "mini-set"
    assert everything_below(folder.parent) == ["mini-set", "mini-set/one", "mini-set/two"]
    assert (folder / "one").read_bytes() == ONE
    shown = capsys.readouterr()
    assert shown.err.startswith("downloading mini ") and shown.out == ""
    assert "/5.2 kB" in shown.err
    assert find_or_download("mini", archive, None) == folder and server.asked == 1


def test_download_where_the_environment_says(archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHERPROOF_DATA", str(tmp_path / "data"))
    assert find_or_download("mini", archive, None) == tmp_path / "data" / "mini-set"
    assert everything_below(tmp_path) == ["data", "data/mini-set", "data/mini-set/one", "data/mini-set/two"]


def test_a_server_that_does_not_say_how_much_is_coming(archive: Archive, server: Server) -> None:
    server.reply = lambda handler: send(handler, CONTENT, None)
    assert (find_or_download("mini", archive, None) / "two").read_bytes() == b"2"


def not_found(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.send_error(404)


def hang_up(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"")


def babble(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"SMTP ready\r\n\r\n")


def broken_chunks(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nshort")


REPLIES: dict[str, tuple[Callable[[http.server.BaseHTTPRequestHandler], None], str]] = {
    "another file": (lambda handler: send(handler, b"<html>", 6), "not the published one"),
    "one byte changed": (lambda handler: send(handler, CONTENT[:-1] + b"x", len(CONTENT)), "not the published one"),
    "half of it": (lambda handler: send(handler, CONTENT[:2500], len(CONTENT)), ""),
    "nothing": (lambda handler: send(handler, b"", 0), "not the published one"),
    "404": (not_found, "Not Found"),
    "hang up": (hang_up, ""),
    "another protocol": (babble, ""),
    "broken chunks": (broken_chunks, ""),
}


@pytest.mark.parametrize("case", REPLIES)
def test_what_is_not_the_published_file_leaves_nothing(
    archive: Archive, server: Server, tmp_path: Path, case: str
) -> None:
    server.reply, reason = REPLIES[case]
    with pytest.raises(InputError) as caught:
        find_or_download("mini", archive, None)
    said = str(caught.value)
    assert said.startswith("mini is not here and could not be downloaded (") and reason in said
    assert said.endswith(
        f"); fetch {archive.address} yourself, unpack it, and name the folder that holds mini-set/ with --data-dir or "
        "$WEATHERPROOF_DATA"
    )
    assert server.asked == 1
    assert everything_below(tmp_path) == ["cache", "cache/weatherproof"]


def test_no_server(archive: Archive, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/mini.tar.gz"
    with pytest.raises(InputError, match=r"could not be downloaded .*refused.*; fetch http.* --data-dir or"):
        find_or_download("mini", replace(archive, address=address), None)
    assert everything_below(tmp_path) == ["cache", "cache/weatherproof"]


@pytest.mark.parametrize(
    "files",
    [{"another/one": b"1"}, {"mini-set/one": b"1", "../../evil": b"2"}, {"mini-set/one": b"1", "/evil": b"2"}],
    ids=["another folder", "above", "absolute"],
)
def test_archives_that_unpack_to_something_else(
    archive: Archive, server: Server, tmp_path: Path, files: dict[str, bytes]
) -> None:
    content = packed(files)
    server.reply = lambda handler: send(handler, content, len(content))
    expected = replace(archive, sha256=hashlib.sha256(content).hexdigest())
    if "/evil" in files:  # becomes a file evil in the scratch folder, which is thrown away
        assert everything_below(find_or_download("mini", expected, None).parent) == ["mini-set", "mini-set/one"]
    else:
        with pytest.raises(InputError, match="could not be downloaded"):
            find_or_download("mini", expected, None)
        assert everything_below(tmp_path) == ["cache", "cache/weatherproof"]


def test_a_cache_that_cannot_be_written(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(InputError, match="mini is not here and could not be downloaded"):
        find_or_download("mini", archive, None)


def test_the_order_in_which_places_are_looked_at(
    archive: Archive, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder that is named, then the environment's, then the cache; each only when the ones before lack it."""
    named, environment, cache = tmp_path / "named", tmp_path / "environment", user_cache()
    for home in (named, environment, cache):
        (home / "mini-set").mkdir(parents=True)
    monkeypatch.setenv("WEATHERPROOF_DATA", str(environment))
    assert find_or_download("mini", archive, named) == named / "mini-set"
    assert find_or_download("mini", archive, named / "mini-set") == named / "mini-set"
    assert find_or_download("mini", archive, None) == environment / "mini-set"
    (environment / "mini-set").rmdir()
    assert find_or_download("mini", archive, None) == cache / "mini-set"
    assert server.asked == 0


def test_a_folder_that_the_user_names_is_not_filled_behind_their_back(
    archive: Archive, server: Server, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"mini: there is no folder .*named/mini-set; unpack http.* there"):
        find_or_download("mini", archive, tmp_path / "named")
    assert server.asked == 0 and not (tmp_path / "named").exists()


def test_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert user_cache() == tmp_path / "cache" / "weatherproof"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert user_cache() == Path.home() / ".cache" / "weatherproof"
