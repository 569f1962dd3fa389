"""A part of a platform: a component that declares its targets."""

import re
from collections.abc import Callable, Sequence

import pulumi

from modelyard.components.arguments import Surroundings
from modelyard.components.planning import ComponentSettings, claim, plan_of_arguments
from modelyard.engine.home import Cluster
from modelyard.engine.program.hooks import Guard, Live, Rollouts, waits_before
from modelyard.engine.program.resource import PROVIDER, Applied, declare, declare_dropped, last_resource, noted
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.reach import in_turn

ROLLOUT = 600
"""Seconds that a rollout may take when it waits for no running pod: the provider's own limit."""


class Part(pulumi.ComponentResource):
    """Some targets of a plan under one name.

    Inside a ``Platform`` it has the part's share of the stack's plan. Without a plan it makes its own, from its
    arguments.
    """

    def __init__(
        self,
        name: str,
        plan: Plan | None,
        settings: ComponentSettings,
        surroundings: Surroundings,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        """Declares the component, and its targets if it makes the plan.

        Raises:
            pulumi.RunError: the arguments or the plan have errors, or the cluster is out of reach.
        """
        kind = type(self).__name__
        made = plan_of_arguments(kind, name, settings, surroundings, opts) if plan is None else plan
        if plan is None:
            opts = pulumi.ResourceOptions.merge(opts, provider_of(f"{dashed(kind)}-{name}", made, opts))
        super().__init__(f"modelyard:index:{kind}", name, None, opts)
        self._plan = made
        self._targets: dict[str, list[str]] = {}
        if plan is None:
            inside = pulumi.ResourceOptions(parent=self, depends_on=opts.depends_on if opts is not None else None)
            carry_out(f"{kind} {name}", made, Cluster(made, inside, name), lambda _target: (self, None))
            self.close()

    def add(
        self,
        target: TargetPlan,
        after: Sequence[pulumi.Resource],
        patience: int,
        *,
        before: Sequence[pulumi.ResourceHook],
        behind: Sequence[pulumi.ResourceHook],
        earlier: pulumi.Input[str] | None,
    ) -> pulumi.Resource:
        """Declares one target, after the resources of ``after``; ``patience`` is for its rollout, in seconds.

        The hooks of ``before`` run right before it is changed, those of ``behind`` right after. Whatever
        comes after it waits for the returned resource. ``earlier`` is the URN of the component that it belonged to in
        earlier versions.
        """
        if target.dropped:
            return declare_dropped(self._plan, target, self, after=after, before=before, behind=behind)
        self._targets[f"{target.key.kind}/{target.name}"] = list(target.patches)
        first = (*after, *noted(self._plan, target, self))
        resource = declare(target, self, first, patience=patience, before=before, behind=behind, earlier=earlier)
        Applied(target, resource, self, earlier)
        return last_resource(self._plan, target, resource, self)

    def close(self) -> None:
        """Reports to the engine that no target follows."""
        self.register_outputs(self.outputs())

    def outputs(self) -> dict[str, object]:
        """The patches of each target."""
        return {"patches": self._targets}


def carry_out(
    about: str,
    plan: Plan,
    home: Cluster,
    part_of: Callable[[TargetPlan], tuple[Part, pulumi.Input[str] | None]],
) -> None:
    """Declares the targets of a plan, in its order.

    The training targets form a chain in the plan's order (route, then up and down as the free GPUs allow), so that
    an update keeps the order by itself, after the head that the route will lead to. Targets outside the chain wait only
    for the objects by which Kueue reaches worker clusters. A target whose change stops pods that a job may need waits
    until its training backend is idle.

    Every target waits for its cluster, ``home``. ``part_of`` returns the component of a target, and the URN of the one
    that it belonged to in earlier versions. Messages name the component that makes the plan, ``about``.

    Raises:
        pulumi.RunError: another component of the program changes one of the objects.
    """
    claim(about, plan)
    last: tuple[pulumi.Resource, ...] = ()
    live = Live(plan.context)
    guard, rollouts = Guard(live), Rollouts(live)
    waiting = {name for wait in plan.drains for name in wait.targets}
    route = max((index for index, target in enumerate(plan.targets) if target.phase == "route"), default=0)
    chain = {
        target.name
        for index, target in enumerate(plan.targets)
        if target.phase != "normal" or target.name in waiting or index < route
    }
    drained = 0
    made: dict[str, pulumi.Resource] = {}
    for target, needs in in_turn(plan.targets):
        part, earlier = part_of(target)
        drain = _drain(target, target.name in waiting)
        # A delete takes no field from another owner, so there is nothing to check.
        look = () if target.action == "delete" else (guard.before(target),)
        hooks = (*waits_before(plan, target), *look)
        after = (home, *(made[name] for name in needs))
        patience = ROLLOUT + drain
        if target.name in chain:
            # A job may run for its pod's grace period, and the next pod on that GPU waits for it.
            drained = max(drained, drain)
            patience = ROLLOUT + drained
            hooks = (*(rollouts.before(target) if last else ()), *hooks)
            after = (*after, *last)
        made[target.name] = part.add(
            target, after, patience, before=hooks, behind=rollouts.after(target, patience), earlier=earlier
        )
        if target.name in chain:
            last = (made[target.name],)


def provider_of(name: str, plan: Plan, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """Options with the engine's provider for the cluster that a plan has read, and no other.

    The kubeconfig belongs to the user who runs the engine: no credential enters its state.
    """
    own = pulumi.ResourceOptions(parent=opts.parent if opts is not None else None, version=PROVIDER)
    context = {} if plan.context is None else {"context": plan.context}
    return pulumi.ResourceOptions(providers=[pulumi.ProviderResource("kubernetes", name, context, own)])


def dashed(name: str) -> str:
    """The name of a class as resources are named: ``model-service``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _drain(target: TargetPlan, waits: bool) -> int:
    """Seconds that the pods which this update stops may take to end, 0 if it stops none.

    A target that ``waits`` stops some, which may be pods that an autoscaler has started by then.
    """
    before, after = target.replicas
    fewer = before is not None and after is not None and after < before
    return target.grace_period if waits or target.replaces_pods or fewer else 0
