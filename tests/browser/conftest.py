"""A real browser and a real preview for the tests of the HTML report."""

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from modelyard.plan.cost.document import cost_to_json
from modelyard.plan.cost.values import Count, Money, TargetCost, stack_cost
from modelyard.report.html import html_page
from modelyard.report.preview.json import preview_document
from tests.unit.preview.conftest import Repository

Opened = Callable[..., Page]
"""Opens a page: the file, what stands behind its #, and options of the browser context."""

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


def chromium() -> str:
    """The browser's program. A machine without one fails these tests: they are not skipped over."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert found, "no Chromium on PATH: apt-get install chromium, or set CHROMIUM to its path"
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def document(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """A real preview: an error in dev, a larger bound in staging, prod moves to Ray, and a patch has a new version."""
    repository = Repository(tmp_path_factory.mktemp("preview"))
    repository.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L4")
    repository.edit("stacks/Pulumi.staging.yaml", "maxReplicas: 2", "maxReplicas: 4")
    repository.edit("stacks/Pulumi.prod.yaml", "modelyard:training: celery", "modelyard:training: ray")
    repository.patch_v2("model-service", "patch.yaml.j2", "cpu: {{ cpu }}", "cpu: {{ cpu }} ")
    made: Mapping[str, Any] = json.loads(json.dumps(preview_document(repository.preview())))
    return made


def priced(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same preview with a cost in two stacks, one of them a range."""
    found = copy.deepcopy(dict(document))
    for stack, most in ((0, 0), (1, 5)):
        amounts = [Money(Fraction(low), Fraction(low + most)) for low in (1, 3, 2)]
        pods = Count(1, 1 + most)
        target = TargetCost(
            "Deployment", "worker", (pods, pods), (pods, pods), (amounts[0], amounts[1]), amounts[2], (), ""
        )
        found["stacks"][stack]["cost"] = cost_to_json(stack_cost([target]))
    return found


def crowd(document: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The same changes in so many stacks."""
    found = copy.deepcopy(dict(document))
    originals = found["stacks"]
    found["stacks"] = []
    for change in found["changes"]:
        change["stacks"] = []
    for at in range(number):
        stack = copy.deepcopy(originals[at % len(originals)])
        stack["stack"] = f"team-{at:04}-{stack['stack']}"
        found["stacks"].append(stack)
        for target in stack["targets"]:
            found["changes"][target["change"]]["stacks"].append(stack["stack"])
    return found


@pytest.fixture(scope="session")
def report(document: Mapping[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the preview."""
    return written(document, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def large(document: Mapping[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of 1,000 stacks that all change."""
    return written(crowd(document, 1000), tmp_path_factory.mktemp("large"))


def written(document: Mapping[str, Any], folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text(html_page(document, title="modelyard preview: working tree against main"), encoding="utf-8")
    return file


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens pages in contexts of their own; whatever the browser complains of fails the test."""
    contexts = []
    complaints: list[str] = []

    def make(file: Path, shown: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _only(file, request.url, complaints))
        page.goto(f"{file.as_uri()}{'#' if shown else ''}{shown}")
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield make
    for context in contexts:
        context.close()
    assert not complaints


def _only(file: Path, url: str, complaints: list[str]) -> None:
    if url.partition("#")[0] != file.as_uri() and not url.startswith("data:"):
        complaints.append(f"loaded {url}")
