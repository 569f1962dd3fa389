"""The plan of a destroy: every object of a stack is restored or deleted, in each cluster of the stack file."""

from collections.abc import Iterable, Iterator, Mapping

from modelyard.catalog import Library
from modelyard.findings import Finding, Severity, loud, ordered
from modelyard.kube import merge
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.plan.cluster_parts import ClusterPart, cluster_parts, on_cluster
from modelyard.plan.keda import freed
from modelyard.plan.reach import kind_rank
from modelyard.plan.target import old_pods
from modelyard.plan.undo.dropped import dropped_objects, planned_drop
from modelyard.plan.values import Plan
from modelyard.stack.config import Stack
from modelyard.workloads import by_object


def destroy_plan(
    stack: Stack, library: Library, states: Mapping[str, ClusterState], dropped: Iterable[str] = ()
) -> Plan:
    """What a destroy of the stack changes, predicted without asking the API server.

    Args:
        stack: the stack to destroy.
        library: the project's patches, which show the workload of each object.
        states: the clusters with objects of the stack, by name; the home cluster's name is empty.
        dropped: names of the remote clusters with objects of the stack that its file no longer has.
    """
    parts = (part for part in cluster_parts(stack) if part.name in states)
    home, *remotes = [_in_cluster(part, library, states[part.name]) for part in parts]
    findings = ordered(finding for plan in (home, *remotes) for finding in plan.findings)
    return home._replace(remotes=tuple(remotes), findings=findings, dropped_remotes=tuple(dropped))


def _in_cluster(part: ClusterPart, library: Library, state: ClusterState) -> Plan:
    stack, config = part.stack, part.stack.config
    schemas = merge.MergeSchema.kubernetes(config.kubernetes_version)
    namespace = config.platform.namespace
    held, kinds = state.state_objects or {}, schemas.every_kind
    unknown = [key for key in sorted(held) if key[:2] not in kinds]
    state = state._replace(state_objects={key: one for key, one in held.items() if key not in unknown})
    objects = dropped_objects(
        set(),
        state,
        schemas,
        library=library,
        workloads=by_object(part.workloads),
        namespace=namespace,
        stack=stack.full_name,
    )
    planned = [planned_drop(one, None) for one in objects]
    targets = (target._replace(cluster=part.name) for target, _ in planned)
    # Without notes: they say what an apply does. An error about one object does not stop a destroy of the others.
    about = [finding._replace(severity=Severity.WARNING) for _, found in planned for finding in loud(found)]
    about += (finding for target, _ in planned for finding in old_pods(target))
    about += (_unshown(key, config.kubernetes_version) for key in unknown)
    return Plan(
        stack=stack.name,
        file=stack.file,
        headline=f"remote cluster {part.name}"
        if part.name
        else "destroy: restores what the stack patched, deletes what it created",
        training=config.training,
        mode=config.platform.mode,
        context=stack.context,
        namespace=namespace,
        source=state.source,
        cluster=state.identity,
        kubernetes=state.version,
        targets=tuple(sorted(targets, key=lambda one: (one.action == "delete", kind_rank(one), one.name))),
        steps=(),
        findings=tuple(on_cluster(finding, part.name) for finding in about),
        inputs={},
        remote=part.name,
    )


def _unshown(key: ObjectKey, version: str) -> Finding:
    """The finding about an object of a kind that the stack's Kubernetes version does not have."""
    return Finding(
        "PAT008",
        Severity.WARNING,
        f"Kubernetes {version} has no {key.kind} in {key.api_version}, so the plan leaves out {key.name}",
        target=key.name,
        detail="a destroy restores or deletes it all the same",
        remedy="to see it, set kubernetesVersion to that of the last apply",
    )


def unscaled(plan: Plan) -> Iterator[ObjectKey]:
    """The Deployments that KEDA no longer scales after a destroy in the home cluster."""
    deleted = (target.before.reveal() for target in plan.targets if target.action == "delete")
    for namespace, name in sorted(freed(body for body in deleted if body is not None)):
        yield ObjectKey("apps/v1", "Deployment", namespace, name)
