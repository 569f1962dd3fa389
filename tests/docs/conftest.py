"""The documentation's own scripts, as modules."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> ModuleType:
    """docs/NAME.py under a name that nothing else has."""
    known = f"modelyard_docs_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, ROOT / "docs" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[known] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[known]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def doc_script() -> Callable[[str], ModuleType]:
    return script


@pytest.fixture(scope="session")
def commands() -> ModuleType:
    return script("commands")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a page, and one a page that needs the lab."""
    if "page" in metafunc.fixturenames:
        found = script("commands").pages()
        metafunc.parametrize("page", found, ids=[path.relative_to(ROOT).as_posix() for path in found])
    if "lab_page" in metafunc.fixturenames:
        found = [path for path in script("commands").pages() if script("commands").needs_lab(path)]
        metafunc.parametrize("lab_page", found, ids=[path.relative_to(ROOT).as_posix() for path in found])
