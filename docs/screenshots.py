"""Takes the pictures of the HTML report: ``python docs/screenshots.py`` writes docs/images/report-*.png.

Makes a branch in a copy of the project, previews it with the command itself, and opens the page in headless Chromium.
The fonts are this machine's. Where pngquant is on PATH, it makes the files small.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
EDITS = (
    ("stacks/Pulumi.prod.yaml", "modelyard:training: celery", "modelyard:training: ray"),
    ("stacks/Pulumi.dev.yaml", "model: A10", "model: L4"),
    ("stacks/Pulumi.staging.yaml", "maxReplicas: 2", "maxReplicas: 4"),
    ("patches/model-service/v2/patch.yaml.j2", "\nspec:\n", "\nspec:\n  minReadySeconds: 30\n"),
)
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
_DAY = "2026-11-21T09:00:00Z"


class Shot(NamedTuple):
    """One picture."""

    name: str
    section: str
    """What stands at the top of the window, empty for the page's own top."""
    size: tuple[int, int]
    address: str = ""
    """Behind the ``#``."""


SHOTS = (
    Shot("report-overview", "", (1200, 900)),
    Shot("report-topology", "topology", (1200, 620), "topology=prod"),
)


def branch(folder: Path) -> None:
    """A repository with a main branch, and the edits on top of it."""
    for name in ("stacks", "patches"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "--message=Begin")
    shutil.copytree(folder / "patches/model-service/v1", folder / "patches/model-service/v2")
    for file, old, new in EDITS:
        path = folder / file
        text = path.read_text(encoding="utf-8")
        if old not in text:
            sys.exit(f"error: {file} has no {old!r} any more")
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


def _git(folder: Path, *words: str) -> None:
    environment = {**os.environ, "GIT_AUTHOR_DATE": _DAY, "GIT_COMMITTER_DATE": _DAY}
    git = ["git", "-c", "user.name=docs", "-c", "user.email=docs@example.com", "-C", str(folder)]
    subprocess.run([*git, *words], env=environment, check=True)


def take(browser: Browser, page: Path, shot: Shot, file: Path) -> None:
    """One picture of the page."""
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
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--strip", "--speed=1", "--output", file, "64", file], check=True)


def main() -> None:
    """Takes them all."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("no Chromium on PATH: apt-get install chromium, or set CHROMIUM to its path")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        project, page = Path(folder) / "project", Path(folder) / "report.html"
        project.mkdir()
        branch(project)
        command = [ROOT / ".venv/bin/modelyard", "-C", project, "preview", "--base", "main", "--output", page]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if not page.is_file():
            sys.exit(done.stderr)
        browser = playwright.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        for shot in SHOTS:
            take(browser, page, shot, IMAGES / f"{shot.name}.png")
        browser.close()


if __name__ == "__main__":
    main()
