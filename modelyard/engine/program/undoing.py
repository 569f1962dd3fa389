"""The resources that undo a patched target: a ledger before the target, and a handover after it."""

from collections.abc import Sequence

import pulumi

from modelyard.engine.leaving import Removal, Restore
from modelyard.engine.ledger import Handover, Ledger
from modelyard.engine.program.resource import around
from modelyard.plan import Plan, TargetPlan


def noted(plan: Plan, target: TargetPlan, parent: pulumi.Resource) -> tuple[pulumi.Resource, ...]:
    """The ledger that a target's patch depends on; None for an object that the stack owns and deletes as a whole.

    A destroy first deletes the patch, which only drops it from the state, and then the ledger, which restores the
    object.
    """
    return () if target.managed else (Ledger(plan, target, pulumi.ResourceOptions(parent=parent)),)


def handed_over(plan: Plan, target: TargetPlan, patch: pulumi.Resource, parent: pulumi.Resource) -> pulumi.Resource:
    """The last resource of a target, for which the next target waits."""
    if target.managed:
        return patch
    return Handover(plan, target, pulumi.ResourceOptions(parent=parent, depends_on=[patch]))


def let_go(
    plan: Plan,
    target: TargetPlan,
    parent: pulumi.Resource,
    after: Sequence[pulumi.Resource],
    before: Sequence[pulumi.ResourceHook],
    behind: Sequence[pulumi.ResourceHook],
) -> pulumi.Resource:
    """The resource that restores or deletes a target that the stack no longer asks for, once ``after`` is done, between
    the hooks of ``before`` and ``behind``.
    """
    opts = pulumi.ResourceOptions(parent=parent, depends_on=list(after), hooks=around(before, behind))
    return (Restore if target.action == "restore" else Removal)(plan, target, opts)
