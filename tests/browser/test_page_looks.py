"""How the report looks: accessibility, widths, both colour schemes, print, and a browser without scripts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.support.report_pages import Opened, priced, written

UNFOLD = "for (const one of document.querySelectorAll('main details')) one.open = true"
TOO_WIDE = """() => {
  const scrolls = (one) => one.closest('.scroll, .dock ol, .vh');
  const wide = (one) => one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one);
  return [...document.querySelectorAll('body *')].filter(wide).map((one) => one.outerHTML.slice(0, 120));
}"""
SPILLED = """() => {
  const inside = (text, box) =>
    text.left >= box.left && text.right <= box.right + 0.5 && text.top >= box.top && text.bottom <= box.bottom + 0.5;
  const spilled = (box) => {
    const frame = box.querySelector(':scope > rect').getBoundingClientRect();
    return [...box.querySelectorAll('text')].filter((one) => !inside(one.getBoundingClientRect(), frame));
  };
  return [...document.querySelectorAll('.box')].flatMap(spilled).map((one) => one.textContent);
}"""


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_no_violations(
    document: Mapping[str, Any], tmp_path: Path, opened: Opened, width: int, colours: str
) -> None:
    page = opened(
        written(priced(document), tmp_path),
        "open=dev",
        viewport={"width": width, "height": 900},
        color_scheme=colours,
    )
    page.evaluate(UNFOLD)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_axe_finds_no_violations_in_the_help(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.keyboard.press("?")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [1280, 1000, 800, 400, 320])
def test_nothing_is_cut_off(document: Mapping[str, Any], tmp_path: Path, opened: Opened, width: int) -> None:
    found = priced(document)
    found["stacks"][2]["stack"] = "a-name-that-is-much-longer-than-any-column-of-a-table-could-ever-be-00000012"
    page = opened(written(found, tmp_path), "open=dev", viewport={"width": width, "height": 900})
    page.evaluate(UNFOLD)
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [1280, 800, 400, 320])
def test_text_in_the_picture_fits_its_box_and_is_not_shortened(report: Path, opened: Opened, width: int) -> None:
    page = opened(report, viewport={"width": width, "height": 900})
    for stack in ("prod", "dev", "staging"):
        page.locator("#pictured").select_option(stack)
        expect(page.locator("figcaption").first).to_have_text(f"Before {stack}")
        assert page.evaluate(SPILLED) == []
        facts = page.locator(".box .fact").all_text_contents()
        assert facts
        assert not [fact for fact in facts if "…" in fact]


def test_the_first_column_of_the_versions_stays_in_view(report: Path, opened: Opened) -> None:
    page = opened(report, viewport={"width": 400, "height": 900})
    name = page.locator(".matrix tbody th").first
    cell = page.locator(".matrix tbody td").first
    before, moved = _left(page, name), _left(page, cell)
    page.locator(".scroll").evaluate("one => one.scrollLeft = 150")
    assert _left(page, name) == before
    assert _left(page, cell) == moved - 150


def _left(page: Page, locator: Any) -> float:
    return float(locator.evaluate("one => one.getBoundingClientRect().left"))


def test_colours_follow_the_system_until_the_reader_chooses(report: Path, opened: Opened) -> None:
    page = opened(report, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.keyboard.press("d")
    light = page.evaluate(ground)
    assert dark != light == "rgb(255, 255, 255)"
    page.reload()
    assert page.evaluate(ground) == light
    page.get_by_label("Colours").select_option("System")
    assert page.evaluate(ground) == dark


def test_reduced_motion_turns_transitions_off(report: Path, opened: Opened) -> None:
    moves = "getComputedStyle(document.querySelector('.family > summary'), '::before').transitionDuration"
    assert opened(report, reduced_motion="no-preference").evaluate(moves) == "0.1s"
    assert opened(report, reduced_motion="reduce").evaluate(moves) == "0s"


def test_a_printed_page_has_every_section_and_no_controls(report: Path, opened: Opened) -> None:
    page = opened(report)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".dock")).to_be_hidden()
    expect(page.locator("main details:not([open])")).to_have_count(0)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("main details:not([open])").count() > 0


def test_without_scripts_everything_but_the_picture_is_shown(report: Path, opened: Opened) -> None:
    page = opened(report, java_script_enabled=False)
    expect(page.get_by_text("1 stack cannot be applied")).to_be_visible()
    expect(page.locator("#findings").get_by_text("L4 is not supported")).to_be_visible()
    expect(page.get_by_role("rowheader", name="spec.replicas").first).to_be_visible()
    expect(page.locator("noscript p")).to_be_visible()
    for control in ("#filters", "#theme", "#help-open", "#pictured"):
        expect(page.locator(control)).to_be_hidden()


def test_names_that_look_like_markup_are_escaped(document: Mapping[str, Any], tmp_path: Path, opened: Opened) -> None:
    found = priced(document)
    hostile = "</script><img src=x onerror=alert(1)>"
    found["stacks"][0]["stack"] = hostile
    found["stacks"][0]["topology"]["places"][0]["name"] = hostile
    page = opened(written(found, tmp_path))
    page.get_by_role("button", name=hostile).click()
    page.locator("#pictured").select_option(hostile)
    assert page.locator("img").count() == 0
    expect(page.locator("#scenes")).to_contain_text("</script>")
