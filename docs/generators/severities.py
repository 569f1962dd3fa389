"""The severities that the program gives each finding code, read from its source.

A code is in the call that makes its finding, or in a table. The severity is in the same call or tuple, or otherwise in
the called function.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from generators.paths import ROOT

ORDER = ("error", "warning", "advice")
_CODE = re.compile(r"[A-Z]{3}\d{3}")
_ERRORS = {"TextProblem", "NotebookProblem", "GpuProblem", "QueryProblem", "Mistake", "QueryMistake", "Failed"}
"""Classes whose values are errors, unless the call gives a severity or marks them as harmless."""


class Module(NamedTuple):
    """One file of the source."""

    tree: ast.Module
    constants: dict[str, str]
    """Codes by constant name."""
    functions: dict[str, ast.FunctionDef]
    methods: dict[str, ast.FunctionDef]


def severities(root: Path = ROOT / "modelyard") -> dict[str, tuple[str, ...]]:
    """The severities of every code in a call of the source, most severe first; empty if none is found."""
    modules = {path: _module(path) for path in sorted(root.rglob("*.py"))}
    named = {path.stem: module.constants for path, module in modules.items() if module.constants}
    functions = {name: found for module in modules.values() for name, found in module.functions.items()}
    gathered: dict[str, set[str]] = {}
    for module in modules.values():
        constants = module.constants | _imported(module.tree, named)
        for node in ast.walk(module.tree):
            for argument in _parts(node):
                for code in _codes(argument, constants, named):
                    found = set(_severities(node)) or set(
                        _of_callee(node, {**functions, **module.functions}, module.methods)
                    )
                    gathered.setdefault(code, set()).update(found)
    return {code: tuple(one for one in ORDER if one in found) for code, found in sorted(gathered.items())}


def _module(path: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str) and _CODE.fullmatch(node.value.value)
    }
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return Module(tree, constants, _functions(tree.body), _functions(part for node in classes for part in node.body))


def _imported(tree: ast.Module, named: dict[str, dict[str, str]]) -> dict[str, str]:
    """The codes that a module imports from others, by constant name."""
    return {
        (one.asname or one.name): known[one.name]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for known in (named.get((node.module or "").rpartition(".")[2], {}),)
        for one in node.names
        if one.name in known
    }


def _functions(body: Iterable[ast.stmt]) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def _codes(node: ast.AST, own: dict[str, str], named: dict[str, dict[str, str]]) -> Iterator[str]:
    """The codes that an argument is, or chooses between."""
    match node:
        case ast.Constant(value=str(text)) if _CODE.fullmatch(text):
            yield text
        case ast.Name(id=name) if name in own:
            yield own[name]
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in named.get(module, {}):
            yield named[module][name]
        case ast.IfExp(body=first, orelse=second):
            yield from (*_codes(first, own, named), *_codes(second, own, named))


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """The arguments of a call, or the items of a tuple."""
    match node:
        case ast.Call():
            yield from (*node.args, *(keyword.value for keyword in node.keywords))
        case ast.Tuple():
            yield from node.elts


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    """The values that a conditional expression chooses between, or the expression itself."""
    if isinstance(node, ast.IfExp):
        yield from (*_choices(node.body), *_choices(node.orelse))
    else:
        yield node


def _severities(node: ast.AST) -> Iterator[str]:
    """The severities in a call or tuple."""
    written = [
        one.attr.lower()
        for argument in _parts(node)
        for one in _choices(argument)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "Severity"
    ]
    yield from written
    if not written and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ERRORS:
        harmless = any(word.arg == "harmless" and getattr(word.value, "value", False) for word in node.keywords)
        yield "warning" if harmless else "error"


def _of_callee(
    node: ast.AST, functions: dict[str, ast.FunctionDef], methods: dict[str, ast.FunctionDef]
) -> Iterator[str]:
    """The severities in the called function or method of the same file, from the calls in its own body."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in functions:
            called = functions[name]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name in methods:
            called = methods[name]
        case _:
            return
    for inner in ast.walk(called):
        if isinstance(inner, ast.Call):
            yield from _severities(inner)
