"""The plan of a destroy: every object of a stack is restored or deleted."""

from collections.abc import Iterator, Mapping

from modelyard.catalog import Library
from modelyard.findings import loud, ordered
from modelyard.kube import merge
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.merge import Path
from modelyard.kube.scheduling.pods import changed_templates, is_rolled
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.plan.cluster_parts import ClusterPart, cluster_parts, on_cluster
from modelyard.plan.reach import kind_rank
from modelyard.plan.undo.dropped import dropped_objects, planned_drop
from modelyard.plan.values import Plan
from modelyard.stack.config import Stack
from modelyard.workloads import by_object


def destroy_plan(stack: Stack, library: Library, states: Mapping[str, ClusterState]) -> Plan:
    """What a destroy of the stack changes, predicted without asking the API server.

    Args:
        stack: the stack to destroy.
        library: the project's patches, which show the workload of each object.
        states: the clusters with objects of the stack, by name; the home cluster's name is empty.

    Raises:
        LookupError: the stack's Kubernetes version does not have the kind of an applied object.
    """
    home, *remotes = [
        _in_cluster(part, library, states[part.name]) for part in cluster_parts(stack) if part.name in states
    ]
    return home._replace(
        remotes=tuple(remotes), findings=ordered(one for plan in (home, *remotes) for one in plan.findings)
    )


def _in_cluster(part: ClusterPart, library: Library, state: ClusterState) -> Plan:
    stack, config = part.stack, part.stack.config
    schemas = merge.MergeSchema.kubernetes(config.kubernetes_version)
    namespace = config.platform.namespace
    objects = dropped_objects(set(), state, schemas, library, by_object(part.workloads), namespace, stack.full_name)
    planned = [planned_drop(one, None) for one in objects]
    targets = (target._replace(cluster=part.name) for target, _ in planned)
    # Notes say that an apply restores or deletes the object.
    findings = (on_cluster(finding, part.name) for _, about in planned for finding in loud(about))
    return Plan(
        stack=stack.name,
        file=stack.file,
        headline="destroy: restores what the stack patched, deletes what it created",
        training=config.training,
        mode=config.platform.mode,
        context=stack.context,
        namespace=namespace,
        source=state.source,
        cluster=state.identity,
        kubernetes=state.version,
        targets=tuple(sorted(targets, key=lambda one: (one.action == "delete", kind_rank(one), one.name))),
        steps=(),
        findings=tuple(findings),
        inputs={},
        remote=part.name,
    )


def unscaled(plan: Plan) -> Iterator[ObjectKey]:
    """The Deployments that KEDA no longer scales after a destroy in the home cluster."""
    for target in plan.targets:
        if target.key.kind == "ScaledObject" and (body := target.before.reveal()) is not None:
            name = body["spec"]["scaleTargetRef"]["name"]
            yield ObjectKey("apps/v1", "Deployment", target.key.namespace, name)


def kept_pods(plan: Plan) -> Iterator[tuple[ObjectKey, tuple[Path, ...]]]:
    """The workloads whose running pods keep the patched template after a destroy, each with these templates."""
    for target in plan.targets:
        before, after = target.before.reveal(), target.after.reveal()
        if target.action == "restore" and target.key.kind in WORKLOAD_KINDS and not is_rolled(after):
            changed = (change.path for change in target.changes)
            if places := changed_templates(before, after, changed, running=True):
                yield target.key, tuple(places)
