"""Takes the pictures of the HTML report: ``python docs/screenshots.py`` writes docs/images/report-*.png.

Makes a branch in a copy of the project, previews it with the command itself, and opens the page in headless Chromium.
Uses this machine's fonts. If pngquant is on PATH, it shrinks the files.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from generators.branches import Copy, Edit, branch  # noqa: E402

from tests.support.report_pages import FLAGS, chromium  # noqa: E402

IMAGES = ROOT / "docs" / "images"
CHANGES = (
    Copy("patches/model-service/v1", "patches/model-service/v3"),
    Edit("stacks/Pulumi.prod.yaml", "modelyard:training: celery", "modelyard:training: ray"),
    Edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L4"),
    Edit("stacks/Pulumi.staging.yaml", "maxReplicas: 2", "maxReplicas: 4"),
    Edit("patches/model-service/v3/patch.yaml.j2", "\nspec:\n", "\nspec:\n  minReadySeconds: 30\n"),
)


class Shot(NamedTuple):
    """One picture."""

    name: str
    section: str
    """Section at the top of the window; empty for the top of the page."""
    size: tuple[int, int]
    address: str = ""
    """The part after ``#``."""


SHOTS = (
    Shot("report-overview", "", (1200, 900)),
    Shot("report-topology", "topology", (1200, 620), "topology=prod"),
)


def take(browser: Browser, page: Path, shot: Shot, file: Path) -> None:
    """Takes one picture of the page."""
    width, height = shot.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="light",
        device_scale_factor=1.5,
        reduced_motion="reduce",
    )
    view = context.new_page()
    view.goto(f"{page.as_uri()}#{shot.address}" if shot.address else page.as_uri())
    view.wait_for_selector("html[data-ready]", state="attached")
    if shot.section:
        view.evaluate("name => document.getElementById(name).scrollIntoView()", shot.section)
        view.wait_for_timeout(100)
    view.screenshot(path=file)
    context.close()
    shrink(file)


def shrink(picture: Path) -> None:
    """Makes the file of a picture smaller, if pngquant is there."""
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--strip", "--speed=1", "--output", picture, "64", picture], check=True)


def main() -> None:
    """Takes all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        project, page = Path(folder) / "project", Path(folder) / "report.html"
        project.mkdir()
        branch(project, CHANGES)
        command = [ROOT / ".venv/bin/modelyard", "-C", project, "preview", "--base", "main", "--out", page]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if not page.is_file():
            sys.exit(done.stderr)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for shot in SHOTS:
            take(browser, page, shot, IMAGES / f"{shot.name}.png")
        browser.close()


if __name__ == "__main__":
    main()
