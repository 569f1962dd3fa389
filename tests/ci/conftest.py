"""What all tests of the examples for CI systems share."""

from pathlib import Path

import pytest

from tests.support.git_repository import borrowing


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return borrowing(tmp_path_factory.mktemp("git"))


@pytest.fixture(autouse=True)
def lender(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New repositories borrow the project's files."""
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template))
