"""Text that is read in review: files below ``tests/golden``, which ``make golden`` writes again.

A file is whole, or has a section for each test of a module under the test's name.
"""

import os
import re
from collections.abc import Container, Mapping
from difflib import unified_diff
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def hold(name: str, made: str) -> None:
    """Compares the text that a test made with a file below ``tests/golden``; writes the file if ``GOLDEN=write``."""
    path = GOLDEN / name
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    lines = unified_diff(_read(name).splitlines(), made.splitlines(), f"tests/golden/{name}", "made", lineterm="")
    assert made == _read(name), "\n".join(("make golden writes it again; read the difference in review", *lines))


def hold_section(name: str, section: str, made: str) -> None:
    """Compares the text that a test made with its section of a file."""
    hold(name, _joined({**_sections(name), section: made}))


def hold_no_more_than(name: str, tests: Container[str]) -> None:
    """Compares a file with itself without the sections of other tests; writing it removes those."""
    hold(name, _joined({section: made for section, made in _sections(name).items() if section in tests}))


def _sections(name: str) -> dict[str, str]:
    _, *parts = re.split(r"\n?^=== (.+)\n", _read(name), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _joined(sections: Mapping[str, str]) -> str:
    return "\n".join(f"=== {section}\n{made}" for section, made in sorted(sections.items()))


def _read(name: str) -> str:
    path = GOLDEN / name
    return path.read_text(encoding="utf-8") if path.exists() else ""
