"""Plans carry the real values of objects: what reads whole objects to show them hides secrets, or shows no value."""

import ast
from pathlib import Path

import modelyard

ROOT = Path(modelyard.__file__).parent
WHOLE = frozenset({"before", "after", "applied"})
"""Fields of a target that hold whole objects."""
HIDING = ("modelyard.hiding", "modelyard.plan.secrets")
SHOW_NO_VALUE = {
    "report/rendered.py": "writes what is applied, as the docs say",
    "report/terminal.py": "the number of containers",
    "cli/apply.py": "hands the objects to what hides them in the engine's messages",
    "cli/blame.py": "paths of fields; their values come from the trace, which hides them",
    "preview/stacks.py": "moves an object from one plan to the next",
    "preview/topology.py": "names, replicas and how pods refer to each other",
}
"""Modules that read whole objects without hiding anything, and why they may."""


def reads_whole_objects(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in WHOLE
        and isinstance(node.value, ast.Name)
        and node.value.id == "target"
        for node in ast.walk(tree)
    )


def hides(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.module in HIDING for node in ast.walk(tree))


def test_every_module_that_shows_whole_objects_of_a_plan_hides_their_secrets() -> None:
    open_doors = set()
    for folder in ("report", "cli", "preview"):
        for file in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(file.read_text())
            if reads_whole_objects(tree) and not hides(tree):
                open_doors.add(file.relative_to(ROOT).as_posix())
    assert open_doors == set(SHOW_NO_VALUE)
