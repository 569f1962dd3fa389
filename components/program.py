"""From the selected Pulumi stack to its plan."""

from datetime import date
from pathlib import Path

import pulumi

from modelyard.cluster.live import ClusterError
from modelyard.plan.project import Planned, plan_live, plan_recorded
from modelyard.plan.values import Plan
from modelyard.report.finding import findings_text
from modelyard.stack import discover, find_project


def plan_of_stack() -> Plan:
    """The plan of the stack that the engine runs, against the live cluster.

    A preview without a cluster falls back to the recorded platform and says so; an update never does.

    Raises:
        pulumi.RunError: the stack cannot be planned, the plan has errors, or the cluster is out of reach.
    """
    root = find_project(Path.cwd())
    name = pulumi.get_stack()
    files = {found.name: found.path for found in discover(root)} if root is not None else {}
    if root is None or name not in files:
        raise pulumi.RunError(f"there is no stack file for {name}; the stacks are {', '.join(sorted(files)) or 'none'}")
    plan = _usable(_plan(root, files[name]), name)
    for finding in plan.findings:
        if not finding.waived and finding.severity.value == "warning":
            pulumi.log.warn(f"{finding.code} {finding.summary}")
    return plan


def _plan(root: Path, file: Path) -> Planned:
    try:
        return plan_live(root, file, date.today())
    except ClusterError as error:
        if not pulumi.runtime.is_dry_run():
            raise pulumi.RunError(f"{error.summary}; {error.remedy}") from error
        pulumi.log.warn(f"{error.summary}; this preview is against the recorded platform")
        return plan_recorded(root, file, date.today())


def _usable(result: Planned, name: str) -> Plan:
    findings = result.findings if result.plan is None else result.plan.findings
    if result.plan is None or result.plan.blocked:
        shown = [finding for finding in findings if finding.blocks]
        raise pulumi.RunError(f"{name} has errors, nothing is changed:\n" + "\n".join(findings_text(shown)))
    return result.plan
