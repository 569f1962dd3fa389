"""What makes a patched target go back: its ledger before it, its handover behind it."""

import pulumi

from modelyard.engine.ledger import Handover, Ledger
from modelyard.plan import Plan, TargetPlan


def noted(plan: Plan, target: TargetPlan, parent: pulumi.Resource) -> tuple[pulumi.Resource, ...]:
    """The ledger that a target's patch depends on; none for an object that the stack owns and deletes as a whole.

    Whoever deletes resources deletes the patch first, which only drops it from the state, and then the ledger, which
    puts the object back.
    """
    return () if target.managed else (Ledger(plan, target, pulumi.ResourceOptions(parent=parent)),)


def handed_over(plan: Plan, target: TargetPlan, patch: pulumi.Resource, parent: pulumi.Resource) -> pulumi.Resource:
    """The target's last resource: whoever comes after the target waits for it."""
    if target.managed:
        return patch
    return Handover(plan, target, pulumi.ResourceOptions(parent=parent, depends_on=[patch]))
