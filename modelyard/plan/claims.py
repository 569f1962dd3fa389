"""Compares the fields that a plan takes from other owners with those it would take now."""

from collections.abc import Collection, Iterator

from modelyard.cluster import Claim
from modelyard.findings import Finding, Severity
from modelyard.plan.values import Plan, TargetPlan


def unapproved(target: TargetPlan, now: Collection[Claim]) -> Finding | None:
    """The finding where an apply without force has other conflicts now than the plan says."""
    more, fewer = sorted(set(now) - set(target.conflicts)), sorted(set(target.conflicts) - set(now))
    if not more and not fewer:
        return None
    words = [f"an apply would take {_listed(more)}"] if more else []
    words += [f"{_listed(fewer)} has no owner now"] if fewer else []
    return Finding(
        "OWN011",
        Severity.ERROR,
        f"{target.name} was not changed, {' and '.join(words)}",
        target=target.name,
        detail="force applies to the whole request, so modelyard sends nothing if the owners differ from the plan",
        remedy="plan again",
    )


def other_owners(approved: Plan, now: Plan) -> Iterator[str]:
    """Fields taken from other owners now but not approved, or approved but not taken now, in words."""
    was, is_now = ({target.key: set(target.conflicts) for target in plan.targets} for plan in (approved, now))
    for key in sorted(was.keys() & is_now.keys()):
        for words, claims in (("now", is_now[key] - was[key]), ("no longer", was[key] - is_now[key])):
            if claims:
                yield f"{key.name} {words} takes {_listed(sorted(claims))}"


def _listed(claims: Collection[Claim]) -> str:
    return ", ".join(map(str, claims))
