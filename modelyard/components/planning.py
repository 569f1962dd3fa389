"""From the arguments of one component to its plan, without a stack file.

The arguments become the document that a stack file would be, so the same schema and rules check them and the same
planner computes the fields. The plan is about the component's own objects only: what other components of the program
changed stays as it is.
"""

import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime.settings import get_monitor

from modelyard.cluster.engine_state import component_of_each
from modelyard.components.arguments import Surroundings
from modelyard.engine.program.plan import checked_plan
from modelyard.findings import Finding, Severity
from modelyard.hardware.own import load_gpus
from modelyard.kube.state import ObjectKey
from modelyard.plan import Plan
from modelyard.plan.project import Planned, plan_stack_live, shown
from modelyard.plan.undo.findings import OTHER_STATE
from modelyard.probes.values import NO_DRAIN
from modelyard.stack import Scope, find_project
from modelyard.stack.loader import CONTEXT, load_text
from modelyard.stack.shape import spelled
from modelyard.stack.words import did_you_mean

RELEASE = "23.10"
"""Of the platform, unless the program names another: the first one with everything that components do."""
_UNUSED = {"model": "A10"}
"""A stack needs a GPU. No patch of a component without one reads it."""
_TARGET = ("deployment", "stateful_set", "ray_cluster", "ray_service", "group", "container")

_claimed: WeakKeyDictionary[Any, dict[tuple[str, ObjectKey], str]] = WeakKeyDictionary()
"""By program: who changes each object, by the identity of its cluster and its key."""


class ComponentSettings(NamedTuple):
    """What a component asks for."""

    sections: Mapping[str, Mapping[str, Any]]
    """By section of the stack file. ``deployment`` and ``container`` are those of ``targets``."""
    roles: frozenset[str]
    """The workloads whose objects it may change."""
    training: str | None = None
    """The training backend that is active; None: the release's default."""
    resources: Sequence[Mapping[str, Any]] = ()
    """As in the section ``resources``."""


def plan_of_arguments(
    kind: str,
    name: str,
    settings: ComponentSettings,
    surroundings: Surroundings,
    opts: pulumi.ResourceOptions | None,
) -> Plan:
    """The plan of one component, against the live cluster.

    The aliases in its options are the names under which its objects were applied.

    Raises:
        pulumi.RunError: the arguments, the plan or the cluster have errors; reports everything at once.
    """
    about = f"{kind} {name}"
    root = find_project(Path.cwd())
    if root is None:
        raise pulumi.RunError(f"{about}: no folder above {Path.cwd()} has a Pulumi.yaml")
    if opts is not None and (opts.provider or opts.providers):
        raise pulumi.RunError(f"{about} takes no provider: the plan must read the same cluster; pass context instead")
    former = tuple(f"{kind}::{alias}" for alias in _former(opts))
    together = kind == "Platform"  # Its parts have fixed names, and the engine's state knows them by those.
    scope = Scope(
        "" if together else f"{kind}::{name}",
        frozenset(settings.sections),
        settings.roles,
        root / (surroundings.get("project") or ""),
        former,
    )
    file, line = _caller(root)
    check_arguments(f"{about} at {file}:{line}", surroundings)
    try:
        document = json.dumps({"config": _document(settings, surroundings)}, default=_plain)
    except TypeError as error:
        raise pulumi.RunError(f"{about} at {file}:{line}: {error}") from error
    made = checked_plan(root, about, lambda: _planned(root, document, file, line, scope))
    if any(finding.code == OTHER_STATE for finding in made.findings):
        _check_owner(root, about, made, {scope.component, *former})
    if together:
        return made
    return made._replace(targets=tuple(target._replace(component=name) for target in made.targets))


def check_arguments(about: str, surroundings: Mapping[str, Any]) -> None:
    """Refuses arguments that a component does not have; Python takes any name beside ``**surroundings``.

    Raises:
        pulumi.RunError: names them.
    """
    known = Surroundings.__annotations__
    if unknown := sorted(surroundings.keys() - known.keys()):
        close = " ".join(did_you_mean(name, known) for name in unknown).strip()
        raise pulumi.RunError(f"{about} has no argument {' or '.join(unknown)}{close and f'; {close}'}")


