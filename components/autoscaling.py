"""Autoscaling of the training backends."""

import pulumi

from modelyard.plan import Plan
from modelyard.plan.keda import bounds


class Autoscaling(pulumi.ComponentResource):
    """The autoscaling of the training backends: the most replicas of each.

    Its fields and objects are part of the training targets, so it declares no resource of its own.
    """

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("modelyard:index:Autoscaling", name, None, opts)
        self.register_outputs({"maxReplicas": autoscaled(plan)})


def autoscaled(plan: Plan) -> dict[str, str]:
    """The most replicas of each autoscaled target, by name."""
    found = {target.name: target.after.reveal()["metadata"].get("annotations") or {} for target in plan.asked}
    key = "autoscaling/max_replicas"
    said = {name: annotations[key] for name, annotations in found.items() if key in annotations}
    return said | {name: str(most) for name, (_, most) in bounds(plan.asked).items() if most is not None}
