"""What the tests of stack files share."""

from types import SimpleNamespace

import pytest

from modelyard.findings import Finding
from modelyard.stack import Stack, load_text

FILE = "stacks/Pulumi.dev.yaml"
BASE = """\
config:
  modelyard:platform: {release: "23.10"}
  modelyard:gpu: {model: A10}
"""


def with_lines(*lines: str) -> str:
    """The smallest stack file with more lines of config; the first of them is line 4."""
    return BASE + "".join(f"  {line}\n" for line in lines)


def loaded(text: str | bytes) -> Stack:
    """The stack of a text without findings."""
    stack, findings = load_text(text, "dev", FILE)
    assert findings == ()
    assert stack is not None
    return stack


def refused(text: str | bytes) -> tuple[Finding, ...]:
    """The findings about a text that gives no stack."""
    stack, findings = load_text(text, "dev", FILE)
    assert stack is None
    assert findings
    assert all(finding.blocks and finding.file == FILE and finding.stack == "dev" for finding in findings)
    return findings


@pytest.fixture(scope="session")
def stackfiles() -> SimpleNamespace:
    return SimpleNamespace(FILE=FILE, BASE=BASE, with_lines=with_lines, loaded=loaded, refused=refused)