def _planned(root: Path, document: str, file: str, line: int, scope: Scope) -> Planned:
    """The plan of what would be a stack file, with all values on the line where the component is made."""
    stack, findings = load_text(document, pulumi.get_stack(), file)
    found = (*(one._replace(line=line, column=0) for one in findings), *load_gpus(root).findings)
    if stack is None or any(one.severity is Severity.ERROR for one in found):
        return Planned(None, None, found)
    stack = stack._replace(positions={(): (line, 0)}, project=pulumi.get_project(), scope=scope)
    made = plan_stack_live(root, stack, found, date.today(), waits=not os.environ.get(NO_DRAIN))

    def placed(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(one._replace(line=line) if one.file == file and not one.line else one for one in findings)

    plan = None if made.plan is None else made.plan._replace(findings=placed(made.plan.findings))
    return made._replace(plan=plan, reasons=placed(made.reasons))


def _document(settings: ComponentSettings, given: Surroundings) -> dict[str, Any]:
    """What stands under ``config`` of a stack file with these settings."""
    cluster = pulumi.Config("kubernetes")
    namespace = given.get("namespace") or cluster.get("namespace")
    platform = {"release": RELEASE, **({"namespace": namespace} if namespace else {}), **given.get("platform", {})}
    sections: dict[str, Any] = {
        "platform": platform,
        "training": settings.training,
        "gpu": _UNUSED,
        "resources": settings.resources or None,
        "kubernetes_version": given.get("kubernetes_version"),
        "drain": given.get("drain"),
        "patches": given.get("patches"),
        "waivers": given.get("waivers"),
    }
    targets: dict[str, Any] = {}
    for section, values in settings.sections.items():
        target = {key: values[key] for key in _TARGET if values.get(key) is not None}
        if target:
            targets[section] = target
        rest = {key: value for key, value in values.items() if key not in _TARGET}
        if section != "apiServer":
            sections[section] = rest
        elif rest:
            targets[section] = {**target, **rest}  # Unknown arguments, which the schema reports.
    sections["targets"] = targets or None
    document = {f"modelyard:{spelled(name)}": _spelled(value) for name, value in sections.items() if value is not None}
    context = given.get("context") or cluster.get("context")
    return document if context is None else {CONTEXT: context, **document}


def _spelled(value: Any) -> Any:
    """The value with keys as in a stack file; names that an operator chose, as of a patch's parameters, stay."""
    match value:
        case dict():
            return {
                spelled(key): inner if key == "params" else _spelled(inner)
                for key, inner in value.items()
                if inner is not None
            }
        case list() | tuple():
            return [_spelled(inner) for inner in value]
    return value


def _plain(value: Any) -> str:
    if isinstance(value, date | Path):
        return str(value)
    if isinstance(value, pulumi.Output):
        raise TypeError("an argument is an output, which is unknown when the plan is made; pass a plain value")
    raise TypeError(f"an argument has the type {type(value).__name__}; pass text, numbers, lists and mappings")


def _former(opts: pulumi.ResourceOptions | None) -> Iterable[str]:
    """Earlier names of the component."""
    for alias in (opts.aliases if opts is not None else None) or ():
        if isinstance(alias, pulumi.Alias) and isinstance(alias.name, str):
            yield alias.name
        elif isinstance(alias, str):
            yield alias.rpartition("::")[2]


def _caller(root: Path) -> tuple[str, int]:
    """File and line of the program that makes the component."""
    frame = sys._getframe()
    while frame.f_back is not None and Path(frame.f_code.co_filename).parent == Path(__file__).parent:
        frame = frame.f_back
    return shown(root, Path(frame.f_code.co_filename)), frame.f_lineno


def claim(about: str, plan: Plan) -> None:
    """Notes which objects the component changes.

    Raises:
        pulumi.RunError: another component of the program changes one of them; each would remove the other's fields.
    """
    claimed = _claimed.setdefault(get_monitor(), {})
    for target in plan.targets:
        other = claimed.setdefault((plan.cluster, target.key), about)
        if other != about:
            raise pulumi.RunError(
                f"{about} changes {target.key.kind} {target.name}, which {other} changes too; "
                "declare them together, as parts of one Platform"
            )


def _check_owner(root: Path, about: str, plan: Plan, own: Collection[str]) -> None:
    """Looks up who applied the objects of a plan that its own component has not.

    Raises:
        pulumi.RunError: another component of the stack did; at the end of the run it would restore them.
    """
    owners = component_of_each(root, pulumi.get_stack())
    for target in plan.asked:
        owner = owners.get(target.key)
        if owner is None or owner in own:
            continue
        kind, _, name = owner.partition("::")
        whose = f"{kind} {name}" if name else "a Platform"
        renamed = f'; after a rename pass opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="{name}")])'
        raise pulumi.RunError(
            f"{about}: {target.key.kind} {target.name} belongs to {whose} of this stack, which would restore it"
            f"{renamed if kind == about.partition(' ')[0] else f'; remove {whose} in an earlier update'}"
        )
