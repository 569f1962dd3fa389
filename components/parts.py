"""The parts of an environment, each a component that declares its targets."""

from collections.abc import Sequence

import pulumi

from components.objects import declare
from components.record import Applied
from components.undoing import handed_over, let_go, noted
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.keda import bounds


class Part(pulumi.ComponentResource):
    """Some targets of a plan under one name."""

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(f"modelyard:index:{type(self).__name__}", name, None, opts)
        self._plan = plan
        self._targets: dict[str, list[str]] = {}

    def add(
        self,
        target: TargetPlan,
        after: Sequence[pulumi.Resource],
        patience: int,
        before: Sequence[pulumi.ResourceHook] = (),
        behind: Sequence[pulumi.ResourceHook] = (),
    ) -> pulumi.Resource:
        """Declares one target, behind the resources of ``after``; ``patience`` is for its rollout, in seconds.

        The hooks of ``before`` run right before it is changed, those of ``behind`` right after. What is to come after
        it waits for what is returned.
        """
        if target.leaves:
            return let_go(self._plan, target, self, after, before, behind)
        self._targets[f"{target.key.kind}/{target.name}"] = list(target.patches)
        resource = declare(target, self, (*after, *noted(self._plan, target, self)), patience, before, behind)
        Applied(target, resource, self)
        return handed_over(self._plan, target, resource, self)

    def close(self) -> None:
        """Tells the engine that no target follows, and which patches each has."""
        self.register_outputs({"patches": self._targets})


class ModelService(Part):
    """CPU inference: size, replicas and the local volume of the model service."""


class RayCluster(Part):
    """The Ray head and the training workers."""


class CeleryTraining(Part):
    """The Celery training tasks."""


class TrainingSwitch(Part):
    """The route of new training requests: the first thing that moves when the flag does."""


class OtherTargets(Part):
    """Targets of the project's own patches that belong to none of the platform's workloads."""


class Autoscaling(pulumi.ComponentResource):
    """How the training sides sleep: the most replicas of each.

    Its fields and objects are part of the training targets, so it declares no resource of its own.
    """

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("modelyard:index:Autoscaling", name, None, opts)
        self.register_outputs({"maxReplicas": autoscaled(plan)})


def autoscaled(plan: Plan) -> dict[str, str]:
    """The most replicas of each target that an autoscaler looks after, by name."""
    found = {target.name: target.after["metadata"].get("annotations") or {} for target in plan.asked}
    key = "autoscaling/max_replicas"
    said = {name: annotations[key] for name, annotations in found.items() if key in annotations}
    return said | {name: str(most) for name, (_, most) in bounds(plan.asked).items() if most is not None}
