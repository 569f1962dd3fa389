"""Import cycles, including imports inside functions, are errors, and so are imports of test modules."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def modules() -> dict[str, Path]:
    found = {}
    for folder in ("modelyard", "components", "policies", "stacks", "lab"):
        for path in (ROOT / folder).rglob("*.py"):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


def imported(path: Path) -> Iterator[str]:
    """Yields the names that a module imports, except those for type annotations only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # A name is a module or belongs to the module before it.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_import_cycles() -> None:
    known = modules()
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        targets = {target if target in known else target.rpartition(".")[0] for target in imported(path)}
        graph[name] = {target for target in targets if target in known and target != name}
    assert len(graph) > 300
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from None


def test_promql_and_the_lab_import_no_other_packages() -> None:
    """Both could move to another repository (docs/decisions)."""
    known = modules()
    allowed = {"modelyard.promql": ("modelyard.promql", "modelyard.untrusted", "modelyard.findings"), "lab": ("lab",)}
    for package, own in allowed.items():
        for name, path in known.items():
            if name == package or name.startswith(f"{package}."):
                ours = {
                    target
                    for target in imported(path)
                    if target.split(".")[0] in ("modelyard", "components", "policies", "stacks", "lab")
                }
                assert {target for target in ours if not target.startswith(own)} == set(), name


def test_no_module_imports_a_test_module() -> None:
    """Move shared code of a test module or conftest to ``support/``."""
    folders = [ROOT / folder for folder in ("tests", "docs", "benchmarks", "lab")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    tests = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files if _is_test(path)}
    assert len(tests) > 200
    wrong = {
        str(path.relative_to(ROOT)): found
        for path in files
        if (found := tests & {part for name in imported(path) for part in (name, name.rpartition(".")[0])})
    }
    assert not wrong


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name == "conftest.py"
