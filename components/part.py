"""A part of a platform: a component that declares its targets."""

from collections.abc import Sequence

import pulumi

from modelyard.engine.program.resource import Applied, declare
from modelyard.engine.program.undoing import handed_over, let_go, noted
from modelyard.plan import Plan, TargetPlan


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
        """Declares one target, after the resources of ``after``; ``patience`` is for its rollout, in seconds.

        The hooks of ``before`` run right before it is changed, those of ``behind`` right after. Whatever
        comes after it waits for the returned resource.
        """
        if target.leaves:
            return let_go(self._plan, target, self, after, before, behind)
        self._targets[f"{target.key.kind}/{target.name}"] = list(target.patches)
        resource = declare(target, self, (*after, *noted(self._plan, target, self)), patience, before, behind)
        Applied(target, resource, self)
        return handed_over(self._plan, target, resource, self)

    def close(self) -> None:
        """Reports to the engine that no target follows, and which patches each has."""
        self.register_outputs({"patches": self._targets})


class OtherTargets(Part):
    """Targets of the project's own patches that belong to none of the platform's workloads."""
