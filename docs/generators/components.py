"""The page of the components' arguments, from their signatures, docstrings and the stack file's schema."""

import ast
import json
import re
from collections.abc import Iterator, Mapping

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
"""The sections of the stack file whose keys are arguments of each component; ``target`` has two names for all."""
_COLUMNS = ("argument", "value", "default", "meaning")
_LEFT_OUT = {"self", "name", "plan", "opts"}
Row = tuple[str, str, str, str]


def components() -> str:
    """The page of the components."""
    schema = json.loads((ROOT / "modelyard" / "stack" / "stack.schema.json").read_text(encoding="utf-8"))
    details: list[str] = []
    for name, sections in _SECTIONS.items():
        made = _classes(f"{_module(name)}.py")[name]
        details += [f"## {name}", "", _words((ast.get_docstring(made) or "").partition("\n\n")[0]), ""]
        rows = [*_own(made), *(row for section in sections for row in _of_section(section, schema))]
        if name == "RemoteCluster":
            taken = {row[0] for row in rows}
            rows += (row for row in _fields(_classes("arguments.py")["RemoteClusterArgs"]) if row[0] not in taken)
        details += [*table(_COLUMNS, rows), ""] if rows else []
    around = _classes("arguments.py")["Surroundings"]
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
        table(_COLUMNS, _fields(around)),
    )


def _module(name: str) -> str:
    """The module of a component, which has its name: ``ray_cluster`` for ``RayCluster``."""
    return re.sub(r"(?<=.)([A-Z])", r"_\1", name).lower()


def _classes(file: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse((_FOLDER / file).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _own(made: ast.ClassDef) -> Iterator[Row]:
    """The arguments that a component names itself."""
    start = next(node for node in made.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    said = dict(re.findall(r"^    (\w+): (.*)$", (ast.get_docstring(start) or "").partition("Args:")[2], re.MULTILINE))
    for one, given in zip(start.args.kwonlyargs, start.args.kw_defaults, strict=True):
        if one.arg not in _LEFT_OUT and one.annotation is not None:
            value = "" if given is None else ast.unparse(given).strip("'")
            shown = "" if value in ("", "None") else code(value)
            yield code(one.arg), _form(ast.unparse(one.annotation)), shown, _words(said[one.arg])


def _of_section(section: str, schema: Schema) -> Iterator[Row]:
    """The arguments that are keys of a section of the stack file."""
    found = schema["$defs"][section]
    for key, value in found["properties"].items():
        if key in ("credentials", "credentialsSecret"):
            continue  # Only for the command line, which makes a kubeconfig of them.
        if section == "target" and key in ("rayCluster", "rayService", "group"):
            continue  # Only Ray's head and workers can be in one.
        if (section, key) == ("autoscaling", "mode"):
            meaning = "annotations: the platform's own autoscaler; keda: ScaledObjects that the component owns."
            yield code("mode"), "`annotations`, `keda`", code("annotations"), meaning
        elif (section, key) == ("cluster", "context"):
            yield code("context"), "text", "", "Kubeconfig context of the remote cluster."
        elif key != "gpu":
            inner = resolved(value, schema)
            yield code(_snake(key)), form(inner, schema), default(inner, False), inner.get("description", "")


def _fields(made: ast.ClassDef) -> Iterator[Row]:
    """The keys of a mapping, each with the text below it."""
    body = made.body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            assert isinstance(said, str)
            yield code(ast.unparse(node.target)), _form(ast.unparse(node.annotation)), "", _words(said)


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
            case "Backend":
                kinds.append("`ray`, `celery`")
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
