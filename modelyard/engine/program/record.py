"""What was applied to a target, kept in the engine's state."""

import pulumi

from modelyard.plan import TargetPlan
from modelyard.plan.drift import FORMAT_VERSION, kept
from modelyard.plan.store import canonical


class Applied(pulumi.ComponentResource):
    """The fields that an apply made ours, noted when it has come to its end.

    The engine's own note, the patch's inputs, is overwritten with what is live by every refresh, also by that of a run
    that goes no further; a component is not refreshed. It is text, because numbers and nulls of a component's outputs
    do not come back as they were.
    """

    def __init__(self, target: TargetPlan, resource: pulumi.CustomResource, parent: pulumi.Resource) -> None:
        name = f"{target.key.kind.lower()}/{target.name}"
        super().__init__("modelyard:index:Applied", name, None, pulumi.ResourceOptions(parent=parent))
        request = canonical(kept(target))
        # The id is known when the API server has taken the request and the rollout is through.
        done = resource.id.apply(lambda _id: request)
        mode = "managed" if target.managed else "existing"
        self.register_outputs({"formatVersion": FORMAT_VERSION, "request": done, "role": target.role, "mode": mode})
