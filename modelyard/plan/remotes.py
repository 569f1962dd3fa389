"""The second clusters of a stack: for each, a plan of its own within the stack's plan.

A remote cluster has only what remote jobs need there, so the platform's workloads, GPUs and autoscaling are nothing
to it. It has its own identity, starting state and order; its findings stand among the stack's, under names that begin
with the cluster's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from modelyard.catalog import Library
from modelyard.cluster import Answer, Ask, Deletion, Question
from modelyard.findings import Finding, Severity
from modelyard.kube.state import ClusterState, Held, ObjectKey, key_of
from modelyard.plan.checks.queues import check_deleted
from modelyard.plan.cluster_parts import on_cluster, remote_part
from modelyard.plan.objects import planned_objects
from modelyard.plan.values import Plan, Step, TargetPlan
from modelyard.stack.config import Stack
from modelyard.workloads.facts.remote import RemoteCluster

NAMESPACE = ("v1", "Namespace")


class RemoteStart(NamedTuple):
    """Where the plan of one remote cluster starts."""

    remote: RemoteCluster
    state: ClusterState
    ask: Ask | None = None
    """Asks its API server; None: nobody is asked."""


def plan_remote(stack: Stack, library: Library, start: RemoteStart, findings: list[Finding]) -> Plan:
    """The plan of one remote cluster; what is wrong with it is added to ``findings``."""
    remote, state = start.remote, start.state
    side = remote_part(stack, remote)
    chosen, problems = side.chosen(library)
    found: list[Finding] = [*problems]
    ask = None if start.ask is None else _where_there(start.ask, state)
    objects = planned_objects(side.stack, library, state, side.known, chosen, {}, found, ask)
    found += check_deleted(side.stack, objects.let_go)
    findings.extend(_named(finding, remote) for finding in found)
    ordered = sorted((one._replace(cluster=remote.name) for one in (*objects.asked, *objects.let_go)), key=_turn)
    return Plan(
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


def _turn(target: TargetPlan) -> tuple[bool, bool, str, str]:
    """Namespaces come first, and go last."""
    space = target.key[:2] == NAMESPACE
    gone = target.action == "delete"
    return (gone, space if gone else not space, target.key.kind, target.name)


def _steps(targets: Sequence[TargetPlan]) -> Iterator[Step]:
    for target in targets:
        if target.action == "none":
            continue
        why = ""
        if target.action == "delete":
            # With a namespace goes all that is in it.
            why = "goes away, with every job that is in it" if target.key[:2] == NAMESPACE else "goes away"
        yield Step(target.name, "normal", why)


def _named(finding: Finding, remote: RemoteCluster) -> Finding:
    if not finding.target:
        return finding
    if finding.code == "OWN004":
        # There is no mode to choose on a remote cluster: all of it is the stack's own, or is not asked for.
        remedy = "name a namespace that is the stack's alone"
        if finding.target == remote.cluster.namespace:
            remedy = "set createNamespace to false, or name a namespace that is not there yet"
        summary = f"{finding.target} is there already, and not the stack's own"
        finding = finding._replace(summary=summary, field="resources", remedy=remedy)
    return on_cluster(finding, remote.name)


def _where_there(ask: Ask, state: ClusterState) -> Callable[[Sequence[Question]], Sequence[Answer | None]]:
    """Asks only about objects whose namespace is there: about the others an API server has no opinion yet."""

    def asked(questions: Sequence[Question]) -> Sequence[Answer | None]:
        those = [question for question in questions if _has_place(question, state)]
        answers = iter(ask(those))
        return [next(answers) if _has_place(question, state) else None for question in questions]

    return asked


def _has_place(question: Question, state: ClusterState) -> bool:
    key = question.key if isinstance(question, Deletion) else key_of(question, "")
    return not key.namespace or ObjectKey(*NAMESPACE, "", key.namespace) in state.objects


def wrong_cluster(stack: Stack, remote: RemoteCluster, what: str, remedy: str) -> Finding:
    """The finding about a context that does not lead where the stack file says."""
    return stack.finding("REM013", Severity.ERROR, (*remote.path, "context"), what, remedy)


def dropped_remotes(
    stack: Stack, sides: Mapping[str, Mapping[ObjectKey, Held]], planned: Iterable[str]
) -> Iterator[Finding]:
    """What is to be said of remote clusters that have something of the stack and are not planned any more.

    The engine deletes at the end of a run what no plan has.

    Args:
        stack: of the plan.
        sides: what the engine's state has in each cluster.
        planned: names of the remote clusters that the stack file has, reached or not.
    """
    for name in sorted(sides.keys() - {"", *planned}):
        held = sorted(key.name for key, one in sides[name].items() if one.managed)
        if not held:
            continue
        yield stack.finding(
            "REM014",
            Severity.WARNING,
            ("resources",),
            f"remote cluster {name} is not planned any more: an apply deletes {', '.join(held)} there",
            "let its jobs end first; to keep it, put the resource with its remote.cluster back",
        )
