"""A real browser and a real preview for the tests of the HTML report."""

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from modelyard.report.preview.json import preview_document
from tests.support.git_repository import Repository
from tests.support.report_pages import FLAGS, Opened, chromium, written


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def document(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """A real preview: an error in dev, a larger limit in staging, a switch of prod to Ray, and a new patch version."""
    repository = Repository(tmp_path_factory.mktemp("preview"))
    repository.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L4")
    repository.edit("stacks/Pulumi.staging.yaml", "maxReplicas: 2", "maxReplicas: 4")
    repository.edit("stacks/Pulumi.prod.yaml", "modelyard:training: celery", "modelyard:training: ray")
    repository.next_patch("model-service", "patch.yaml.j2", "cpu: {{ cpu }}", "cpu: {{ cpu }} ")
    made: Mapping[str, Any] = json.loads(json.dumps(preview_document(repository.preview())))
    return made


def crowd(document: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A preview with the changes of ``document`` in ``number`` stacks."""
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


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens each page in a new context; an error or warning of the browser fails the test."""
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
