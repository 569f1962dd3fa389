"""A project that a test may fill with policies, and plans of the project's own stacks under them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from modelyard.findings import Finding
from tests.support.policy_project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def by_code() -> Callable[[tuple[Finding, ...], str], list[Finding]]:
    """The findings of one code."""
    return lambda findings, code: [finding for finding in findings if finding.code == code]
