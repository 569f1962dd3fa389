"""From the selected Pulumi stack to its plan."""

import os
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

import pulumi

from modelyard.cluster.connection import ClusterError, check_context
from modelyard.files import ReadError, read_text
from modelyard.findings import Finding
from modelyard.kube.state import ClusterState
from modelyard.plan import Plan
from modelyard.plan.drains import refused
from modelyard.plan.project import Planned, load_stack, plan_live
from modelyard.plan.store import STALE, PlanFileError, moved, plan_from_json
from modelyard.plan.undo.ledger import ours
from modelyard.probes.values import NO_DRAIN
from modelyard.report.finding import findings_text
from modelyard.stack import discover, find_project
from modelyard.stack.project import project_setting

APPROVED = "MODELYARD_PLAN"
"""Environment variable with the path of a saved plan: an update then applies exactly this plan or fails."""


def plan_of_stack() -> Plan:
    """The plan of the stack that the engine runs, made against the live cluster.

    Raises:
        pulumi.RunError: the stack cannot be planned, the plan has errors, the cluster is unreachable, or the plan is
            not the approved one.
    """
    root = find_project(Path.cwd())
    name = pulumi.get_stack()
    files = {found.name: found.path for found in discover(root)} if root is not None else {}
    if root is None or name not in files:
        raise pulumi.RunError(
            f"stack {name} has no stack file; stack files exist for: {', '.join(sorted(files)) or 'none'}"
        )
    file = files[name]
    plan = checked_plan(root, name, lambda: _planned(root, file))
    _check_approval(plan)
    return plan


def _planned(root: Path, file: Path) -> Planned:
    stack, _ = load_stack(root, file)
    if stack is not None:
        check_context(stack)
    return plan_live(root, file, date.today(), waits=not os.environ.get(NO_DRAIN))


def checked_plan(root: Path, name: str, make: Callable[[], Planned]) -> Plan:
    """The plan that ``make`` returns, with its warnings and their remedies in the engine's log.

    Args:
        root: the project's folder.
        name: the stack or component, for messages.
        make: makes the plan, against the live cluster.

    Raises:
        pulumi.RunError: there is no plan, it has errors, or the cluster is unreachable; reports all errors at once.
    """
    check_state(root, pulumi.get_stack())
    if pulumi.Config("kubernetes").get("kubeconfig"):
        # The plan would read one cluster and the engine change another.
        raise pulumi.RunError(
            "the plan does not read kubernetes:kubeconfig; set KUBECONFIG and kubernetes:context instead"
        )
    try:
        plan = _without_errors(name, make())
    except ClusterError as error:
        raise pulumi.RunError(f"{error.summary}; {error.remedy}") from error
    for finding in plan.findings:
        if not finding.waived and finding.severity.value == "warning":
            pulumi.log.warn("\n→ ".join(filter(None, (f"{finding.code} {finding.summary}", finding.remedy))))
    return plan


def _without_errors(name: str, result: Planned) -> Plan:
    if result.plan is None:
        raise pulumi.RunError(_with_errors(f"{name} cannot be planned", result.findings))
    assert result.state is not None
    if result.state.state_objects is None:
        # The engine would delete at the end what no plan contains.
        raise pulumi.RunError(f"{name} cannot be planned: Pulumi's state cannot be read: {result.state.state_error}")
    plan = result.plan
    if not (pulumi.runtime.is_dry_run() or os.environ.get(NO_DRAIN)):
        plan = refused(plan)
    if plan.blocked:
        raise pulumi.RunError(_with_errors(f"{name} was not changed, because its plan has errors", plan.findings))
    for plan, state in result.clusters:
        if state.state_objects is None:
            raise pulumi.RunError(f"{name} cannot be planned: what was applied to {plan.remote} cannot be read")
        if lost := unplanned_objects(plan, state):
            raise pulumi.RunError(f"{name} was not changed, because its plan does not cover {', '.join(lost)}")
    return result.plan


def unplanned_objects(plan: Plan, state: ClusterState) -> tuple[str, ...]:
    """Names of objects that a waived error left out of the plan, so that the engine would restore or delete them."""
    planned = {target.key for target in plan.targets}
    objects = state.objects.reveal()
    held = {key: one for key, one in (state.state_objects or {}).items() if key in objects and key not in planned}
    return tuple(sorted(key.name for key, one in held.items() if one.managed or ours(objects[key])))


def _with_errors(summary: str, findings: Iterable[Finding]) -> str:
    return "\n".join((summary, *findings_text([finding for finding in findings if finding.blocks])))


def _check_approval(plan: Plan) -> None:
    path = os.environ.get(APPROVED)
    if not path:
        return
    try:
        approved = plan_from_json(read_text(Path(path)), path)
    except ReadError as error:
        raise pulumi.RunError(f"{APPROVED}={path} cannot be read: {error.reason}") from error
    except PlanFileError as error:
        raise pulumi.RunError(f"{APPROVED}: {error}") from error
    if approved.stack != plan.stack:
        raise pulumi.RunError(f"{APPROVED}={path} is a plan of {approved.stack}, this is {plan.stack}")
    if differences := moved(approved, plan):
        raise pulumi.RunError(f"{STALE}: {'; '.join(differences)}")


# The folder of the engine's state.
def check_state(root: Path, stack: str) -> None:
    """Rejects a stack that has a second state in a subfolder of the project.

    A relative path in ``Pulumi.yaml`` is relative to the folder where ``pulumi`` runs. In ``stacks/``, Pulumi still
    finds the project, and creates a second state there, independent of the first.

    Raises:
        pulumi.RunError: there is a second state.
    """
    place = _place(root)
    # An apply repeats the project's own address in the variable.
    if (os.environ.get("PULUMI_BACKEND_URL") or place) != place or not _is_relative(place):
        return
    for found in sorted(root.glob("*/.pulumi/stacks/*/*.json")):
        if found.stem == stack:
            folder = found.relative_to(root).parts[0]
            raise pulumi.RunError(
                f"{stack} has a separate state in {folder}/.pulumi, because pulumi ran in {folder}/; "
                f"run it in {root}, and remove {folder}/.pulumi if nothing was applied from there"
            )


def _place(root: Path) -> str:
    backend = project_setting(root, "backend")
    return str(backend.get("url") or "") if isinstance(backend, dict) else ""


def _is_relative(place: str) -> bool:
    return place.startswith("file://") and not place.startswith(("file:///", "file://~"))
