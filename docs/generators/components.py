"""The page of the components' arguments, from their signatures, docstrings and the stack file's schema."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from generators.markdown import code, page, table
from generators.paths import ROOT
from generators.schema import Schema, default, form, resolved

_FOLDER = ROOT / "modelyard" / "components"
_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "ModelService": ("modelService", "target"),
    "RayCluster": (),
    "CeleryTraining": ("celery", "target"),
    "TrainingSwitch": ("target",),
    "Autoscaling": ("autoscaling",),
    "OtherTargets": (),
    "Platform": (),
    "RemoteCluster": ("cluster",),
}
"""The sections of the stack file whose keys are arguments of each component, as far as its type names them."""
_OWN_WORDS = {("autoscaling", "mode"), ("cluster", "controller"), ("cluster", "context")}
"""Keys that the schema describes for stack files only."""
_COLUMNS = ("argument", "value", "default", "meaning")
_AROUND = "Surroundings"
_LEFT_OUT = {"self", "name", "plan", "opts"}
Row = tuple[str, str, str, str]


def components() -> str:
    """The page of the components."""
    schema = json.loads((ROOT / "modelyard" / "stack" / "stack.schema.json").read_text(encoding="utf-8"))
    details: list[str] = []
    for name, sections in _SECTIONS.items():
        made = _classes(f"{_module(name)}.py")[name]
        details += [f"## {name}", "", _words((ast.get_docstring(made) or "").partition("\n\n")[0]), ""]
        rows = [*_own(made), *_of_type(made, sections, schema)]
        details += [*table(_COLUMNS, rows), ""] if rows else []
    around = _classes("arguments.py")[_AROUND]
    return page(
        "Components",
        "The arguments of the components of `modelyard.components`, for [Pulumi programs](../guides/components.md). "
        "Each component also takes a name, Pulumi's `opts` (not `Platform`), and the [surroundings](#surroundings) "
        "(not `RemoteCluster`).",
        "Names are the stack file's in snake_case: `gracePeriod` is `grace_period`, also in mappings such as `worker`. "
        "[Stack file](stack-file.md) explains the forms of values and the keys of sections.",
        details,
        "## Surroundings",
        _words(ast.get_docstring(around) or ""),
        table(_COLUMNS, _fields(around, {}).values()),
    )


def _module(name: str) -> str:
    """The module of a component, which has its name: ``ray_cluster`` for ``RayCluster``."""
    return re.sub(r"(?<=.)([A-Z])", r"_\1", name).lower()


def _classes(file: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse((_FOLDER / file).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _start(made: ast.ClassDef) -> ast.FunctionDef:
    return next(node for node in made.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")


def _own(made: ast.ClassDef) -> Iterator[Row]:
    """The arguments that a component names itself."""
    start = _start(made)
    described = dict(
        re.findall(r"^    (\w+): (.*)$", (ast.get_docstring(start) or "").partition("Args:")[2], re.MULTILINE)
    )
    for one, given in zip(start.args.kwonlyargs, start.args.kw_defaults, strict=True):
        if one.arg not in _LEFT_OUT and one.annotation is not None:
            value = "" if given is None else ast.unparse(given).strip("'")
            shown = "" if value in ("", "None") else code(value)
            yield code(one.arg), _form(ast.unparse(one.annotation)), shown, _words(described[one.arg])


def _of_type(made: ast.ClassDef, sections: Iterable[str], schema: Schema) -> Iterator[Row]:
    """The arguments in the type of a component's other arguments, first those that are keys of the stack file."""
    others = _start(made).args.kwarg
    assert others is not None
    assert others.annotation is not None
    known = {name: one for name, one in _classes("arguments.py").items() if name != _AROUND}
    kind = ast.unparse(others.annotation).removeprefix("Unpack[").removesuffix("]")
    fields = _fields(known[kind], known) if kind in known else {}
    for section in sections:
        for key, value in schema["$defs"][section]["properties"].items():
            own = fields.pop(_snake(key), None)
            if own is not None:
                inner = resolved(value, schema)
                row = code(_snake(key)), form(inner, schema), default(inner, False), inner.get("description", "")
                yield own if (section, key) in _OWN_WORDS else row
    yield from fields.values()


def _fields(made: ast.ClassDef, known: Mapping[str, ast.ClassDef]) -> dict[str, Row]:
    """The keys of a mapping, and of those among ``known`` that it extends."""
    bases = (one for one in map(ast.unparse, made.bases) if one in known)
    found = {key: row for base in bases for key, row in _fields(known[base], known).items()}
    for node, after in zip(made.body, [*made.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            docstring = (
                after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            )
            assert isinstance(docstring, str)
            name = ast.unparse(node.target)
            found[name] = code(name), _form(ast.unparse(node.annotation)), "", _words(docstring)
    return found


def _form(annotation: str) -> str:
    """A type in a few words."""
    kinds = []
    for one in annotation.split(" | "):
        match one:
            case "None":
                continue
            case "str":
                kinds.append("text")
            case "Path":
                kinds.append("path")
            case "BackendName":
                kinds.append("`ray`, `celery`")
            case _ if one.startswith("Literal"):
                kinds.append(", ".join(map(code, re.findall(r"'(\w+)'", one))))
            case _ if one.startswith("Sequence"):
                kinds.append("list of mappings")
            case _:
                kinds.append("mapping")
    return " or ".join(dict.fromkeys(kinds))


def _snake(key: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key)


def _words(text: str) -> str:
    """A docstring as Markdown, with links to the sections that it names."""
    plain = " ".join(text.split()).replace("``", "`")
    plain = plain[:1].upper() + plain[1:]
    return re.sub(r"section `(\w+)`", lambda found: f"section [`{found[1]}`](stack-file.md#{found[1].lower()})", plain)
