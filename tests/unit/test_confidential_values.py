"""Where values that may hold secrets are revealed."""

import ast
from pathlib import Path

import modelyard

ROOT = Path(modelyard.__file__).parent.parent
COMPUTING = (
    "components",
    "modelyard/cluster",
    "modelyard/engine",
    "modelyard/hiding",
    "modelyard/plan",
    "modelyard/runs",
)
"""Packages that merge, send or hide values; they print nothing."""
REVEALING = {
    "modelyard/policy/check.py": "rules judge whole objects; their findings are hidden",
    "modelyard/preview/compare.py": "restores the fields of an object that the head drops; the changes are hidden",
    "modelyard/preview/matrix.py": "compares fields of stacks; their values are hidden",
    "modelyard/preview/topology.py": "names, replicas and how pods refer to each other",
    "modelyard/probes/prometheus.py": "looks for characters that a header cannot have",
    "modelyard/report/rendered.py": "writes what is applied, as the docs say",
    "modelyard/servers.py": "sends credentials",
}
"""Other modules that reveal a value, and what for."""
INSTEAD = (
    "Pass the box on. hidden(), hidden_pair() and words_without() of modelyard.hiding take it and return what may be "
    "shown; hidden_objects() of modelyard.plan.secrets is a target's object before and after."
)


def reveals(file: Path) -> bool:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Attribute) and node.attr == "reveal" for node in ast.walk(tree))


def test_only_reviewed_modules_reveal_a_value() -> None:
    packages = ("components", "modelyard", "policies", "stacks")
    files = [file for package in packages for file in ROOT.glob(f"{package}/**/*.py")]
    names = {file.relative_to(ROOT).as_posix() for file in files if reveals(file)}
    others = {name for name in names if not name.startswith(COMPUTING)}
    assert sorted(others - REVEALING.keys()) == [], INSTEAD
    assert sorted(REVEALING.keys() - others) == [], "These modules reveal nothing any more: drop their entries."
