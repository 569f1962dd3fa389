"""What the policy pack knows of one stack: its file, its rules as they run, and what is wrong before any resource."""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.plan.sides import sides_of
from modelyard.policy import planner
from modelyard.policy.loading import Policies
from modelyard.policy.settings import Settings, stack_layer
from modelyard.stack import Stack, apply_waivers, discover, load, project_name
from modelyard.workloads import Facts, Workload, workloads


class Context(NamedTuple):
    """One stack."""

    stack: Stack | None
    """None where the project has no file of that stack, or one with mistakes."""
    facts: Facts
    workloads: Mapping[str, Workload]
    """By name of their Deployment."""
    namespace: str
    settings: Settings
    findings: Mapping[str, tuple[Finding, ...]]
    """What is wrong with the stack as a whole, by the policy that tells it; no advice, nothing that is waived."""
    remotes: Mapping[str, Facts] = {}
    """The facts of its side in each remote cluster, by name. None of the workloads is there."""


def context_of(root: Path, policies: Policies, project: str, name: str, today: date) -> Context:
    """What is known of a stack.

    Args:
        root: the project that the policies are of.
        policies: the project's.
        project: the name of the stack's project; of another one, only the project-wide settings count.
        name: the stack's name.
        today: the day it is, for waivers.
    """
    wrong = list(policies.findings)
    files = {one.name: one for one in discover(root)} if project_name(root) in ("", project) else {}
    if name not in files:
        return Context(None, {}, {}, "", policies.settings, {"configuration": _errors(wrong)})
    stack, findings = load(files[name].path, files[name].shown, root)
    wrong += findings
    if stack is None:
        return Context(None, {}, {}, "", policies.settings, {"configuration": _errors(wrong)})
    settings, mistakes = policies.of_stack(stack_layer(stack))
    wrong += [one for one in mistakes if one.file == stack.file]
    sized = workloads(stack.config)
    own, *remotes = sides_of(stack)
    by_code: dict[str, list[Finding]] = {"configuration": wrong}
    for finding in settings.weighed(apply_waivers(planner.of_stack(stack), stack, today)):
        by_code.setdefault(finding.code, []).append(finding)
    return Context(
        stack,
        own.known,
        {workload.deployment: workload for workload in sized},
        stack.config.platform.namespace,
        settings,
        {code: _errors(found, warnings=code != "configuration") for code, found in by_code.items()},
        {side.name: side.known for side in remotes},
    )


def _errors(findings: Iterable[Finding], *, warnings: bool = False) -> tuple[Finding, ...]:
    weighty = (Severity.ERROR, Severity.WARNING) if warnings else (Severity.ERROR,)
    return tuple(one for one in findings if one.severity in weighty and not one.waived)
