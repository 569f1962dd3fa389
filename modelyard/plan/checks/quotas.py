"""Whether the quotas of a namespace allow a plan's pods.

A Deployment whose pods a quota rejects is accepted and never becomes ready, so its step would wait until its time
limit.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from modelyard.findings import Finding, Severity
from modelyard.kube.merge import Path
from modelyard.kube.scheduling.capacity import MANY, amount
from modelyard.kube.scheduling.pods import ONE_TEMPLATE, limits_of, pod_places, pods_of, replicas_of
from modelyard.kube.state import Quota
from modelyard.plan.values import TargetPlan

_SHORT = ("cpu", "memory", "ephemeral-storage")
"""Resources whose requests a quota may also name without ``requests.``."""
_ZERO = Fraction(0)


def check_quotas(targets: Iterable[TargetPlan], quotas: Iterable[Quota]) -> Iterator[Finding]:
    """Findings where the pods of all targets together exceed what a quota has left, in any order of changes.

    Replicas that an autoscaler sets count as they are now.
    """
    known = [(target, _growth(target)) for target in targets if target.action != "none"]
    for quota in quotas:
        theirs = [(target, growth) for target, growth in known if target.key.namespace == quota.namespace]
        for name, hard in quota.hard.items():
            most, largest = max(((growth.get(name, _ZERO), one) for one, growth in theirs), default=(_ZERO, None))
            more = sum((growth.get(name, _ZERO) for _, growth in theirs), _ZERO)
            used = quota.used.get(name, _ZERO)
            if largest is not None and most > 0 and more > 0 and used + more > hard:
                resource = name.removeprefix("requests.").removeprefix("limits.")
                said = (amount(resource, value) for value in (more, hard - used, hard))
                yield Finding(
                    "RES108",
                    Severity.ERROR,
                    "quota {} is too small for the pods of this plan: they need {} more {}, and {} of {} are "
                    "left".format(quota.name, next(said), name, *said),
                    target=largest.name,
                    detail=f"the API server would reject pods of {largest.name}, which would never become ready",
                    remedy=f"request less, or ask for a larger quota: kubectl --namespace {quota.namespace} "
                    f"describe quota {quota.name}",
                )


def pods_within(body: Mapping[str, Any], place: Path, namespace: str, quotas: Iterable[Quota]) -> int:
    """How many more pods of an object's workload the quotas of its namespace allow now."""
    charges = charged(body, place)
    counts = [
        (quota.hard[name] - quota.used.get(name, _ZERO)) // charge
        for quota in quotas
        if quota.namespace == namespace
        for name, charge in charges.items()
        if charge and name in quota.hard
    ]
    return max(0, min((int(count) for count in counts), default=MANY))


def charged(body: Mapping[str, Any] | None, place: Path = ONE_TEMPLATE) -> dict[str, Fraction]:
    """What a quota counts for one pod that an object has at a place, by the names that a quota may use."""
    pods = pods_of(body, place)
    if not pods.spec:
        return {}
    return {
        "pods": Fraction(1),
        "count/pods": Fraction(1),
        **{name: value for name, value in pods.requests.items() if name in _SHORT},
        **{f"requests.{name}": value for name, value in pods.requests.items()},
        **{f"limits.{name}": value for name, value in limits_of(pods.spec).items()},
    }


def _growth(target: TargetPlan) -> dict[str, Fraction]:
    """How much more a target's pods request than before; less is negative.

    While a RayService is upgraded, its old pods still run.
    """
    before, after = target.before.reveal(), target.after.reveal()
    total: dict[str, Fraction] = {}
    for place in dict.fromkeys((*pod_places(before), *pod_places(after))):
        running, wanted = replicas_of(before, place), replicas_of(after, place)
        if place == target.place and target.replicas[1] is None:
            wanted = running
        for sign, body, number in ((0 if target.upgrades else -1, before, running), (1, after, wanted)):
            for name, value in charged(body, place).items():
                total[name] = total.get(name, _ZERO) + sign * value * (number or 0)
    return total
