"""The prose linter: it checks pages and the texts of the program against the glossary."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.build import build_alone
from lab.errors import LabError
from lab.tools import VALE


@pytest.fixture(scope="module")
def vale() -> Path:
    try:
        return build_alone(VALE)
    except LabError as error:
        pytest.fail(str(error))


def _planted(root: Path, folder: Path, path: str, text: str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("docs/page.md", "# Page\n\nA node has a card.\n", 3),
        (
            "modelyard/report/x.py",
            '"""Texts."""\n\n\ndef said(name: str) -> str:\n    return f"{name} has no such card"\n',
            5,
        ),
        ("modelyard/report/x.py", '"""Texts.\n\nThe message is told once.\n"""\n', 3),
        ("modelyard/plan/x.schema.json", '{\n  "description": "What whoever reads it needs."\n}\n', 2),
        ("modelyard/explanations/X.md", "A training side is busy.\n", 1),
    ],
)
def test_a_planted_violation_is_found_at_its_line(
    doc_script: Callable[[str], Any], vale: Path, root: Path, tmp_path: Path, path: str, text: str, line: int
) -> None:
    (found,) = doc_script("prose").violations(_planted(root, tmp_path, path, text), vale)
    assert (found.path.as_posix(), found.line) == (path, line)


def test_words_in_code_are_not_violations(
    doc_script: Callable[[str], Any], vale: Path, root: Path, tmp_path: Path
) -> None:
    folder = _planted(root, tmp_path, "docs/page.md", "The key `card`.\n\n```text\ncard\n```\n")
    assert doc_script("prose").violations(folder, vale) == []
