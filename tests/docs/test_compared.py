"""The page that compares feature by feature: every row says how, and names tests that there are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compared.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| what it has"))
]


def test_each_product_has_a_table() -> None:
    tables = re.findall(r"^## (\w+):", PAGE, re.MULTILINE)
    assert tables == ["Instabase", "Aizen", "Hopsworks", "Gemini"]
    assert PAGE.count("| what it has | how it is done here | the test |") == len(tables)
    assert len(ROWS) > 8 * len(tables)


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_row_is_whole_and_its_tests_exist(row: list[str]) -> None:
    assert len(row) == 3
    assert all(row)
    named = re.findall(r"`(tests/[^`]+)`", row[2])
    assert named
    for name in named:
        file, _, function = name.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert function in functions if function else any(each.startswith("test_") for each in functions)
