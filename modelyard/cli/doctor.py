"""Check what modelyard needs on this machine and in the cluster: programs, versions, login and rights.

Reads only. Checks the clusters of the stacks that you name. If you name none, checks that of
$MODELYARD_STACK or of the project's only stack, else those of all stacks. Outside a project, checks the cluster of the
current context.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distributions, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from modelyard.cli.exit import Exit
from modelyard.cli.options import json_option, stacks_argument
from modelyard.cli.printing import say, say_json
from modelyard.cli.progress import followed
from modelyard.cli.streams import style_for
from modelyard.kube.kinds import OPERATORS, RAY, SPARK

if TYPE_CHECKING:
    from lightkube import Client

OLDEST = (3, 11)
"""The oldest Python that modelyard runs on."""
PLUGINS = {"kubernetes": "pulumi-kubernetes"}
"""Pulumi's plugins that every stack needs, and the package of the same version."""
_ENGINES = {"ray": RAY, "spark": SPARK}
"""The API versions that runs of jobs need, by the engine of the job."""


class DoctorCheck(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warning", "error"]
    """``error``: something does not work without it."""
    found: str
    remedy: str = ""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stacks_argument(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Looks and prints."""
    root = _root(args)
    checks = [*_python(), *_programs(root), *_clusters(root, args)]
    if args.json:
        from modelyard.report.json import record

        say_json({"formatVersion": 1, "checks": [record(check) for check in checks]})
    else:
        from modelyard.report.style import table

        rows = [(one.state, one.name, one.found + (f" → {one.remedy}" if one.remedy else "")) for one in checks]
        say(table(rows, ("", "CHECK", "FOUND"), style_for(args, sys.stdout)))
    return Exit.FINDINGS if any(check.state == "error" for check in checks) else Exit.FINE


def _root(args: Namespace) -> Path | None:
    """The project's folder; None outside of a project."""
    from modelyard.cli.common import every_stack, project_root
    from modelyard.stack import find_project

    start = Path(args.directory or ".")
    outside = start.is_dir() and find_project(start.resolve()) is None and not (args.stacks or every_stack(args))
    return None if outside else project_root(args)


def _python() -> Iterator[DoctorCheck]:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= OLDEST:
        yield DoctorCheck("Python", "ok", found)
    else:
        wanted = ".".join(map(str, OLDEST))
        yield DoctorCheck("Python", "error", found, f"install Python {wanted} or later, and modelyard in it")
    from modelyard import __version__

    # What was tested together is what the package pins.
    for pinned in sorted(line for line in requires("modelyard") or () if "==" in line and ";" not in line):
        name, _, wanted = pinned.partition("==")
        has = _version(name)
        if has == wanted:
            yield DoctorCheck(name, "ok", f"Python package {has}, tested with modelyard {__version__}")
        else:
            remedy = f"pip install '{name}=={wanted}'"
            found = f"Python package {has or 'not installed'}; modelyard {__version__} needs {wanted}"
            yield DoctorCheck(name, "error", found, remedy)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _programs(root: Path | None) -> Iterator[DoctorCheck]:
    from shutil import which

    if which("git") is None:
        yield DoctorCheck("git", "warning", "not on PATH, so preview cannot compare branches", "install git")
    else:
        yield DoctorCheck("git", "ok", "on PATH")
    from modelyard.cluster.backend import BackendError
    from modelyard.cluster.engine_state import INSTALL, PulumiError

    try:
        yield from _engine(root)
    except BackendError as error:
        # The engine is not even asked for its version where credentials could reach a stranger.
        yield DoctorCheck("state backend", "error", f"{error.filename}: {error.reason}", error.remedy)
    except PulumiError as error:
        yield DoctorCheck("Pulumi CLI", "error", f"{error}; apply, destroy and drift need it", INSTALL)
    if root is not None:
        yield from _program(root)


def _engine(root: Path | None) -> Iterator[DoctorCheck]:
    """The engine's version, its plugins, and in a project whether its state can be reached."""
    from modelyard.cluster.engine_state import ask_engine

    here = root or Path.cwd()
    answer = ask_engine(here, "version")
    cli, sdk = answer.stdout.decode("utf-8", "replace").strip().removeprefix("v"), _version("pulumi")
    if cli == sdk:
        yield DoctorCheck("Pulumi CLI", "ok", cli)
    else:
        yield DoctorCheck(
            "Pulumi CLI", "warning", f"{cli or 'unknown version'}; tested with {sdk}", f"install Pulumi {sdk}"
        )
    yield from _plugins(here)
    if root is not None:
        yield _backend(root)


def _program(root: Path) -> Iterator[DoctorCheck]:
    """Whether modelyard is where Pulumi runs the program. Looks at names of files only, and runs nothing there."""
    from modelyard import __version__
    from modelyard.plan.project import shown
    from modelyard.stack.project import virtual_environment

    folder = virtual_environment(root)
    if folder is None:
        return
    place = shown(root, folder)
    name = f"program in {place}"
    places = [str(path) for path in (*folder.glob("lib/python3*/site-packages"), *folder.glob("Lib/site-packages"))]
    found = next((one.version for one in distributions(name="modelyard", path=places)), None)
    if found == __version__:
        yield DoctorCheck(name, "ok", f"modelyard {found}")
        return
    remedy = f"install modelyard {__version__} into {place}, from its wheel or a clone: Pulumi runs the program there"
    if folder.exists():
        yield DoctorCheck(name, "error", f"modelyard {found}" if found else "no modelyard", remedy)
    else:
        create = f"run `python3 -m venv {place}` in the project's folder"
        yield DoctorCheck(name, "error", f"{place} does not exist", f"{create}, then {remedy}")


def _plugins(root: Path) -> Iterator[DoctorCheck]:
    from shutil import which

    listed = _answer(root, list, "plugin", "ls", "--json")[0] or ()
    have = {(one.get("name"), one.get("version")) for one in listed if isinstance(one, dict)}
    for name, package in PLUGINS.items():
        wanted = _version(package)
        if (name, wanted) in have:
            yield DoctorCheck(f"plugin {name}", "ok", str(wanted))
        elif which(f"pulumi-resource-{name}") is not None:
            yield DoctorCheck(f"plugin {name}", "ok", "on PATH")
        else:
            remedy = f"pulumi plugin install resource {name} {wanted}"
            yield DoctorCheck(f"plugin {name}", "warning", f"{wanted} is missing; the first apply downloads it", remedy)


def _backend(root: Path) -> DoctorCheck:
    """Whether Pulumi's state can be reached."""
    who, error = _answer(root, dict, "whoami", "--json", "--non-interactive")
    if who is None:
        return DoctorCheck("state backend", "error", error, "run pulumi login, or set PULUMI_BACKEND_URL")
    return DoctorCheck("state backend", "ok", f"{who.get('url', 'reached')} as {who.get('user', 'unknown')}")


def _answer(root: Path, kind: type, *words: str) -> tuple[Any, str]:
    """The JSON of a kind that the engine prints, or None and why there is none; without secrets."""
    from modelyard.cluster.engine_state import ask_engine, error_of
    from modelyard.files import parse_json
    from modelyard.hiding import hidden, hidden_text

    done = ask_engine(root, *words)
    if done.returncode:
        return None, hidden_text(error_of(done)) or f"pulumi {words[0]} ended with exit code {done.returncode}"
    try:
        value = hidden(parse_json(done.stdout))
    except ValueError:
        value = None
    return (value, "") if isinstance(value, kind) else (None, f"pulumi {words[0]} printed unexpected output")


def _clusters(root: Path | None, args: Namespace) -> Iterator[DoctorCheck]:
    """The login, the version and the rights in each cluster of the stacks."""
    if root is None:
        remedy = "run inside a project, or give -C DIR; modelyard init writes a new one"
        yield DoctorCheck("project", "warning", "no Pulumi.yaml in this folder or above it", remedy)
        yield from _cluster(None, "default", ())
        return
    from modelyard.cli.common import chosen_files, default_stack, every_stack
    from modelyard.plan.project import shown, wanted_objects
    from modelyard.stack import discover, load
    from modelyard.stack.words import plural

    if not (args.stacks or every_stack(args) or default_stack([one.name for one in discover(root)])):
        args.all = True
    seen: dict[tuple[str | None, str], set[str]] = {}
    for name, path in chosen_files(root, args).items():
        stack, findings = load(path, shown(root, path), root)
        if stack is None:
            wrong = plural(sum(finding.blocks for finding in findings), "error")
            yield DoctorCheck(f"stack {name}", "error", f"{wrong} in its file", f"modelyard check {name}")
        else:
            yield DoctorCheck(f"stack {name}", "ok", stack.file)
            used = seen.setdefault((stack.context, stack.config.platform.namespace), set())
            used.update(key.api_version for key in wanted_objects(root, stack))
            used.update(_ENGINES[job.engine] for job in stack.config.jobs if job.engine in _ENGINES)
    each = ([*_cluster(context, namespace, used)] for (context, namespace), used in seen.items())
    yield from _once(check for checks in followed(each, len(seen), "cluster") for check in checks)


def _has_namespace(client: "Client", namespace: str) -> bool:
    """Whether a cluster has a namespace, as far as the credentials may read it."""
    from modelyard.cluster.connection import ClusterError
    from modelyard.cluster.live import read
    from modelyard.kube.state import ObjectKey

    try:
        return read(client, ObjectKey("v1", "Namespace", "", namespace)) is not None
    except ClusterError as error:
        if error.lasting:
            return True
        raise


def _once(checks: Iterable[DoctorCheck]) -> list[DoctorCheck]:
    """The checks, with one error where several clusters have the same."""
    found: list[DoctorCheck] = []
    for check in checks:
        same = next((at for at, one in enumerate(found) if one.state == "error" and one[1:] == check[1:]), None)
        if same is None:
            found.append(check)
        else:
            found[same] = check._replace(name=f"{found[same].name}, {check.name.removeprefix('cluster ')}")
    return found


def _cluster(context: str | None, namespace: str, api_versions: Collection[str]) -> Iterator[DoctorCheck]:
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.live import server_version, serves
    from modelyard.cluster.rights import USES, missing_rights
    from modelyard.kube.merge.schema import supported_versions

    name = f"cluster {context or '(current context)'}"
    try:
        client = connect(context)
        found = server_version(client)
        exists = _has_namespace(client, namespace)
        unserved = [
            one for one in sorted(api_versions) if one.partition("/")[0] in OPERATORS and not serves(client, one)
        ]
        missing = {use: missing_rights(client, rights, namespace) for use, rights in USES.items()}
    except ClusterError as error:
        yield DoctorCheck(name, "error", error.summary, error.remedy)
        return
    known = supported_versions()
    if ".".join(found.removeprefix("v").split(".")[:2]) in known:
        yield DoctorCheck(name, "ok", f"Kubernetes {found}")
    else:
        summary = f"Kubernetes {found}; modelyard has schemas of {known[0]} to {known[-1]}"
        yield DoctorCheck(name, "warning", summary, "plan with --live, or use a supported version")
    if not exists:
        remedy = "correct platform.namespace in the stack file, or create the namespace"
        yield DoctorCheck(f"namespace {namespace}", "warning", f"{name} does not have it", remedy)
    for api_version in unserved:
        operator = OPERATORS[api_version.partition("/")[0]]
        yield DoctorCheck(operator, "error", f"{name} does not serve {api_version}", f"install {operator} or its CRDs")
    for use, lacking in missing.items():
        if lacking:
            remedy = f"grant: {', '.join(map(str, lacking))} (modelyard's guide on rights has the roles)"
            yield DoctorCheck(
                f"rights to {use}", "warning", f"some are missing in namespace {namespace} of {name}", remedy
            )
        else:
            yield DoctorCheck(f"rights to {use}", "ok", f"in namespace {namespace}")
