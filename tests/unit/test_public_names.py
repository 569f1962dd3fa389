"""Public names are clear without their context, and no name is from the private vocabulary of earlier versions."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import modelyard

PACKAGE = Path(modelyard.__file__).parent
VAGUE = {"one", "found", "told", "said", "held", "looked", "there", "elsewhere"}
PRIVATE = {"told", "said", "handed", "looked", "far", "wish", "wishes", "let_go", "boxes"}
OUTPUT = {"DoctorCheck.found", "VerifyCheck.found"}
"""Names that are keys of JSON outputs."""
SECTIONS = {"Autoscaling", "ModelService", "Platform"}
"""Sections of a stack file, and the components that take their settings."""


def public_names(body: list[ast.stmt], outer: str = "") -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name) if not name.startswith("_"):
                yield outer + name
                yield from (f"{outer}{name}({each.arg})" for each in (*node.args.args, *node.args.kwonlyargs))
            case ast.ClassDef(name) if not name.startswith("_"):
                yield name
                yield from public_names(node.body, f"{name}.")
            case ast.AnnAssign(ast.Name(name)) if not name.startswith("_"):
                yield outer + name


def test_no_public_name_is_vague() -> None:
    names = {
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in PACKAGE.rglob("*.py")
        for name in public_names(ast.parse(file.read_text()).body)
        if name not in OUTPUT and name.rstrip(")").replace("(", ".").rpartition(".")[2].lower() in VAGUE
    }
    assert names == set()


def test_no_name_at_all_is_from_the_private_vocabulary() -> None:
    names = {
        f"{file.relative_to(PACKAGE)}:{node.lineno}: {name}"
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in _bound(node)
        if name.strip("_") in PRIVATE
    }
    assert names == set()


def test_each_name_of_a_type_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        for name in _types(ast.parse(file.read_text()).body):
            places.setdefault(name, []).append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in places.items() if len(files) > 1 and name not in SECTIONS} == {}


def _types(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The public classes and aliases of types in a module; type variables do not count."""
    for node in body:
        match node:
            case ast.ClassDef(name) if not name.startswith("_"):
                yield name
            case ast.Assign([ast.Name(name)], value) if name[0].isupper() and not name.isupper():
                if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"):
                    yield name


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node binds: a variable, an argument, a function, a class or an attribute."""
    match node:
        case ast.Name(name, ast.Store()) | ast.arg(name) | ast.FunctionDef(name) | ast.ClassDef(name):
            yield name
        case ast.Attribute(_, name, ast.Store()):
            yield name
