"""Targets and workloads by the names that people type."""

from typing import TYPE_CHECKING

from modelyard.cli.exit import Exit, Stop

if TYPE_CHECKING:
    from modelyard.plan.values import Plan
    from modelyard.stack import Stack
    from modelyard.workloads import Workload


def chosen_target(plan: "Plan", stack: "Stack", name: str) -> str:
    """The full name of a target, from a full name, a unique part of one, or a workload (``rayWorker``).

    Also accepts a target that could not be planned.
    """
    from modelyard.report.part import target_names

    matches = matching_targets(plan, stack, name)
    if len(matches) == 1:
        return matches[0]
    raise Stop(
        Exit.USAGE,
        f"{name!r} matches {'several targets' if matches else 'no target'} of {plan.stack}",
        "targets: " + (", ".join(matches or target_names(plan)) or "none"),
    )


def planned_target(plan: "Plan", stack: "Stack", name: str) -> str:
    """The full name of a planned target; ends the run with the findings of a target without a plan."""
    from modelyard.report.part import unplanned

    full = chosen_target(plan, stack, name)
    errors = unplanned(plan).get(full, ())
    if errors:
        codes = list(dict.fromkeys(finding.code for finding in errors))
        raise Stop(
            Exit.FINDINGS,
            f"{full} cannot be planned: it has {', '.join(codes)}",
            f"modelyard explain {codes[0]} explains it",
            errors,
        )
    return full


def matching_targets(plan: "Plan", stack: "Stack", name: str) -> list[str]:
    """The full names of the targets that a full name, a part of one, or a workload stands for."""
    from modelyard.report.part import target_names

    names = target_names(plan)
    kind, slash, last = name.partition("/")
    # ``RayCluster/training``, as ``diff`` and kubectl name it.
    name = last if slash and kind[:1].isupper() and name not in names else name
    return [name] if name in names else [full for full in names if name in full] or _of_role(plan, stack, name)


def workload_named(stack: "Stack", name: str) -> "Workload | None":
    """The workload that a user calls ``rayWorker``, also written ``ray-worker``; None if there is none."""
    from modelyard.workloads import every_workload

    role = name.replace("-", "").lower()
    return next((one for one in every_workload(stack.config) if one.role.lower() == role), None)


def _of_role(plan: "Plan", stack: "Stack", name: str) -> list[str]:
    """The targets of a workload: its object, or the objects of its autoscaler if the plan has only these."""
    workload = workload_named(stack, name)
    if workload is None:
        return []
    theirs = {one.name for one in plan.everything if one.role == workload.role or one.name == workload.deployment}
    return [workload.deployment] if workload.deployment in theirs else sorted(theirs)
