"""The parts of an environment, each a component that declares its targets."""

from collections.abc import Sequence

import pulumi

from components.objects import declare
from modelyard.plan import Plan, TargetPlan


class Part(pulumi.ComponentResource):
    """Some targets of a plan under one name."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(f"modelyard:index:{type(self).__name__}", name, None, opts)
        self.resources: dict[str, pulumi.CustomResource] = {}

    def add(self, target: TargetPlan, after: Sequence[pulumi.Resource] = ()) -> pulumi.CustomResource:
        """Declares one target, behind the resources of ``after``."""
        self.resources[f"{target.key.kind}/{target.name}"] = resource = declare(target, self, after)
        return resource

    def close(self) -> None:
        """Tells the engine that no target follows."""
        self.register_outputs({"targets": sorted(self.resources)})


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
    """How the training side sleeps. In annotation mode its fields are part of the training targets, one patch each."""

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("modelyard:index:Autoscaling", name, None, opts)
        limits = {
            target.name: maximum
            for target in plan.targets
            if (maximum := _annotations(target).get("autoscaling/max_replicas")) is not None
        }
        self.limits = limits
        self.register_outputs({"maxReplicas": limits})


def _annotations(target: TargetPlan) -> dict[str, str]:
    found: dict[str, str] = target.applied.get("metadata", {}).get("annotations", {})
    return found
