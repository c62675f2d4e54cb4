"""What cannot be shown is refused with one sentence that says what came, and nothing is written."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_examples import corrupted_result, picture

from weatherproof.cli.main import main
from weatherproof.errors import InputError
from weatherproof.report import write_report

Change = Callable[[dict[str, Any]], Any]
GOOD = corrupted_result(corruptions=["fog", "snow"], severities=[1, 2])


def put(*keys: Any) -> Change:
    """Sets the value of nested keys: ``put("metrics", "clean_error", "value", 3)``."""

    def change(result: dict[str, Any]) -> None:
        inner: Any = result
        for key in keys[:-2]:
            inner = inner[key]
        inner[keys[-2]] = keys[-1]

    return change


def fog(uri: str) -> Change:
    """Sets a sample."""
    return put("pictures", "samples", "fog", "1", uri)


def drop(key: str, place: int) -> Change:
    """Takes a key from a failure."""
    return lambda result: result["pictures"]["failures"][place].pop(key)


def huge() -> str:
    """The head of a PNG of 60,000 pixels a side."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")

    size = (60_000).to_bytes(4, "big")
    png = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", 2 * size + b"\x08\x02\0\0\0")
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()


BAD: dict[str, tuple[Change, str]] = {
    "no suite": (lambda r: r.pop("suite"), "has no 'suite'; wanted a result that weatherproof evaluate -o wrote"),
    "no metrics": (lambda r: r.pop("metrics"), "has no 'metrics'"),
    "no protocol": (lambda r: r.pop("protocol"), "has no 'protocol'"),
    "a comparison": (lambda r: r.update(comparisons=[]), "is what weatherproof compare wrote"),
    "empty metrics": (put("metrics", {}), "holds no metrics"),
    "metrics as a list": (put("metrics", [1]), "'metrics' is a list"),
    "a bare number": (put("metrics", "clean_error", 3.0), "metric clean_error has no finite value"),
    "NaN": (put("metrics", "mean_error", "value", float("nan")), "metric mean_error has no finite value"),
    "infinity": (put("metrics", "mean_error", "value", float("inf")), "metric mean_error has no finite value"),
    "beyond any float": (put("metrics", "mean_error", "value", 10**400), "metric mean_error has no finite value"),
    "text": (put("metrics", "mean_error", "value", "39"), "metric mean_error has no finite value"),
    "true": (put("metrics", "mean_error", "value", True), "metric mean_error has no finite value"),
    "no value": (lambda r: r["metrics"]["mean_error"].pop("value"), "metric mean_error has no finite value"),
    "NaN interval": (put("metrics", "mean_error", "low", float("nan")), "has an interval that is not finite"),
    "an error of 140%": (put("metrics", "error/fog/1", "value", 140.0), "metric error/fog/1 is 140"),
    "an error of -1%": (put("metrics", "clean_error", "value", -1), "an error lies between 0 and 100%"),
    "pictures as a list": (put("pictures", [1]), "'pictures' is a list"),
    "samples by name": (put("pictures", "samples", "fog", {"a": picture(0)}), "the samples of fog are not pictures by"),
    "no data URI": (fog("fog.png"), "the sample of fog at severity 1 is not a data:image/png"),
    "another site": (fog("http://x/y.png"), "is not a data:image/png"),
    "not base64": (fog("data:image/png;base64,%%%"), "is a broken PNG"),
    "half a PNG": (fog(picture(0, 64)[:4000]), "is a broken PNG"),
    "SVG in disguise": (fog("data:image/png;base64,PHN2Zy8+"), "is a broken PNG"),
    "too large": (put("pictures", "clean", [picture(0, 1100)]), "the clean picture is 1100 x 1100; at most 1024"),
    "a bomb": (put("pictures", "clean", [huge()]), "the clean picture is "),
    "failures as text": (put("pictures", "failures", "none"), "'failures' is a str"),
    "a failure without confidence": (drop("confidence", 1), "failure 2 lacks a confidence"),
    "a failure without picture": (drop("image", 0), "failure 1, the picture is not a"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_result_is_refused(tmp_path: Path, case: str) -> None:
    change, wanted = BAD[case]
    result = copy.deepcopy(GOOD)
    change(result)
    with pytest.raises(InputError) as caught:
        write_report([GOOD, result], tmp_path / "report.html", files=["good.json", "bad.json"])
    sentence = str(caught.value)
    assert sentence.startswith("bad.json")
    assert wanted in sentence
    assert "\n" not in sentence
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("results", "options", "wanted"), [
    ([], {}, "at least one result"),
    (GOOD, {}, "a list of results; got a dict"),
    ([[GOOD]], {}, "the result is a list"),
    ([None], {}, "the result is a NoneType"),
    ([GOOD, 3], {}, "result 2 is a int"),
    ([GOOD] * 17, {}, "there are 17 results; a page that can be read holds at most 16"),
    ([GOOD], {"names": ["a", "b"]}, "there are 1 results, but 2 names"),
    ([GOOD], {"names": ["  "]}, "the name for the result is empty"),
])  # fmt: skip
def test_bad_calls(tmp_path: Path, results: Any, options: dict[str, Any], wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        write_report(results, tmp_path / "report.html", **options)


def test_a_page_that_was_there_stays_when_the_next_cannot_be_written(tmp_path: Path) -> None:
    target = write_report([GOOD], tmp_path / "report.html")
    before = target.read_bytes()
    with pytest.raises(InputError):
        write_report([{}], target)
    assert target.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; wanted the name of a file"):
        write_report([GOOD], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write_report([GOOD], tmp_path / "file" / "report.html")


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "a.json", tmp_path / "[b].json"]
    for file in files:
        file.write_text(json.dumps(GOOD))
    page = tmp_path / "deep" / "[page].html"
    assert main(["report", *map(str, files), "-o", str(page), "--names", "before, after"]) == 0
    assert "[page].html is written" in capsys.readouterr().out.replace("\n", "")
    assert "<h1>before and after</h1>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("content", "arguments", "wanted"), [
    ("{", [], "cannot read result.json"),
    ('{"suite": "x", "protocol": {}, "metrics": {"a": {"value": NaN}}}', [], "metric a has no finite value"),
    ("[]", [], "result.json is a list"),
    (json.dumps(GOOD), ["--names", "a,b"], "there are 1 results, but 2 names"),
    (json.dumps(GOOD), ["--names", ""], "the name for result.json is empty"),
    (json.dumps(GOOD), ["-o", "result.json"], "the page would replace the result"),
    (json.dumps(GOOD), ["-o", "."], "is a folder"),
    (json.dumps(GOOD), ["missing.json"], "cannot read missing.json"),
])  # fmt: skip
def test_the_command_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: str,
    arguments: list[str], wanted: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "result.json").write_text(content)
    assert main(["report", "result.json", *arguments]) == 2
    assert wanted in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
    assert (tmp_path / "result.json").read_text() == content
