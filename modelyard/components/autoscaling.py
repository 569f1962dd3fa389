"""How training scales."""

from typing import Unpack

import pulumi

from modelyard.components.arguments import AutoscalingArgs, BackendName, autoscaling_section, divided
from modelyard.components.part import Part
from modelyard.components.planning import ComponentSettings
from modelyard.plan import Plan
from modelyard.plan.keda import bounds
from modelyard.stack.config import WORKERS


class Autoscaling(Part):
    """How training scales: by KEDA's ScaledObjects, or by the platform's own autoscaler, which reads annotations.

    Annotations are fields of the training Deployments. In a ``Platform`` they are part of those targets, and this
    component reports the most replicas of each. By itself it patches the Deployment that another program sizes.
    """

    def __init__(
        self,
        name: str,
        *,
        training: BackendName = "ray",
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[AutoscalingArgs],
    ) -> None:
        """Declares the autoscaling of one training backend.

        Args:
            name: name of the component.
            training: the backend that scales.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: as in the section ``autoscaling`` of a stack file, and ``Surroundings``.
        """
        own, around = divided(args)
        settings = ComponentSettings(autoscaling_section(own), frozenset({WORKERS[training]}), training)
        super().__init__(name, plan, settings, around, opts)

    def outputs(self) -> dict[str, object]:
        """The most replicas of each autoscaled target, and the patches of the component's own."""
        return {"maxReplicas": autoscaled(self._plan), **(super().outputs() if self._targets else {})}


def autoscaled(plan: Plan) -> dict[str, str]:
    """The most replicas of each autoscaled target, by name."""
    found = {target.name: target.after.reveal()["metadata"].get("annotations") or {} for target in plan.asked}
    key = "autoscaling/max_replicas"
    annotated = {name: annotations[key] for name, annotations in found.items() if key in annotations}
    return annotated | {name: str(most) for name, most in bounds(plan.asked).items() if most is not None}
