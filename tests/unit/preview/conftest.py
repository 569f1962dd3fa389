"""The project's own stacks and patches in a git repository of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.git_repository import Repository


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository to copy, which takes less time than to make one."""
    return Repository(tmp_path_factory.mktemp("repository")).folder


@pytest.fixture
def repository(tmp_path: Path, begun: Path) -> Iterator[Repository]:
    found = Repository(tmp_path / "repository", begun=begun)
    yield found
    # Nothing is left of the other commit, neither in git nor on disk.
    assert found.git("worktree", "list").count("\n") == 1


@pytest.fixture
def nested(tmp_path: Path) -> Repository:
    """The project in a folder of a larger repository."""
    return Repository(tmp_path / "repository", "infra/ml")
