"""Fixtures for tests of the documentation, and their parametrization by page."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.doc_scripts import ROOT, script


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def doc_script() -> Callable[[str], ModuleType]:
    return script


@pytest.fixture(scope="session")
def commands() -> ModuleType:
    return script("commands")


Build = Callable[[Path, Path], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def build() -> Build:
    """Builds the site strictly into a folder, with the settings of a file, in about four seconds of CPU."""

    def run(folder: Path, settings: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", settings, "--site-dir", folder]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "MODELYARD_DOCS_URL": ""}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def site(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    done = build(folder, ROOT / "mkdocs.yml")
    assert done.returncode == 0, done.stderr
    return folder


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test for each page, each page that needs the lab, and each row of the comparison with other products."""
    if "page" in metafunc.fixturenames:
        found = script("commands").pages()
        metafunc.parametrize("page", found, ids=[path.relative_to(ROOT).as_posix() for path in found])
    if "lab_page" in metafunc.fixturenames:
        found = [path for path in script("commands").pages() if script("commands").needs_lab(path)]
        metafunc.parametrize("lab_page", found, ids=[path.relative_to(ROOT).as_posix() for path in found])
    if "compared_row" in metafunc.fixturenames:
        rows = [row for each in script("compare").compared() for row in each.rows]
        metafunc.parametrize("compared_row", rows, ids=[row.name for row in rows])
