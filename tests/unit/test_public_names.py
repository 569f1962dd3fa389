"""Public names are clear without their context."""

import ast
from collections.abc import Iterator
from pathlib import Path

import modelyard

PACKAGE = Path(modelyard.__file__).parent
VAGUE = {"one", "found", "told", "said", "held", "looked", "there", "elsewhere"}
OUTPUT = {"Check.found"}
"""Names that are keys of JSON outputs."""


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
