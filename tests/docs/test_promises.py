"""The page of promises names existing tests, and the security page names promises for each defense."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def rows(page: str, head: str) -> list[tuple[str, ...]]:
    """Returns the rows of the tables of a page whose header begins with a word."""
    found, inside = [], False
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        cells = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        if cells[:1] == (head,):
            inside = True
        elif not cells:
            inside = False
        elif inside and set(cells[0]) != {"-"}:
            found.append(cells)
    return found


PROMISES = rows("promises.md", "name")
DEFENCES = rows("security.md", "attack or accident")
NAMES = [name.strip("`") for name, *_ in PROMISES]


def test_promises_have_unique_names() -> None:
    assert PROMISES
    assert len(set(NAMES)) == len(NAMES)
    assert all(re.fullmatch(r"[a-z-]+", name) for name in NAMES)


@pytest.mark.parametrize("row", PROMISES, ids=NAMES)
def test_a_promise_names_tests_that_exist(row: tuple[str, ...]) -> None:
    _, promised, tests = row
    assert promised.endswith(".")
    named = re.findall(r"`(tests/[^`]+)::([^`]+)`", tests)
    assert named
    for file, function in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_security_page_has_only_tables_of_trust_and_of_attacks() -> None:
    """If you add a table of another kind, add a test for its defenses here."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    heads = re.findall(r"^(\|.*\|)\n\|[-|]+\|$", text, re.MULTILINE)
    assert {head.split("|")[1].strip() for head in heads} == {"who", "attack or accident"}
    assert len(DEFENCES) > 20


@pytest.mark.parametrize("row", DEFENCES, ids=lambda row: row[0])
def test_a_defence_names_promises_that_are_tested(row: tuple[str, ...]) -> None:
    _, _, promises = row
    named = re.findall(r"`([^`]+)`", promises)
    assert named
    assert set(named) <= set(NAMES)
