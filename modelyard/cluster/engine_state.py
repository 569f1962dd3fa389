"""Reads what the engine's state contains of a stack, from its file or with the engine's command line.

A plan also starts from this state: an apply restores or deletes objects that the state has and the stack no longer asks
for. Imports nothing of the engine, so a live plan stays as fast as its API server.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from modelyard.cluster.backend import BACKEND, backend_variables
from modelyard.files import ReadError, parse_json, read_file, wrong_form
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, StateObject, key_of
from modelyard.stack.project import project_name

RECORD = "modelyard:index:Applied"
"""Type of ``modelyard.engine.program.resource.Applied``."""
LEDGER = "modelyard:Ledger"
"""Type of ``engine.ledger.Ledger`` within the provider for Python resources."""
REMOTE = "modelyard:index:RemoteCluster"
"""Type of ``components.remote_cluster.RemoteCluster``, which has the cluster's name and is the parent of its
objects."""

COMPONENT = "modelyard:index:"
"""The beginning of the types of modelyard's components."""
PLATFORM = f"{COMPONENT}Platform"
SELF_PLANNED = frozenset(
    f"{COMPONENT}{name}"
    for name in (
        "ModelService",
        "RayCluster",
        "CeleryTraining",
        "TrainingSwitch",
        "Autoscaling",
        "OtherTargets",
        "RemoteCluster",
    )
)
"""Types of the components that a program may use without a ``Platform``."""


class StateError(Exception):
    """The engine's state cannot be read, and why."""


def state_objects(root: Path, stack: str, remote: str = "") -> dict[ObjectKey, StateObject]:
    """The objects of a stack in the engine's state; none if nothing was ever applied.

    Args:
        root: the project's folder.
        stack: name of the stack.
        remote: name of the remote cluster that the objects are in; empty: the home cluster.

    Raises:
        StateError: there is no engine, or the state cannot be found or read.
    """
    return state_objects_by_cluster(root, stack).get(remote, {})


def state_objects_by_cluster(
    root: Path, stack: str, components: Collection[str] = ("",)
) -> dict[str, dict[ObjectKey, StateObject]]:
    """The objects of a stack in the engine's state, by name of the remote cluster; the home cluster's name is empty.

    Args:
        root: the project's folder.
        stack: name of the stack.
        components: names as ``component_of`` returns them; an empty name stands for the components of a ``Platform``.

    Raises:
        StateError: there is no engine, or the state cannot be found or read.
    """
    resources = [one for one in _exported(root, stack) if component_of(one) in components]
    with _reading():
        return {
            remote: state_objects_in(resources, remote) for remote in ("", *sorted({*map(remote_of, resources)} - {""}))
        }


def component_of_each(root: Path, stack: str) -> dict[ObjectKey, str]:
    """The component of each object of a stack in the home cluster, as ``component_of`` names it.

    Raises:
        StateError: there is no engine, or the state cannot be found or read.
    """
    resources = _exported(root, stack)
    with _reading():
        return {
            key: component
            for component in {*map(component_of, resources)}
            for key in state_objects_in(one for one in resources if component_of(one) == component)
        }


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"its content is invalid: {wrong_form(error)}") from error


def _exported(root: Path, stack: str) -> list[Mapping[str, Any]]:
    """The resources of a stack in the engine's state; none if nothing was ever applied."""
    if (known := resources_in_file(root, stack)) is not None:
        return known
    try:
        done = ask_engine(root, "stack", "export", "--non-interactive", "--stack", stack)
    except PulumiError as error:
        raise StateError(str(error)) from error
    if done.returncode != 0:
        message = error_of(done)
        if "no stack named" in message:
            return []
        raise StateError(message or f"pulumi stack export ended with {done.returncode}")
    with _reading():
        found: list[Mapping[str, Any]] = (parse_json(done.stdout)["deployment"] or {}).get("resources") or []
        return found


def remote_of(resource: Mapping[str, Any]) -> str:
    """Name of the remote cluster that a resource of the state belongs to; empty: the home cluster."""
    kind, _, name = str(resource.get("parent", "")).rpartition("::")
    return name if kind.endswith(REMOTE) else ""


def component_of(resource: Mapping[str, Any]) -> str:
    """The component that plans a resource of the state by itself: its type and name, ``ModelService::m``.

    Empty for the resources of a ``Platform``, whose components share one plan.
    """
    parent = str(resource.get("parent", "")).split("::", 3)
    if len(parent) < 4:
        return ""
    *above, kind = parent[2].split("$")
    return f"{kind.removeprefix(COMPONENT)}::{parent[3]}" if kind in SELF_PLANNED and PLATFORM not in above else ""


