"""Writes the types of the part of pulumi-aws that the components use: ``python typings/generate.py``.

The whole library has 270 MB of source, of which a type checker reads all for one import; that takes it ten minutes. The
stubs beside this file have the same signatures, taken from the source of the pinned version. A test makes them again.
"""

import ast
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COMPONENTS = HERE.parent / "modelyard" / "components"
HEAD = """# Made by typings/generate.py from the installed pulumi-aws.
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Optional, Union

import pulumi
"""


def library() -> Path:
    """The folder of the installed library, which is not imported for it."""
    spec = find_spec("pulumi_aws")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def used() -> Mapping[str, list[str]]:
    """By module of the library, the classes that the components name; those of no module by an empty name."""
    found: dict[str, set[str]] = {}
    for file in sorted(COMPONENTS.glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        modules = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "pulumi_aws"
            for alias in node.names
        }
        # Modules have small names.
        if classes := {name for name in modules if name[0].isupper()}:
            found.setdefault("", set()).update(classes)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                found.setdefault(node.value.id, set()).add(node.attr)
    return {module: sorted(names) for module, names in sorted(found.items())}


def stubs() -> Iterator[tuple[Path, str]]:
    """Every stub, by its path below this folder."""
    wanted = used()
    modules = [name for name in wanted if name]
    enums = wanted.get("", ())
    if unknown := set(enums) - _enums(library()):
        raise LookupError(f"the library has no {', '.join(sorted(unknown))}")
    lines = ["from enum import Enum\n\n"]
    lines += (f"from . import {name} as {name}\n" for name in modules)
    lines += (f"\n{_enum(name)}\n" for name in enums)
    yield Path("pulumi_aws/__init__.pyi"), "".join(lines)
    for module in modules:
        names = wanted[module]
        yield Path("pulumi_aws", f"{module}.pyi"), _stub(library() / module, names)


def _stub(folder: Path, names: list[str]) -> str:
    inputs, enums = _classes(folder / "_inputs.py"), _enums(folder)
    parts, queue, done = [], list(names), set[str]()
    while queue:
        name = queue.pop(0)
        if name in done:
            continue
        done.add(name)
        if name in enums:
            parts.append((name, _enum(name)))
            continue
        signature = _Signature(frozenset(inputs))
        made = inputs.get(name) or _resource(folder, name)
        parts.append((name, signature.of(made)))
        queue += sorted(signature.seen)
    return HEAD + "".join(f"\n{text}\n" for _, text in sorted(parts))


def _enums(folder: Path) -> set[str]:
    """Names of the enumerations of a module."""
    file = folder / "_enums.py"
    if not file.is_file():
        return set()
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)}


def _enum(name: str) -> str:
    """An enumeration of texts; nobody names its members, which are many."""
    return f"class {name}(str, Enum): ..."


def _classes(file: Path) -> dict[str, ast.ClassDef]:
    if not file.is_file():
        return {}
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {node.name: node for node in body if isinstance(node, ast.ClassDef) and node.name.endswith("Args")}


def _resource(folder: Path, name: str) -> ast.ClassDef:
    for file in sorted(folder.glob("[a-z]*.py")):
        text = file.read_text(encoding="utf-8")
        if f"\nclass {name}(" in text:
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    return node
    raise LookupError(f"{folder.name} has no {name}")


class _Signature(ast.NodeTransformer):
    """A class with its signature only; the types of other inputs that it names are kept in ``seen``."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self.seen: set[str] = set()

    def of(self, made: ast.ClassDef) -> str:
        functions = [node for node in made.body if isinstance(node, ast.FunctionDef)]
        resource = not made.name.endswith("Args")
        (init,) = (one for one in functions if one.name == ("_internal_init" if resource else "__init__"))
        lines = [f"class {made.name}{'(pulumi.CustomResource)' if resource else ''}:"]
        first = "resource_name: str, opts: Optional[pulumi.ResourceOptions] = ..., *" if resource else "*"
        arguments = [
            f"{argument.arg}: {self._text(argument.annotation)}{' = ...' if optional else ''}"
            for argument, optional in _arguments(init)
            if argument.annotation is not None and argument.arg not in ("resource_name", "opts")
        ]
        lines.append(f"    def __init__(__self__, {', '.join((first, *arguments))}) -> None: ...")
        for one in functions if resource else ():
            if one.returns is not None and any(
                ast.unparse(mark) in ("property", "_builtins.property") for mark in one.decorator_list
            ):
                lines += ["    @property", f"    def {one.name}(self) -> {self._text(one.returns)}: ..."]
        return "\n".join(lines)

    def _text(self, annotation: ast.expr | None) -> str:
        assert annotation is not None
        # The tree is of this file's source and nobody else's, so changing it in place is fine.
        return ast.unparse(self.visit(annotation)).replace("_builtins.", "")

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        if node.value in self._known:
            self.seen.add(node.value)
            return ast.Name(node.value)
        return ast.Name("Any")

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if ast.unparse(node.value) == "Union" and isinstance(node.slice, ast.Tuple):
            # A dictionary in the place of an input's class would be no name that anybody checks.
            kept = [one for one in node.slice.elts if not isinstance(one, ast.Constant) or one.value in self._known]
            if len(kept) < 2:
                return self.visit(kept[0]) if kept else ast.Name("Any")
            node.slice.elts = kept
        return self.generic_visit(node)


def _arguments(init: ast.FunctionDef) -> Iterator[tuple[ast.arg, bool]]:
    given = init.args
    plain = len(given.args) - len(given.defaults)
    yield from ((argument, index >= plain) for index, argument in enumerate(given.args))
    yield from (
        (argument, default is not None) for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    )


if __name__ == "__main__":
    for path, text in stubs():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_text(text, encoding="utf-8")
