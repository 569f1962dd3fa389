"""One Pulumi resource for one target of a plan."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from modelyard.plan import TargetPlan

_Kinds = Mapping[tuple[str, str], Callable[..., pulumi.CustomResource]]

_PATCHES: _Kinds = {
    ("apps/v1", "Deployment"): kubernetes.apps.v1.DeploymentPatch,
    ("apps/v1", "StatefulSet"): kubernetes.apps.v1.StatefulSetPatch,
    ("apps/v1", "DaemonSet"): kubernetes.apps.v1.DaemonSetPatch,
    ("v1", "Service"): kubernetes.core.v1.ServicePatch,
    ("v1", "ConfigMap"): kubernetes.core.v1.ConfigMapPatch,
}
_OWNED: _Kinds = {
    ("apps/v1", "Deployment"): kubernetes.apps.v1.Deployment,
    ("v1", "Service"): kubernetes.core.v1.Service,
    ("policy/v1", "PodDisruptionBudget"): kubernetes.policy.v1.PodDisruptionBudget,
}


def declare(
    target: TargetPlan,
    parent: pulumi.Resource,
    after: Sequence[pulumi.Resource],
    patience: int,
    before: Sequence[pulumi.ResourceHook] = (),
) -> pulumi.CustomResource:
    """The resource that makes a target what the plan says: a patch of what is there, or the whole object.

    Args:
        target: what to declare; what it asks for is sent as it is.
        parent: the component that the resource belongs to.
        after: resources that must be done first.
        patience: seconds that its rollout may take.
        before: what has to be done, in this order, right before it is created or updated.

    Raises:
        pulumi.RunError: the target is of a kind that cannot be built.
    """
    known = _OWNED if target.managed else _PATCHES
    build = known.get((target.key.api_version, target.key.kind))
    if build is None:
        raise pulumi.RunError(
            f"{target.key.kind} {target.key.api_version} cannot be {'owned' if target.managed else 'patched'}"
        )
    # The provider compares lists by position, so a patch of any item but the first would look changed for ever.
    # Whether something changes is the plan's to say; it compared the request with the live object, by merge keys.
    # An object that is not ready is sent again by the engine all the same, and for what is ignored the provider would
    # then send the live object's fields, everybody's and not just ours. So that one is declared as it is.
    unchanged = target.action == "none" and rolled_out(target.before)
    body = {name: value for name, value in target.applied.items() if name not in ("apiVersion", "kind")}
    return build(
        target.name,
        api_version=target.key.api_version,
        kind=target.key.kind,
        **body,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=list(after),
            ignore_changes=sorted(body) if unchanged else None,
            custom_timeouts=pulumi.CustomTimeouts(create=f"{patience}s", update=f"{patience}s"),
            # A deleted patch is only dropped from the state: its ledger puts the fields back.
            retain_on_delete=not target.managed,
            hooks=pulumi.ResourceHookBinding(before_create=[*before], before_update=[*before]),
        ),
    )


def rolled_out(live: Mapping[str, Any] | None) -> bool:
    """Whether a live object has the pods that it asks for, all of them up to date and available.

    True of an object that asks for none.
    """
    if live is None:
        return False
    spec, status = live.get("spec") or {}, live.get("status") or {}
    generation = live["metadata"].get("generation", 0)
    wanted = spec.get("replicas", status.get("desiredNumberScheduled", 0))
    return bool(
        status.get("observedGeneration", generation) >= generation
        and status.get("updatedReplicas", status.get("updatedNumberScheduled", 0)) == wanted
        and status.get("availableReplicas", status.get("numberAvailable", 0)) == wanted
        and status.get("replicas", wanted) == wanted
    )
