"""A stack: its parts, in the plan's order."""

import re
from collections.abc import Mapping

import pulumi

from components.autoscaling import Autoscaling, autoscaled
from components.celery_training import CeleryTraining
from components.model_service import ModelService
from components.part import OtherTargets, Part
from components.ray_cluster import RayCluster
from components.remote_cluster import RemoteCluster
from components.training_switch import TrainingSwitch
from modelyard.engine.home import Cluster
from modelyard.engine.program.approved import Guard
from modelyard.engine.program.draining import waits_before
from modelyard.engine.program.live import Live
from modelyard.engine.program.rollouts import Rollouts
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.reach import in_turn

PARTS: Mapping[str, type[Part]] = {
    "apiServer": TrainingSwitch,
    "modelService": ModelService,
    "rayHead": RayCluster,
    "rayWorker": RayCluster,
    "celery": CeleryTraining,
}
"""The component of each workload's targets; ``OtherTargets`` has the others."""

ROLLOUT = 600
"""Seconds that a rollout may take when it waits for no running pod: the provider's own limit."""


class Platform(pulumi.ComponentResource):
    """Everything that a plan changes, as one component with the outputs that you want to know.

    The training targets form a chain in the plan's order (route, then up and down as the free GPUs allow), so that
    an update keeps the order by itself, after the head that the route will lead to. Targets outside the chain wait only
    for the objects by which Kueue reaches worker clusters. A target whose change stops pods that a job may need waits
    until its training backend is idle.
    """

    def __init__(self, name: str, plan: Plan) -> None:
        super().__init__("modelyard:index:Platform", name)
        inside = pulumi.ResourceOptions(parent=self)
        parts: dict[type[Part], Part] = {}
        last: tuple[pulumi.Resource, ...] = ()
        live = Live(plan.context)
        guard, rollouts = Guard(live), Rollouts(live)
        home = Cluster(plan, inside)
        waiting = {name for wait in plan.drains for name in wait.targets}
        chain = chained(plan)
        drained = 0
        made: dict[str, pulumi.Resource] = {}
        for target, needs in in_turn(plan.targets):
            kind = PARTS.get(target.role, OtherTargets)
            part = parts.get(kind) or parts.setdefault(kind, kind(_dashed(kind.__name__), plan, inside))
            drain = _drain(target, target.name in waiting)
            # A delete takes no field from another owner, so there is nothing to check.
            look = () if target.action == "delete" else (guard.before(target),)
            hooks = (*waits_before(plan, target), *look)
            after = (home, *(made[name] for name in needs))
            if target.name not in chain:
                patience = ROLLOUT + drain
                made[target.name] = part.add(target, after, patience, hooks, rollouts.after(target, patience))
                continue
            # A job may run for its pod's grace period, and the next pod on that GPU waits for it.
            drained = max(drained, drain)
            patience = ROLLOUT + drained
            hooks = (*(rollouts.before(target) if last else ()), *hooks)
            made[target.name] = part.add(target, (*after, *last), patience, hooks, rollouts.after(target, patience))
            last = (made[target.name],)
        for part in parts.values():
            part.close()
        Autoscaling("autoscaling", plan, inside)
        for far in plan.remotes:
            RemoteCluster(far, inside)
        shown = outputs(plan)
        self.register_outputs(shown)
        for key, value in shown.items():
            pulumi.export(key, value)


def chained(plan: Plan) -> frozenset[str]:
    """The names of the targets that change one after the other."""
    waiting = {name for wait in plan.drains for name in wait.targets}
    route = max((index for index, target in enumerate(plan.targets) if target.phase == "route"), default=0)
    return frozenset(
        target.name
        for index, target in enumerate(plan.targets)
        if target.phase != "normal" or target.name in waiting or index < route
    )


def outputs(plan: Plan) -> dict[str, object]:
    """The outputs of a stack; they describe its state, so a run that changes nothing does not change them."""
    workloads = [target for target in plan.asked if target.key.kind == "Deployment"]
    far = {one.remote: one.cluster for one in plan.remotes}
    return {
        **({"remoteClusters": far} if far else {}),
        "headline": plan.headline,
        "training": plan.training,
        "namespace": plan.namespace,
        "cluster": plan.cluster,
        "replicas": {target.name: _replicas(target) for target in workloads},
        "gpus": sum(target.gpus[1] for target in workloads if target.replicas[1] is not None),
        "maxReplicas": autoscaled(plan),
        "patches": {target.name: list(target.patches) for target in workloads},
    }


def _replicas(target: TargetPlan) -> int | str:
    return "autoscaled" if target.replicas[1] is None else target.replicas[1]


def _drain(target: TargetPlan, waits: bool) -> int:
    """Seconds that the pods which this update stops may take to end, 0 if it stops none.

    A target that ``waits`` stops some, which may be pods that an autoscaler has started by then.
    """
    before, after = target.replicas
    fewer = before is not None and after is not None and after < before
    return target.grace_period if waits or target.replaces_pods or fewer else 0


def _dashed(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
