"""Environment variables: names come from the source, descriptions from this module.

The generator stops on a variable that is read but not described, or described but not read.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from generators.markdown import code, page, table
from generators.paths import ROOT

PROGRAM = {
    "COLUMNS": "Width of the output on a terminal, from 60 to 100 columns. The default is the terminal's width.",
    "GITHUB_STEP_SUMMARY": "File to which `check --format github` appends its summary. GitHub Actions sets it.",
    "KUBECONFIG": "Kubeconfig files, separated by `:`. The default is `~/.kube/config`.",
    "MODELYARD_ALLOW_HTTP": "Any text: passwords and tokens may be sent without TLS, still only to "
    "addresses that you named.",
    "MODELYARD_BROKER_PASSWORD": "Password of RabbitMQ's management API. The default is `guest`.",
    "MODELYARD_BROKER_PASSWORD_FILE": "File with the password, if `MODELYARD_BROKER_PASSWORD` is not set.",
    "MODELYARD_BROKER_URL": "Addresses to which modelyard may send RabbitMQ's user and password, separated by "
    "spaces, such as `https://broker.example.com:15671`.",
    "MODELYARD_BROKER_USER": "User of RabbitMQ's management API. The default is `guest`.",
    "MODELYARD_CACHE_DIR": "Folder in which `plan`, `check` and `preview` keep results for the next run. The default "
    "is `modelyard` in `XDG_CACHE_HOME`.",
    "MODELYARD_DEBUG": "Any text: an internal error shows its traceback, which may quote secrets, instead of one line.",
    "MODELYARD_DOCS_URL": "Address of the documentation site. Rules in SARIF then link to their pages.",
    "MODELYARD_NO_CACHE": "Any text: results of earlier runs are not used, and none are stored, as with `--no-cache`.",
    "MODELYARD_NO_DRAIN": "Any text: `apply` and `pulumi up` do not wait for running jobs, as with `--no-drain`.",
    "MODELYARD_PROMETHEUS_TOKEN": "Token for the Prometheus server, if it needs one.",
    "MODELYARD_PROMETHEUS_TOKEN_FILE": "File with the token, if `MODELYARD_PROMETHEUS_TOKEN` is not set.",
    "MODELYARD_PROMETHEUS_URL": "Addresses to which modelyard may send Prometheus's token, separated by spaces. A "
    "server that the command line names gets it too.",
    "MODELYARD_RAY_TOKEN": "Token for Ray's dashboard, if it needs one.",
    "MODELYARD_RAY_TOKEN_FILE": "File with the token, if `MODELYARD_RAY_TOKEN` is not set.",
    "MODELYARD_RAY_URL": "Addresses to which modelyard may send Ray's token, separated by spaces.",
    "MODELYARD_STACK": "Stack to use if the command line names none. A project with a single stack does not need it.",
    "MODELYARD_USER": "Your name, shown with your runs; `--mine` selects them by it. The default is your login name.",
    "NO_COLOR": "Any text: no colours, unless `--colour always` asks for them.",
    "RAY_ADDRESS": "Address of the Ray cluster of `--on ray`, if the command line names none.",
    "RAY_USAGE_STATS_ENABLED": "`1`: a cluster that `--on ray` starts may send usage statistics to Ray's developers. "
    "The default is `0`.",
    "TERM": "`dumb`: no colours and no progress bar on this terminal.",
    "TEMP": "Folder for temporary files, if `TMPDIR` is not set.",
    "TMP": "Folder for temporary files, if neither `TMPDIR` nor `TEMP` is set.",
    "TMPDIR": "Folder for temporary files. The default is `/tmp`.",
    "XDG_CACHE_HOME": "Folder whose subfolder `modelyard` has results for the next run and the lab's tools. The "
    "default is `~/.cache`.",
}
PULUMI = {
    "MODELYARD_PLAN": "Path of the approved plan that the Pulumi program must apply. `apply` sets it.",
    "MODELYARD_STOP": "`PID:PATH`: drains stop when the file exists or the process has ended. `apply` sets it.",
    "PULUMI_API": "Address of Pulumi Cloud, if no other backend is set. The default is `https://api.pulumi.com`.",
    "PULUMI_BACKEND_URL": "Backend of Pulumi's state, instead of the `backend` in `Pulumi.yaml`.",
    "PULUMI_CONFIG_PASSPHRASE": "Passphrase of the stack's secrets. If neither it nor `PULUMI_CONFIG_PASSPHRASE_FILE` "
    "is set, modelyard tries an empty one.",
    "PULUMI_CONFIG_PASSPHRASE_FILE": "File with the passphrase, if `PULUMI_CONFIG_PASSPHRASE` is not set.",
    "PULUMI_CREDENTIALS_PATH": "Folder of `credentials.json`, which has the backends that you logged in to, instead "
    "of `PULUMI_HOME`.",
    "PULUMI_HOME": "Folder with Pulumi's credentials and plugins. The default is `~/.pulumi`.",
}
LAB = {
    "MODELYARD_LAB": "Lab that `modelyard-lab` uses without `--lab`. The default is `dev`, and for `install STACK` "
    "the lab of that name.",
    "MODELYARD_LAB_TOOLS": "Folder with tools that are already built, instead of the cache.",
    "XDG_CONFIG_HOME": "Folder in which Go looks for its settings. The default is `~/.config`.",
}
_OURS = re.compile("MODELYARD_[A-Z_]+")
_PASSED_ON = {"PATH", "HOME", "COMP_LINE", "_ARGCOMPLETE"}
"""Variables of every process, and those with which a completion script asks; you do not set them for modelyard."""


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
        "No variable is required. `preview` and `waves` also read the variables in which GitHub Actions, GitLab and "
        "Bitbucket pass the repository and the target branch, and connections use `HTTPS_PROXY` and `NO_PROXY`.",
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
    nodes = list(ast.walk(tree))
    values = {name: [value] for name, value in constants.items()}
    for name, value in (pair for node in nodes for pair in _looped(node)):
        values.setdefault(name, []).append(value)
    for word in (word for node in nodes for word in _keys(node)):
        found = [word.value] if isinstance(word, ast.Constant) else values.get(getattr(word, "id", ""), [])
        yield from (value for value in found if isinstance(value, str))


def _looped(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The variable of a loop over constants, with each of their values."""
    match node:
        case (
            ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=found))
            | ast.comprehension(target=ast.Name(id=name), iter=ast.Tuple(elts=found))
        ):
            yield from ((name, one.value) for one in found if isinstance(one, ast.Constant))


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
