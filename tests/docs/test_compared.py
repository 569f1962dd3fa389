"""The comparison with other products: each row is complete and its command prints the expected text."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def compare(doc_script: Callable[[str], ModuleType]) -> ModuleType:
    return doc_script("compare")


@pytest.fixture(scope="module")
def place(compare: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a project in which the rows run one after another."""
    folder: Path = compare.project(tmp_path_factory.mktemp("compared"))
    return folder


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")


@pytest.mark.slow
def test_each_row_is_complete_and_its_commands_print_the_text(
    compared_row: Any, compare: ModuleType, place: Path, root: Path
) -> None:
    row = compared_row
    found = compare.problems(row, place)
    assert not found, "\n".join(found)
    assert row.feature
    assert row.here
    assert all(call.expect for call in row.calls)
    assert [bool(row.calls), bool(row.lab), row.missing].count(True) == 1
    assert bool(row.mutate) is not row.missing
    if row.mutate:
        assert (root / row.mutate.file).read_text(encoding="utf-8").count(row.mutate.old) == 1
        assert row.mutate.old != row.mutate.new
    if row.lab:
        file, _, test = row.lab.partition("::")
        assert file.startswith(("tests/lab/", "tests/components/test_aws_account"))
        assert test in functions(root / file)


def functions(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return (node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_row_names_are_unique(compare: ModuleType) -> None:
    names = [row.name for each in compare.compared() for row in each.rows]
    assert len(set(names)) == len(names)


def test_a_wrong_row_has_its_reason(compare: ModuleType, place: Path) -> None:
    row = next(row for each in compare.compared() for row in each.rows if row.calls)
    for change, said in (({"expect": ["nonsense"]}, "does not print 'nonsense'"), ({"exit": 3}, "exit code 0, not 3")):
        (found,) = compare.problems(row._replace(calls=[row.calls[0]._replace(**change)]), place)
        assert said in found
