"""One Pulumi resource for one target of a plan."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from modelyard.plan import FIELD_MANAGER, TargetPlan

_PATCHES: dict[tuple[str, str], type[pulumi.CustomResource]] = {
    ("apps/v1", "Deployment"): kubernetes.apps.v1.DeploymentPatch,
    ("apps/v1", "StatefulSet"): kubernetes.apps.v1.StatefulSetPatch,
    ("apps/v1", "DaemonSet"): kubernetes.apps.v1.DaemonSetPatch,
    ("v1", "Service"): kubernetes.core.v1.ServicePatch,
    ("v1", "ConfigMap"): kubernetes.core.v1.ConfigMapPatch,
}
_OWNED: dict[tuple[str, str], type[pulumi.CustomResource]] = {
    ("apps/v1", "Deployment"): kubernetes.apps.v1.Deployment,
    ("v1", "Service"): kubernetes.core.v1.Service,
    ("policy/v1", "PodDisruptionBudget"): kubernetes.policy.v1.PodDisruptionBudget,
}


def declare(
    target: TargetPlan, parent: pulumi.Resource, depends_on: Sequence[pulumi.Resource] = ()
) -> pulumi.CustomResource:
    """The resource that makes a target what the plan says: a patch of what is there, or the whole object.

    Raises:
        pulumi.RunError: the target is of a kind that cannot be built.
    """
    known = _OWNED if target.managed else _PATCHES
    kind = known.get((target.key.api_version, target.key.kind))
    if kind is None:
        raise pulumi.RunError(
            f"{target.key.kind} {target.key.api_version} cannot be {'owned' if target.managed else 'patched'}"
        )
    options = pulumi.ResourceOptions(parent=parent, depends_on=list(depends_on))
    resource: pulumi.CustomResource = kind(target.name, **_arguments(target), opts=options)
    return resource


def _arguments(target: TargetPlan) -> dict[str, Any]:
    body = target.applied
    metadata: Mapping[str, Any] = body["metadata"]
    # Force is for the whole request; the plan's findings have told each field that it takes over, and stopped the
    # update where a controller would fight.
    annotations = {
        **metadata.get("annotations", {}),
        "pulumi.com/patchFieldManager": FIELD_MANAGER,
        "pulumi.com/patchForce": "true",
    }
    return {
        **{name: value for name, value in body.items() if name not in ("apiVersion", "kind", "metadata")},
        "api_version": target.key.api_version,
        "kind": target.key.kind,
        "metadata": {**metadata, "annotations": annotations},
    }
