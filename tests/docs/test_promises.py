"""The page of promises: a test that it names exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith(("|---", "| promised |"))]


def test_there_are_rows() -> None:
    assert ROWS


@pytest.mark.parametrize("row", ROWS)
def test_a_promise_in_a_table_names_tests_that_exist(row: str) -> None:
    named = re.findall(r"`(tests/[^`]+)::([^`]+)`", row)
    assert named
    for file, function in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
