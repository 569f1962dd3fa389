"""An environment: its parts, in the plan's order."""

import pulumi

from components.parts import (
    Autoscaling,
    CeleryTraining,
    ModelService,
    OtherTargets,
    Part,
    RayCluster,
    TrainingSwitch,
)
from modelyard.plan import Plan

PARTS: dict[str, type[Part]] = {
    "apiServer": TrainingSwitch,
    "modelService": ModelService,
    "rayHead": RayCluster,
    "rayWorker": RayCluster,
    "celery": CeleryTraining,
    "": OtherTargets,
}
"""The component of each workload's targets."""


class Platform(pulumi.ComponentResource):
    """Everything that a plan changes, as one component with the outputs that a person wants to know.

    The training targets form a chain in the plan's order (route, then up and down as the free GPUs allow), so that
    an update keeps the order by itself. Targets outside the chain do not wait.
    """

    def __init__(self, name: str, plan: Plan) -> None:
        super().__init__("modelyard:index:Platform", name)
        inside = pulumi.ResourceOptions(parent=self)
        parts: dict[type[Part], Part] = {}
        chain: list[pulumi.Resource] = []
        for target in plan.targets:
            kind = PARTS[target.role]
            part = parts.get(kind) or parts.setdefault(kind, kind(_dashed(kind.__name__), inside))
            chained = target.phase != "normal"
            resource = part.add(target, chain[-1:] if chained else ())
            if chained:
                chain.append(resource)
        for part in parts.values():
            part.close()
        Autoscaling("autoscaling", plan, inside)
        outputs = _outputs(plan)
        self.register_outputs(outputs)
        for key, value in outputs.items():
            pulumi.export(key, value)


def _dashed(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


def _outputs(plan: Plan) -> dict[str, object]:
    return {
        "training": plan.training,
        "headline": plan.headline,
        "namespace": plan.namespace,
        "cluster": plan.cluster,
        "gpus": sum(target.gpus[1] for target in plan.targets),
        "patches": {target.name: list(target.patches) for target in plan.targets},
        "changed": [target.name for target in plan.changed],
    }
