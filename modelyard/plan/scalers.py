"""Autoscalers of the cluster that write, or will write, the replicas of a plan's targets."""

from collections.abc import Iterable, Iterator

from modelyard.findings import Finding, Severity
from modelyard.kube.state import Scaler
from modelyard.plan.values import TargetPlan


def scalers_of(target: TargetPlan, scalers: Iterable[Scaler]) -> tuple[Scaler, ...]:
    """Those that look after a target; the version of its API does not matter."""
    key = target.key
    group = key.api_version.partition("/")[0]
    return tuple(
        one for one in scalers if one.target[1:] == key[1:] and one.target.api_version.partition("/")[0] == group
    )


def check_scalers(targets: Iterable[TargetPlan], scalers: Iterable[Scaler]) -> Iterator[Finding]:
    """Targets whose replicas a plan sets and an autoscaler as well, also one that has not written yet."""
    scalers = tuple(scalers)
    for target in targets:
        if target.replicas[1] is None or "replicas" not in (target.applied.get("spec") or {}):
            continue
        found = sorted(f"{one.kind} {one.name}" for one in scalers_of(target, scalers))
        if found:
            yield Finding(
                "OWN002",
                Severity.ERROR,
                f"{' and '.join(found)} {'sets' if len(found) == 1 else 'set'} spec.replicas of {target.name}",
                target=target.name,
                field="spec.replicas",
                detail="both would set the field again and again",
                remedy="leave the field to it (drop the patch or its parameter), or delete that autoscaler first",
            )
