"""A stack with remote resources, which tests edit."""

from collections.abc import Callable

import pytest

from modelyard.stack import Stack, load_text
from tests.support.remote_stack import TEXT


@pytest.fixture
def text() -> str:
    """The stack's file."""
    return TEXT


@pytest.fixture
def stack() -> Callable[..., Stack]:
    """The stack with texts of its file replaced; each must be there."""

    def made(*changes: tuple[str, str]) -> Stack:
        text = TEXT
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        loaded, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
        assert loaded is not None, findings
        return loaded

    return made