def state_objects_in(resources: Iterable[Mapping[str, Any]], remote: str = "") -> dict[ObjectKey, StateObject]:
    """The objects of one cluster among the resources of an exported state.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: modelyard's program did not write the resources.
    """
    found: dict[ObjectKey, StateObject] = {}
    roles: dict[ObjectKey, str] = {}
    forgotten: dict[ObjectKey, StateObject] = {}
    for resource in resources:
        kind, outputs = resource["type"], resource.get("outputs") or {}
        if resource.get("delete") or remote_of(resource) != remote:
            continue
        if kind.startswith("kubernetes:") and not kind.endswith("Patch"):
            found[key_of(resource["inputs"], "default")] = StateObject(managed=True)
        elif kind.rpartition("/")[2] == LEDGER:
            record = parse_json(outputs["record"])
            found[ObjectKey(*record["key"])] = StateObject(managed=False, ledger=Confidential(record["ledger"]))
        elif kind == RECORD and "role" in outputs:
            key = key_of(parse_json(outputs["request"]), "")
            roles[key] = outputs["role"]
            if outputs.get("mode") == "managed":
                forgotten[key] = StateObject(managed=True, forgotten=True)
    return {key: held._replace(role=roles.get(key, "")) for key, held in {**forgotten, **found}.items()}


# One call of the engine's command line. Imports nothing of the engine, so the caller stays fast.
TIMEOUT = 60
"""Seconds that an answer may take."""
NO_ENGINE = "pulumi is not on PATH"
INSTALL = "install the Pulumi CLI (https://www.pulumi.com/docs/install)"
"""The remedy if Pulumi is missing."""


class PulumiError(Exception):
    """An engine that does not run or does not end, and why."""


def default_passphrase() -> dict[str, str]:
    """The variable with an empty passphrase, which fits a state without secrets; none if the user has set one.

    Pulumi prefers the variable, even if it is empty, to the file with a passphrase.
    """
    chosen = "PULUMI_CONFIG_PASSPHRASE" in os.environ or os.environ.get("PULUMI_CONFIG_PASSPHRASE_FILE")
    return {} if chosen else {"PULUMI_CONFIG_PASSPHRASE": ""}


def ask_engine(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The output and exit code of ``pulumi``; the caller judges the exit code.

    Args:
        root: the project's folder.
        arguments: arguments of ``pulumi``.

    Raises:
        PulumiError: the program is missing, cannot be started, or takes too long.
        BackendError: credentials would reach an address that the operator did not name.
    """
    variables = {"PULUMI_SKIP_UPDATE_CHECK": "true", **os.environ, **default_passphrase()}
    variables |= backend_variables(root).reveal()
    try:
        return subprocess.run(
            ("pulumi", *arguments),
            cwd=root,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except FileNotFoundError as error:
        raise PulumiError(NO_ENGINE) from error
    except subprocess.TimeoutExpired as error:
        raise PulumiError(f"pulumi does not answer within {TIMEOUT} seconds") from error
    except OSError as error:
        raise PulumiError(f"pulumi cannot be started: {(error.strerror or type(error).__name__).lower()}") from error


def error_of(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What the engine wrote to its error stream, in one line; empty if it wrote nothing."""
    return " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("error: ")


# From here: the state in the file of a local backend, as ``pulumi stack export`` prints it. Starting Pulumi takes more
# processor time than reading a cluster. Only what certainly has the form that this version of Pulumi writes is read;
# for everything else, Pulumi is asked.
_FOLDER: Final = re.compile(r"file://([A-Za-z0-9_./-]+)\?metadata=skip")
"""A local backend without files of attributes, which may be damaged. Other characters may need decoding."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_LAYOUT: Final = b"version: 1"
"""The content of ``meta.yaml`` if each project has a folder."""
_COMPRESSED: Final = (".gz", ".zst")
_FORMS: Final[tuple[tuple[int, list[str]], ...]] = ((3, []), (4, ["hooks"]))
"""The versions of a state and the features that it uses; modelyard's program uses hooks."""


def resources_in_file(root: Path, stack: str) -> list[Mapping[str, Any]] | None:
    """The resources of a stack in a local backend; empty if nothing was ever applied; None if Pulumi must be asked.

    Pulumi replaces the file as a whole, so it is complete while an apply runs.

    Args:
        root: the project's folder.
        stack: name of the stack.

    Raises:
        BackendError: credentials would reach an address that the operator did not name.
    """
    folder = _FOLDER.fullmatch(backend_variables(root).reveal().get(BACKEND, ""))
    project = project_name(root)
    # Without Pulumi, a plan says so instead of an apply.
    if folder is None or not _NAME.fullmatch(project) or shutil.which("pulumi") is None:
        return None
    state = Path(os.path.abspath(root / folder[1])) / ".pulumi"  # noqa: PTH100 (as Pulumi, which follows no link)
    file = state / "stacks" / project / f"{stack}.json"
    try:
        if read_file(state / "meta.yaml").strip() != _LAYOUT:
            return None
        if any(os.path.lexists(f"{file}{ending}") for ending in _COMPRESSED):
            return None
        try:
            found = parse_json(read_file(file))
        except ReadError as error:
            return [] if error.missing else None
        if (found["version"], found.get("features") or []) not in _FORMS:
            return None
        resources: list[Mapping[str, Any]] = (found["checkpoint"].get("latest") or {}).get("resources") or []
    except (ReadError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return resources
