"""The page in a real browser, without a screen: what it does for pointers, keys, printers, phones and the dark."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from report_examples import clean_result, corrupted_result

from weatherproof.report import write_report
from weatherproof.report.colours import contrast

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow
WIDTHS = {"phone": 360, "desktop": 1280}
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium to look at pages with")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    long = "a-name-that-is-rather-long-and-has-no-spaces-at-all-in-it"
    contents = {
        "one": [corrupted_result()],
        "five": [corrupted_result(f"runs/{name}", 2 + i) for i, name in enumerate(("a", "b", "c", long, "e"))],
        "published": [corrupted_result("runs/mine", 2, data="cifar10", images=10_000)],
        "mixed": [corrupted_result(classes=(long, long)), clean_result(), corrupted_result(corruptions=["fog"])],
        "clean": [clean_result()],
    }
    return {name: write_report(results, folder / f"{name}.html") for name, results in contents.items()}


@pytest.fixture
def look(browser: Browser, pages: dict[str, Path]) -> Iterator[Open]:
    """Opens a page; at the end nothing may have been complained of, or asked of a network."""
    contexts, complaints, requests = [], [], []

    def look(name: str, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(pages[name].as_uri())
        return page

    yield look
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == len(contexts)


def names(table: Locator) -> list[str]:
    return [text.split("\n")[0] for text in table.locator("tbody tr:visible:not(.kind) > th").all_inner_texts()]


def values(table: Locator, column: int) -> list[float]:
    cells = table.locator(f"tbody tr:visible:not(.kind) > :nth-child({column})")
    return [float(cell.get_attribute("data-v") or "nan") for cell in cells.all()]


def test_a_heat_map_is_sorted_by_click_and_by_key(look: Open) -> None:
    table = look("one").locator("table.heat")
    original = names(table)
    head = table.locator("thead th").nth(5)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert values(table, 6) == sorted(values(table, 6), reverse=True)
    assert names(table)[0] == "Glass blur"
    assert len(names(table)) == 15
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert values(table, 6) == sorted(values(table, 6))
    head.get_by_role("button").press("Space")
    assert head.get_attribute("aria-sort") is None
    assert names(table) == original


def test_the_table_of_many_is_sorted_and_opened(look: Open) -> None:
    page = look("published")
    table = page.locator("#side table")
    assert len(names(table)) == 12
    page.get_by_label("All published rows").check()
    assert len(names(table)) == 42
    assert values(table, 4) == sorted(values(table, 4))
    page.get_by_role("button", name="Fog").click()
    column = 1 + [head.strip() for head in table.locator("thead tr").nth(1).locator("th").all_inner_texts()].index(
        "Fog"
    )
    assert values(table, column) == sorted(values(table, column))
    page.get_by_role("button", name="Classifier").last.click()
    assert names(table) == page.evaluate("names => names.sort((a, b) => a.localeCompare(b))", names(table))


def test_a_tooltip_for_the_pointer(look: Open) -> None:
    page = look("one")
    tip = page.locator("#tip")
    assert not tip.is_visible()
    page.locator("table.heat td[data-tip]").nth(3).hover()
    assert tip.is_visible()
    assert re.fullmatch(
        r"Gaussian noise, severity 4\n\d+\.\d\d% wrong\n95% interval .*\n1,000 images", tip.inner_text()
    )
    assert tip.locator("img").count() == 2
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator("#curves .stop").first.hover()
    assert tip.inner_text().startswith("Images as they are\nnominal: 13.5%")
    page.locator("h1").hover()
    assert not tip.is_visible()


def test_a_tooltip_stays_on_the_screen(look: Open) -> None:
    page = look("one", 360)
    for cell in page.locator("table.heat tr").nth(2).locator("td").all():
        cell.hover()
        box = page.locator("#tip").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["y"] >= 0


def test_the_keyboard_goes_from_figure_to_figure(look: Open) -> None:
    page = look("one")
    assert page.locator("table.heat [tabindex='0']").count() == 1
    page.locator("table.heat [tabindex='0']").focus()
    for key, heading in (
        ("ArrowRight", "Gaussian noise, severity 2"), ("ArrowDown", "Shot noise, severity 2"),
        ("ArrowDown", "Impulse noise, severity 2"), ("ArrowDown", "Defocus blur, severity 2"),
        ("ArrowLeft", "Defocus blur, severity 1"), ("ArrowLeft", "Defocus blur, severity 1"),
        ("ArrowUp", "Impulse noise, severity 1"),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert page.locator("#tip").inner_text().split("\n")[0] == heading
        assert page.locator(":focus").get_attribute("aria-describedby") == "tip"
    assert page.locator("table.heat [tabindex='0']").count() == 1
    page.keyboard.press("Tab")
    assert page.locator("table.heat :focus").count() == 0


def test_everything_can_be_reached_by_tab(look: Open) -> None:
    page = look("five")
    reached = set()
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.add(page.evaluate("(e => e.closest('section')?.id ?? e.parentElement.tagName)(document.activeElement)"))
    assert {"BODY", "NAV", "standings", "map", "curves", "side", "protocol"} <= reached


def test_one_curve_at_a_time(look: Open) -> None:
    page = look("five")
    choice = page.locator("#curves button").nth(1)
    choice.click()
    assert choice.get_attribute("aria-pressed") == "true"
    assert page.locator("#curves g.faint").count() == 15 * 4
    assert page.locator("#curves g[data-line='1'].faint").count() == 0
    choice.press("Enter")
    assert page.locator("#curves g.faint").count() == 0


READ = """() => [...document.querySelectorAll("body *")].flatMap((element) => {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.checkVisibility() || ["SCRIPT", "STYLE"].includes(element.tagName)) return [];
  let behind = element;
  while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
  return [[getComputedStyle(element).color, getComputedStyle(behind ?? document.body).backgroundColor]];
})"""


def contrasts(page: Page) -> dict[tuple[str, str], float]:
    """By colour of words and of what is behind them."""

    def colour(text: str) -> tuple[float, float, float]:
        red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", text)[:3])
        return red, green, blue

    pairs = {(ink, behind) for ink, behind in page.evaluate(READ)}
    return {(ink, behind): contrast(colour(ink), colour(behind)) for ink, behind in pairs}


@pytest.mark.parametrize("name", ["one", "five", "published", "clean"])
def test_words_can_be_read_in_the_light_and_in_the_dark(look: Open, name: str) -> None:
    page = look(name)
    shown = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = contrasts(page)
        assert min(found.values()) >= 4.5, min(found, key=lambda pair: found[pair])
        shown.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert shown[0] != shown[1]


def test_the_darkest_and_the_palest_change_places(look: Open) -> None:
    page = look("one")
    worst = page.locator("table.heat td[data-tip^='Glass blur, severity 5']")
    read = "element => getComputedStyle(element).backgroundColor"
    light = worst.evaluate(read)
    page.emulate_media(color_scheme="dark")
    assert worst.evaluate(read) != light
    page.emulate_media(color_scheme="dark", media="print")
    assert worst.evaluate(read) == light  # paper is never dark
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert min(contrasts(page).values()) >= 4.5


@pytest.mark.parametrize("name", ["one", "five", "published", "mixed", "clean"])
@pytest.mark.parametrize("width", [320, 375, 768, 1024, 1440])
def test_no_page_scrolls_sideways(look: Open, name: str, width: int) -> None:
    page = look(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # What is wider than the screen scrolls in a box of its own; nothing else sticks out.
    out = """width => [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility()
        && !element.closest(".scroller, .unseen, .skip, svg") && element.getBoundingClientRect().right > width + 1)
        .map((element) => element.outerHTML.slice(0, 80))"""
    assert page.evaluate(out, width) == []


def test_it_prints_on_a_few_sheets(look: Open) -> None:
    page = look("five")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#tip").is_visible()
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    assert 3 <= len(sheets) <= 8
    page.set_viewport_size({"width": 700, "height": 1000})  # about A4, less its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


@pytest.mark.parametrize("name", ["one", "published"])
def test_all_of_it_can_be_read_without_scripts(look: Open, name: str) -> None:
    with_script, without = look(name), look(name, java_script_enabled=False)
    assert without.locator("main").inner_text() == with_script.locator("main").inner_text()
    cell = without.locator("table.heat td[title]").first
    assert "Gaussian noise, severity 1" in (cell.get_attribute("title") or "")
    if name == "published":
        without.get_by_label("All published rows").check()
        assert len(names(without.locator("#side table"))) == 42


def test_a_screen_reader_finds_its_way(look: Open) -> None:
    page = look("five")
    assert page.get_by_role("heading", level=1).count() == 1
    levels = [int(tag[1]) for tag in page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(e => e.tagName)")]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.locator("img:not([alt])").count() == 0
    assert page.locator("table").count() == page.locator("table > caption").count()
    assert page.locator("th:not([scope])").count() == page.locator("th.plot").count()
    assert page.get_by_role("link", name="Side by side").count() == 1
    panel = page.locator(".panel").first
    assert (panel.get_attribute("aria-label") or "").startswith("Gaussian noise: mean error a ")
    assert page.get_by_role("img", name="Gaussian noise, severity 1").first.count() == 1
