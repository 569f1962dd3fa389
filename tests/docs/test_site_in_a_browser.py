"""The site in a browser: from a folder on disk, without a network, light and dark, wide and narrow."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

pytestmark = pytest.mark.lab
PAGES = (
    "index",
    "quickstart",
    "guides/apply",
    "reference/stack-file",
    "reference/findings",
    "rules/GPU001",
    "ARCHITECTURE",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("Chromium is not on PATH")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=flags)
        yield started
        started.close()


@pytest.fixture
def requests() -> list[str]:
    return []


@pytest.fixture(params=[("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)], ids="{0[0]}-{0[1]}".format)
def tab(request: pytest.FixtureRequest, browser: Browser, requests: list[str]) -> Iterator[Page]:
    theme, width = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    page.on("request", lambda one: requests.append(one.url))
    yield page
    context.close()


def test_pages_are_accessible(tab: Page, site: Path, requests: list[str]) -> None:
    for name in PAGES:
        tab.goto((site / f"{name}.html").as_uri())
        tab.wait_for_load_state("load")
        wrong = [one for one in Axe().run(tab).response["violations"] if one["impact"] in ("serious", "critical")]
        assert [(name, one["id"], one["nodes"][0]["html"]) for one in wrong] == []
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than the window"
    assert {url.partition(":")[0] for url in requests} <= {"file", "data"}


def test_the_search_works_without_a_server(browser: Browser, site: Path) -> None:
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto((site / "guides" / "apply.html").as_uri())
    # The search reacts to keys, so the text must be typed.
    tab.locator(".md-search__input").press_sequentially("throughput is below", delay=20)
    link = tab.locator(".md-search-result__link", has_text="GPU001").first
    link.wait_for()
    link.click()
    tab.wait_for_url("**/rules/GPU001.html**")
    assert "GPU001" in tab.locator("h1").inner_text()
    tab.close()


def test_copying_a_console_block_copies_the_commands(browser: Browser, site: Path) -> None:
    tab = browser.new_page()
    tab.goto((site / "quickstart.html").as_uri())
    code = tab.locator(".language-console code").first
    assert "modelyard blame dev" not in code.inner_text()
    # The copy button marks the block before it reads it.
    copied = code.evaluate("one => (one.setAttribute('data-md-copying', ''), one.innerText.trim())")
    assert copied == "modelyard plan dev --target ray-model"
    tab.close()
