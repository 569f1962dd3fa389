"""No circle of imports, also none that an import inside a function hides."""

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
    """Names that a module imports, but for those that only types need."""
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
            # A name is a module, or stands in the one before it.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_imports_itself_by_way_of_others() -> None:
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
