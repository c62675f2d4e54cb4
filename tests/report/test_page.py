"""What the page says, that it stands for itself, and that it can be trusted with anybody's names."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from reading import Element, read_page
from report_examples import clean_result, corrupted_result, metric

from weatherproof.corruptions.tables import CORRUPTIONS, EXTRA_CORRUPTIONS
from weatherproof.report import write_report
from weatherproof.report.page import TEMPLATE

LIMIT = 2_000_000  # bytes


@pytest.fixture
def page(tmp_path: Path) -> Any:
    """Writes a report and reads it: ``page(result, ..., names=[...])``."""

    def write(*results: dict[str, Any], **options: Any) -> Element:
        return read_page(write_report(results, tmp_path / "report.html", **options).read_text(encoding="utf-8"))

    return write


def heat_cells(table: Element) -> dict[tuple[str, str], Element]:
    """Cells by row and column title."""
    heads = [head.text.removeprefix("severity ") for head in table.one("thead").all("th")][1:]
    rows = [row for row in table.all("tr") if row.all("td") and "kind" not in (row.attributes.get("class") or "")]
    found = {}
    for row in rows:
        for head, cell in zip(heads, row.all("td"), strict=True):
            found[row.one("th").text.lower().replace(" ", "_"), head] = cell
    return found


def test_every_number_of_the_heat_map_is_that_of_the_result(page: Any) -> None:
    result = corrupted_result(corruptions=(*CORRUPTIONS, *EXTRA_CORRUPTIONS))
    cells = heat_cells(page(result).one("table", class_="heat"))
    values = {name: metric["value"] for name, metric in result["metrics"].items()}
    for name in (*CORRUPTIONS, *EXTRA_CORRUPTIONS):
        for column in ("1", "2", "3", "4", "5", "mean"):
            value = values[f"error/{name}" if column == "mean" else f"error/{name}/{column}"]
            cell = cells[name, column]
            assert cell.text == f"{value:.1f}"
            assert float(cell.attributes["data-v"] or "") == pytest.approx(value, rel=1e-7)
            assert f"{value:.2f}%" in (cell.attributes["title"] or "")
    for severity in "12345":
        assert cells["mean_of_the_15", severity].text == f"{values[f'error/severity/{severity}']:.1f}"
    assert cells["mean_of_the_15", "mean"].text == f"{values['mean_error']:.1f}"


def test_headline_numbers_come_with_intervals(page: Any) -> None:
    result = corrupted_result()
    tiles = page(result).one("dl", class_="tiles").text
    for name in ("clean_error", "mean_error"):
        found = result["metrics"][name]
        assert f"{found['value']:.1f} %" in tiles
        assert f"{found['low']:.1f}–{found['high']:.1f}" in tiles  # noqa: RUF001


def test_headline_numbers_of_several_classifiers(page: Any) -> None:
    results = [corrupted_result("runs/worse", 6), corrupted_result("runs/better", 3)]
    table = page(*results).one("section", id="standings").one("table")
    rows = table.one("tbody").all("tr")
    assert [row.one("th").text for row in rows] == ["better", "worse"]
    for row, result in zip(rows, reversed(results), strict=True):
        found = result["metrics"]
        values = [
            found[name]["value"] for name in ("clean_error", "mean_error", "error/group/noise", "error/group/blur")
        ]
        assert [cell.text.split()[0] for cell in row.all("td", class_="n")][:4] == [f"{value:.1f}" for value in values]


def test_further_numbers_and_protocol_are_there(page: Any) -> None:
    found = page({**corrupted_result(), "metrics": corrupted_result()["metrics"] | {"mce": metric("mce", 71.25)}})
    assert "7.12" in found.one("section", id="numbers").text
    assert "71.25" in found.one("section", id="numbers").text
    protocol = found.one("section", id="protocol").text
    assert all(
        words in protocol for words in ("photos10", "all 15", "procedural", "weatherproof evaluate runs/nominal")
    )


@pytest.mark.parametrize("results", [
    [corrupted_result()],
    [corrupted_result(), clean_result("runs/other"), corrupted_result("runs/c", corruptions=["fog"], severities=[3])],
    [clean_result()],
    [corrupted_result(data="cifar10", images=10_000)],
], ids=["one", "mixed", "clean", "published"])  # fmt: skip
def test_it_stands_for_itself(tmp_path: Path, results: list[dict[str, Any]]) -> None:
    text = write_report(results, tmp_path / "report.html").read_text(encoding="utf-8")
    found = read_page(text)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"data:image/[^\"]+", "", text))
    elements = [element for tag in ("img", "link", "a") for element in found.all(tag)]
    sources = [e.attributes[key] or "" for e in elements for key in ("src", "href") if key in e.attributes]
    assert sources
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert {link.removeprefix("#") for link in sources if link.startswith("#")} <= set(re.findall(r'id="(\w+)"', text))
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    digest = base64.b64encode(hashlib.sha256(found.one("script").children[0].encode()).digest()).decode()  # type: ignore[union-attr]
    (policy,) = (e.attributes["content"] or "" for e in found.all("meta") if "http-equiv" in e.attributes)
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert f"script-src 'sha256-{digest}';" in policy


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    results = [corrupted_result(), corrupted_result("runs/b", 4, seed=5)]
    first, second = (write_report(results, tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_the_script_is_small() -> None:
    lines = (TEMPLATE / "page.js").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip() and not line.startswith("//")]) < 150


def test_many_heavy_pictures_stay_below_two_megabytes(tmp_path: Path) -> None:
    results = [corrupted_result(f"runs/{i}", side=96, failures=24, seed=i) for i in range(4)]
    written = write_report(results, tmp_path / "report.html")
    assert written.stat().st_size < LIMIT
    pictures = read_page(written.read_text(encoding="utf-8")).one("main").all("img")
    assert len(pictures) == 4 * (1 + 75) + 4 * 8


def test_the_largest_page_stays_below_two_megabytes(tmp_path: Path) -> None:
    everything = (*CORRUPTIONS, *EXTRA_CORRUPTIONS)
    results = [
        corrupted_result(f"runs/{i}", side=32, failures=24, seed=i, corruptions=everything, data="cifar10")
        for i in range(16)
    ]
    written = write_report(results, tmp_path / "report.html", names=[f"{i}" + "x" * 500 for i in range(16)])
    assert written.stat().st_size < LIMIT
    assert "it leaves out what was shown to 4xxx" in written.read_text(encoding="utf-8")


def test_classifiers_that_saw_the_same_images_share_them(page: Any) -> None:
    found = page(corrupted_result(), corrupted_result("runs/b", 4))
    assert len(found.one("section", id="samples").all("img")) == 1 + 75
    apart = page(corrupted_result(), corrupted_result("runs/b", 4, seed=9))
    assert len(apart.one("section", id="samples").all("img")) == 2 * (1 + 75)


HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><b>", "{{ 7 * 7 }}", "'&amp;&lt;",
    "a\u202eb",    "\ud800", "</title><script>alert(1)</script>", "x" * 500,
)  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_only_words(page: Any, words: str) -> None:
    result = corrupted_result(
        words, classes=(words, words), corruptions=(*CORRUPTIONS, words), data=words, scale=words, frost=words,
    )  # fmt: skip
    result["metrics"][words] = metric(words, 3.0, unit=words)
    result["protocol"][words] = {words: words}
    result["suite"] = words
    for found in (
        page(result, names=[words]),
        page(result, corrupted_result("runs/b", data="cifar10"), names=[words, words]),
        page({**clean_result(words), "suite": words}),
    ):
        assert len(found.all("script")) == 1
        assert len(found.all("style")) == 1
        assert not [e for e in found.all("img") if not (e.attributes["src"] or "").startswith("data:")]
        attributes = {
            key for tag in ("img", "td", "th", "i", "figure", "button") for e in found.all(tag) for key in e.attributes
        }
        assert not [key for key in attributes if key.startswith("on")]
        shown = words.encode("utf-8", "replace").decode()
        assert shown in found.one("section", id="protocol").text.replace("  ", " ") or "  " in shown


def test_published_rows_stand_beside_a_result_under_their_protocol(page: Any) -> None:
    side = page(corrupted_result(data="cifar10", images=10_000)).one("section", id="side")
    rows = {row.one("th").text: row for row in side.one("tbody").all("tr")}
    assert len(rows) == 1 + 5 + 31 + 5
    ada = next(row for name, row in rows.items() if name.startswith("AdA (EDSR) + AugMix + DeepAugment"))
    assert [cell.text for cell in ada.all("td", class_="n")] == ["5.1", "7.8"]
    errors = [8.8, 7.8, 11.2, 5.9, 10.7, 7.3, 6.5, 8.5, 6.7, 8.7, 5.2, 6.2, 8.5, 7.7, 7.8]
    assert [float(cell.text) for cell in ada.all("td") if "title" in cell.attributes] == errors
    assert any("RobustBench: ResNet-18" in name for name in rows)
    means = [float(row.all("td", class_="n")[1].attributes["data-v"] or "") for row in side.one("tbody").all("tr")]
    assert means == sorted(means)


@pytest.mark.parametrize(("changes", "reason"), [
    ({"data": "photos10"}, "is about photos10"),
    ({"data": "cifar10", "split": "validation"}, "is about the validation split"),
    ({"data": "cifar10", "scale": "imagenet"}, "was measured at the imagenet scale"),
    ({"data": "cifar10", "severities": (1, 2)}, "is about a part of the corruptions"),
    ({"data": "cifar10", "recompressed": True}, "went through one more JPEG pass"),
])  # fmt: skip
def test_published_rows_stay_away_from_other_protocols(page: Any, changes: dict[str, Any], reason: str) -> None:
    found = page(corrupted_result(**changes))
    assert not found.all("section", id="side")
    assert f"No published results stand beside it: this result {reason}." in found.text
    assert "RobustBench" not in found.one("section", id="curves").text


def test_what_was_left_out_is_said(page: Any) -> None:
    part = page(
        corrupted_result(corruptions=["fog", "snow", "frost"], severities=[3, 5], limit=100, images=100, seed=0)
    )
    assert "Part of the corruptions only; 100 images only." in part.text
    limited = (
        page(corrupted_result(data="cifar10", images=500, limit=500)).one("section", id="side").one("tr", class_="ours")
    )
    assert "500 images only" in limited.text


def test_a_page_about_clean_images_is_short_and_says_what_is_next(page: Any) -> None:
    found = page(clean_result())
    assert "Wrong on 13.5 % of" in found.one("p", class_="lead").text.replace("%", " %").replace("  ", " ")
    assert not found.all("table", class_="heat")
    assert "weatherproof evaluate runs/nominal --data photos10 --suite corruptions" in found.text


def test_a_result_without_pictures_has_a_page(page: Any) -> None:
    found = page({**corrupted_result(), "pictures": {}})
    assert not found.one("main").all("img")
    assert not found.all("section", id="samples")


def test_few_metrics_are_enough(page: Any) -> None:
    metrics = {"error/fog/2": {"value": 12.0}, "speed": {"value": 3.0, "unit": "seconds"}}
    found = page({"suite": "mine", "metrics": metrics, "protocol": {}})
    assert "12.0" in found.one("table", class_="heat").text
    assert "3.00 seconds" in found.one("section", id="numbers").text
    assert "classifier 1" in found.one("h1").text
    assert page({"suite": "mine", "metrics": {"speed": {"value": 3.0, "unit": "seconds"}}, "protocol": {}}).one("h1")


def test_names(page: Any) -> None:
    def headings(*results: dict[str, Any], **options: Any) -> str:
        return str(page(*results, **options).one("h1").text)

    assert headings(corrupted_result(), corrupted_result("runs/b")) == "nominal and b"
    assert headings(corrupted_result(), corrupted_result()) == "nominal and nominal (2)"
    assert headings(corrupted_result(), corrupted_result(), names=["before", "after"]) == "before and after"
    assert headings(*[corrupted_result(f"runs/{i}") for i in range(5)]) == "5 classifiers"
    rows = [corrupted_result(f"results/desk/{row}/seed-0") for row in ("nominal", "ada")]
    assert headings(*rows) == "nominal seed-0 and ada seed-0"
    assert headings(corrupted_result(model=None), files=["results/mine.json"]) == "mine"  # type: ignore[arg-type]
