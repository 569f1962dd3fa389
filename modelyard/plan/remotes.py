"""The remote clusters of a stack: each has its own plan within the stack's plan.

A remote cluster has only what remote jobs need, so the platform's workloads, GPUs and autoscaling do not apply
to it. It has its own identity, starting state and order; its findings are among the stack's, under names that begin
with the cluster's name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from modelyard.catalog import Library
from modelyard.cluster import Answer, Ask, Deletion, Question
from modelyard.findings import Finding, Severity
from modelyard.kube.state import ClusterState, ObjectKey, StateObject, key_of
from modelyard.plan.checks.queues import check_deleted
from modelyard.plan.cluster_parts import on_cluster, remote_part
from modelyard.plan.objects import planned_objects
from modelyard.plan.reach import kind_rank
from modelyard.plan.values import Plan, Step, TargetPlan
from modelyard.stack.config import Stack
from modelyard.workloads.facts.remote import ReachedCluster

NAMESPACE = ("v1", "Namespace")


class RemoteStart(NamedTuple):
    """The starting point for the plan of one remote cluster."""

    remote: ReachedCluster
    state: ClusterState
    ask: Ask | None = None
    """Asks the API server of the remote cluster; None: no API server is asked."""


def plan_remote(stack: Stack, library: Library, start: RemoteStart) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan of one remote cluster, and the findings about it, which are among the stack's."""
    remote, state = start.remote, start.state
    part = remote_part(stack, remote)
    chosen, problems = part.chosen(library)
    ask = None if start.ask is None else _where_there(start.ask, state)
    objects = planned_objects(
        part, library, state, chosen=chosen, by_name={}, reported=problems, ask=ask, foreign=partial(_foreign, remote)
    )
    found = (*problems, *objects.findings, *check_deleted(part.stack, objects.dropped))
    ordered = sorted((one._replace(cluster=remote.name) for one in (*objects.asked, *objects.dropped)), key=_turn)
    plan = Plan(
        stack=stack.name,
        file=stack.file,
        headline=f"remote cluster {remote.name} · {remote.cluster.controller}",
        training=stack.config.training,
        mode="managed",
        context=remote.context,
        namespace=remote.cluster.namespace,
        source=state.source,
        cluster=state.identity,
        kubernetes=state.version,
        targets=tuple(ordered),
        steps=tuple(_steps(ordered)),
        findings=(),
        inputs={one.patch.id: one.patch.sha256 for one in chosen},
        remote=remote.name,
    )
    return plan, tuple(on_cluster(finding, remote.name) if finding.target else finding for finding in found)


def _turn(target: TargetPlan) -> tuple[bool, int, str, str]:
    """Sorts objects after those that they need if they are created, and before those if they are deleted."""
    gone = target.action == "delete"
    return (gone, -kind_rank(target) if gone else kind_rank(target), target.key.kind, target.name)


def _steps(targets: Sequence[TargetPlan]) -> Iterator[Step]:
    for target in targets:
        if target.action == "none":
            continue
        why = ""
        if target.action == "delete":
            # Deleting a namespace deletes everything in it.
            why = "is deleted with all its jobs" if target.key[:2] == NAMESPACE else "is deleted"
        yield Step(target.name, "normal", why)


def _foreign(remote: ReachedCluster, target: str, _live: Mapping[str, Any], _managed: bool) -> Finding:
    """The finding about an object that is not the stack's own.

    A remote cluster has no modes: the stack owns all of an object, or does not ask for it.
    """
    remedy = "name a namespace that only this stack uses"
    if target == remote.cluster.namespace:
        remedy = "set createNamespace to false, or name a namespace that does not exist yet"
    summary = f"{target} exists already and does not belong to this stack"
    return Finding("OWN004", Severity.ERROR, summary, target=target, field="resources", remedy=remedy)


def _where_there(ask: Ask, state: ClusterState) -> Callable[[Sequence[Question]], Sequence[Answer | None]]:
    """Asks only about objects whose namespace exists: an API server cannot predict the others yet."""

    def asked(questions: Sequence[Question]) -> Sequence[Answer | None]:
        those = [question for question in questions if _has_place(question, state)]
        answers = iter(ask(those))
        return [next(answers) if _has_place(question, state) else None for question in questions]

    return asked


def _has_place(question: Question, state: ClusterState) -> bool:
    key = question.key if isinstance(question, Deletion) else key_of(question, "")
    return not key.namespace or ObjectKey(*NAMESPACE, "", key.namespace) in state.objects.reveal()


def wrong_cluster(stack: Stack, remote: ReachedCluster, what: str, remedy: str) -> Finding:
    """The finding about a context that points to another cluster than that in the stack file."""
    return stack.finding("REM013", Severity.ERROR, (*remote.path, "context"), what, remedy)


def dropped_remotes(
    clusters: Mapping[str, Mapping[ObjectKey, StateObject]], planned: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """The remote clusters that the stack dropped, with the names of its objects there.

    At the end of a run, the engine deletes objects that are in no plan. ``clusters`` are those in the engine's state;
    ``planned`` are the names of those in the stack file, reachable or not.
    """
    held = {
        name: tuple(sorted(key.name for key, one in clusters[name].items() if one.managed))
        for name in sorted(clusters.keys() - {"", *planned})
    }
    return {name: objects for name, objects in held.items() if objects}


def check_dropped(stack: Stack, remotes: Mapping[str, Iterable[str]]) -> Iterator[Finding]:
    """The finding about each remote cluster that the stack dropped; ``remotes`` has the objects that it deletes."""
    for name, objects in remotes.items():
        yield stack.finding(
            "REM014",
            Severity.WARNING,
            ("resources",),
            f"remote cluster {name} is no longer in the stack: an apply deletes {', '.join(objects)} there",
            "wait until its jobs have ended; to keep the cluster, restore the resource with its remote.cluster",
        )
