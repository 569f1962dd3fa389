"""Values that may contain secrets: reports get them confidential or hidden, and only reviewed modules reveal them."""

import ast
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import pytest

import modelyard
from modelyard.hiding import Confidential

ROOT = Path(modelyard.__file__).parent.parent
COMPUTING = tuple(
    f"modelyard/{one}/" for one in ("catalog", "cluster", "components", "engine", "hiding", "plan", "runs")
)
"""Packages that merge, send or hide values; they print nothing."""
REVEALING = {
    "modelyard/cli/job/logs.py": "picks the pods whose logs are read; shows their names",
    "modelyard/policy/check.py": "rules judge whole objects; their findings are hidden",
    "modelyard/preview/compare.py": "restores the fields of an object that the head drops; the changes are hidden",
    "modelyard/preview/matrix.py": "compares fields of stacks; their values are hidden",
    "modelyard/preview/promote.py": "writes values of one stack file into another; shows them hidden",
    "modelyard/preview/submitted.py": "compares the parameters of runs; the changes are hidden",
    "modelyard/preview/topology.py": "names, replicas and how pods refer to each other",
    "modelyard/probes/prometheus.py": "looks for characters that a header cannot have",
    "modelyard/report/job.py": "`job render` writes what is applied, as `render` does",
    "modelyard/report/rendered.py": "writes what is applied, as the docs say",
    "modelyard/servers.py": "sends credentials",
    "modelyard/workloads/discovery/discover.py": "names, images and sizes; quotes no argument and no value",
}
"""Other modules that reveal a value, and what for."""
INSTEAD = (
    "Pass the box on. hidden(), hidden_pair() and words_without() of modelyard.hiding take it and return what may be "
    "shown; hidden_objects() of modelyard.plan.secrets is a target's object before and after."
)


def reveals(file: Path) -> bool:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Attribute) and node.attr == "reveal" for node in ast.walk(tree))


def test_only_reviewed_modules_reveal_values() -> None:
    packages = ("components", "modelyard", "policies", "stacks")
    files = [file for package in packages for file in ROOT.glob(f"{package}/**/*.py")]
    names = {file.relative_to(ROOT).as_posix() for file in files if reveals(file)}
    others = {name for name in names if not name.startswith(COMPUTING)}
    assert sorted(others - REVEALING.keys()) == [], INSTEAD
    assert sorted(REVEALING.keys() - others) == [], "These modules reveal nothing any more: drop their entries."


PRINTING = ("modelyard.report", "modelyard.cli")
"""Packages whose functions receive the values that are shown."""
HIDDEN_WHERE_MADE = {
    "modelyard.engine.automation.EngineOutcome.outputs": "the engine's progress leaves out secret outputs",
    "modelyard.plan.drift.FieldDrift.applied": "hidden_change, hidden_field",
    "modelyard.plan.drift.FieldDrift.live": "hidden_change",
    "modelyard.plan.trace.Setting.value": "hidden_field",
    "modelyard.plan.trace.ParameterSource.value": "hidden_at",
    "modelyard.plan.trace.Trace.after": "hidden_change",
    "modelyard.plan.trace.Trace.before": "hidden_change",
    "modelyard.plan.undo.entries.Entry.before": "hidden_change",
    "modelyard.plan.undo.entries.Entry.now": "hidden_change",
    "modelyard.plan.values.FieldChange.after": "hidden_change",
    "modelyard.plan.values.FieldChange.before": "hidden_change",
    "modelyard.preview.matrix.Column.fields": "hidden_field; of the value itself a digest with a random key",
    "modelyard.preview.matrix.MatrixRow.values": "from Column.fields",
    "modelyard.report.fields.FieldItem.after": "from FieldChange",
    "modelyard.report.fields.FieldItem.before": "from FieldChange",
}
"""Fields of any type, and what hides their values."""
STACK_FILE = ("modelyard.stack.config.PatchChoice.params", "modelyard.stack.config.RuleChoice.params")
"""Settings of a stack file are plain: outputs show them by their names, which ``hidden_at`` judges."""


def modules(package: str) -> Iterator[ModuleType]:
    found = importlib.import_module(package)
    yield found
    for one in pkgutil.iter_modules(found.__path__, f"{package}."):
        yield from modules(one.name) if one.ispkg else [importlib.import_module(one.name)]


@cache
def names_in(module: str) -> dict[str, Any]:
    """Returns the names of a module, including those that it imports only for annotations."""
    found = sys.modules[module]
    names = dict(vars(found))
    for node in ast.parse(Path(str(found.__file__)).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module, "exec"), names)
    return names


def hints_of(one: type | FunctionType) -> dict[str, Any]:
    names = names_in(one.__module__)
    return get_type_hints(one, names, names)


def any_fields(roots: list[Any]) -> set[str]:
    """Returns the fields below these types that may have any value and are not confidential."""
    found: set[str] = set()
    seen: set[type] = set()
    waiting = [("", root) for root in roots]
    while waiting:
        place, hint = waiting.pop()
        if hint in (Any, object) and place:
            found.add(place)
        elif isinstance(hint, type) and hint.__module__.startswith(("modelyard.", __name__)):
            if hint not in seen and hint is not Confidential:
                seen.add(hint)
                name = f"{hint.__module__}.{hint.__qualname__}"
                waiting += [(f"{name}.{field}", inner) for field, inner in hints_of(hint).items()]
        elif get_origin(hint) is not Confidential:
            # For a function, its result.
            parts = get_args(hint)[-1:] if get_origin(hint) is Callable else get_args(hint)
            waiting += [(place, part) for part in parts]
    return found


def received() -> list[Any]:
    """Returns the types in the signatures of all functions that print."""
    functions = [
        one
        for package in PRINTING
        for module in modules(package)
        for one in list(vars(module).values())
        if isinstance(one, FunctionType) and one.__module__ == module.__name__
    ]
    return [hint for one in functions for hint in hints_of(one).values()]


def test_values_for_reports_are_confidential_or_hidden() -> None:
    found = any_fields(received())
    known = {*HIDDEN_WHERE_MADE, *STACK_FILE}
    assert sorted(found - known) == [], "Make the field Confidential, or hide its value where it is made."
    assert sorted(known - found) == [], "These fields are gone or confidential: drop their entries."


class Inner(NamedTuple):
    body: dict[str, Any]
    box: Confidential[dict[str, Any]]
    name: str


class Outer(NamedTuple):
    inner: tuple["Inner | None", ...]
    act: Callable[[Any], None]


@pytest.mark.parametrize("hint", [Outer, tuple[Outer, ...], dict[str, Outer | None]])
def test_a_field_of_any_type_is_found_in_nested_values(hint: Any) -> None:
    assert any_fields([hint]) == {f"{__name__}.Inner.body"}
