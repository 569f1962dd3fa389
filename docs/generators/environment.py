"""Environment variables: names come from the source, descriptions from this module.

The generator stops on a variable that is read but not described, or described but not read.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from generators.markdown import code, page, table
from generators.paths import ROOT

PROGRAM = {
    "COLUMNS": "Width of the output on a terminal, instead of what the terminal says; 100 columns are the most.",
    "GITHUB_STEP_SUMMARY": "File to which `check --format github` appends its summary. GitHub Actions sets it.",
    "KUBECONFIG": "Files with the contexts of clusters, separated by `:`; `~/.kube/config` without it.",
    "MODELYARD_ALLOW_HTTP": "Any text: passwords and tokens may be sent without TLS, to the addresses they belong to.",
    "MODELYARD_BROKER_PASSWORD": "Password of RabbitMQ's management API; `guest` without it.",
    "MODELYARD_BROKER_PASSWORD_FILE": "File that holds that password.",
    "MODELYARD_BROKER_URL": "Addresses that user and password are for, such as `https://broker.example.com:15671`; "
    "separated by spaces. They are sent nowhere else.",
    "MODELYARD_BROKER_USER": "User of RabbitMQ's management API; `guest` without it.",
    "MODELYARD_DEBUG": "Any text: an internal error shows its traceback, which may quote secrets, instead of one line.",
    "MODELYARD_DOCS_URL": "Address of the documentation site. Rules in SARIF have a link to their page of it.",
    "MODELYARD_NO_DRAIN": "Any text: neither `apply` nor `pulumi up` waits for running jobs, as with `--no-drain`.",
    "MODELYARD_PROMETHEUS_TOKEN": "Token for the Prometheus server, where it asks for one.",
    "MODELYARD_PROMETHEUS_TOKEN_FILE": "File that holds that token.",
    "MODELYARD_PROMETHEUS_URL": "Addresses that the token is for where a stack file names the server, not the command "
    "line.",
    "MODELYARD_RAY_TOKEN": "Token for Ray's dashboard, where it asks for one.",
    "MODELYARD_RAY_TOKEN_FILE": "File that holds that token.",
    "MODELYARD_RAY_URL": "Addresses that Ray's token is for.",
    "MODELYARD_STACK": "Name of the stack that `job submit` is about where none is named.",
    "NO_COLOR": "Any text: no colours, unless `--colour always` asks for them.",
    "TERM": "`dumb` stands for a terminal without colours.",
}
PULUMI = {
    "MODELYARD_PLAN": "Path of the approved plan that the Pulumi program has to keep to. `apply --plan` sets it.",
    "MODELYARD_STOP": "`PID:PATH`: waits for jobs end once the file is there or the process is not. `apply` sets it.",
    "PULUMI_API": "Address of Pulumi Cloud where nothing else names a backend; `https://api.pulumi.com` without it.",
    "PULUMI_BACKEND_URL": "Where Pulumi keeps its state, instead of the `backend` of `Pulumi.yaml`.",
    "PULUMI_CONFIG_PASSPHRASE": "Passphrase of the stack's secrets; where there is none, an empty one is tried.",
    "PULUMI_CONFIG_PASSPHRASE_FILE": "File that holds that passphrase.",
    "PULUMI_CREDENTIALS_PATH": "Folder of `credentials.json`, with the addresses that you logged in to, instead of "
    "`PULUMI_HOME`.",
    "PULUMI_HOME": "Folder of Pulumi; `~/.pulumi` without it.",
}
LAB = {
    "MODELYARD_LAB": "Name of the lab that `modelyard-lab` is about, without `--lab`; otherwise `dev`.",
    "MODELYARD_LAB_TOOLS": "Folder with tools that are built already, instead of the cache.",
    "XDG_CACHE_HOME": "Folder under which the lab's tools are kept; `~/.cache` without it.",
    "XDG_CONFIG_HOME": "Folder in which Go looks for its settings; `~/.config` without it.",
}
_OURS = re.compile("MODELYARD_[A-Z_]+")
_PASSED_ON = {"PATH", "HOME"}
"""Variables of every process; you do not set them for modelyard."""


def environment() -> str:
    """The page of environment variables.

    Raises:
        ValueError: a variable has no description, or a description no variable.
    """
    described = PROGRAM.keys() | PULUMI.keys() | LAB.keys()
    everything = variables(("modelyard", "components", "stacks", "policies", "lab")) - _PASSED_ON
    if everything != described:
        raise ValueError(
            "docs/generators/environment.py does not describe what the source reads: "
            f"missing {sorted(everything - described)}, no longer read {sorted(described - everything)}"
        )
    return page(
        "Environment variables",
        "Nothing needs to be set.",
        _section("modelyard", PROGRAM),
        _section("The Pulumi program", PULUMI),
        _section("The lab", LAB),
    )


def _section(title: str, rows: Mapping[str, str]) -> list[str]:
    shown = ((code(name), text) for name, text in sorted(rows.items()))
    return [f"## {title}", "", *table(("variable", "meaning"), shown)]


def variables(folders: Iterable[str]) -> set[str]:
    """The variables that the Python files below the given folders read from ``os.environ``."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {name for path in paths for name in _of_module(path)}


def _of_module(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    # A modelyard variable with a constant may be read through a function.
    yield from (text for text in constants.values() if isinstance(text, str) and _OURS.fullmatch(text))
    for node in ast.walk(tree):
        for word in _keys(node):
            value = word.value if isinstance(word, ast.Constant) else constants.get(getattr(word, "id", ""))
            if isinstance(value, str):
                yield value


def _keys(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that a node looks up in ``os.environ``."""
    match node:
        case ast.Call(func=ast.Attribute(value=found, attr="get" | "pop" | "setdefault"), args=[first, *_]):
            yield from (first,) if _is_environ(found) else ()
        case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="getenv"), args=[first, *_]):
            yield first
        case ast.Subscript(value=found, slice=key):
            yield from (key,) if _is_environ(found) else ()
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[found]):
            yield from (left,) if _is_environ(found) else ()
        case ast.BinOp(left=ast.Set(elts=elements), right=ast.Call(func=ast.Attribute(value=found, attr="keys"))):
            yield from elements if _is_environ(found) else ()


def _is_environ(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "environ"
