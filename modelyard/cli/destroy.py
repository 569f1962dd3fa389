"""Show what a destroy changes, ask, then restore what the stack patched and delete what it created, with Pulumi.

Does not wait for running jobs of a training backend. A team's queue is deleted once the runs that hold its quota have
ended; if that takes longer than ten minutes, destroy fails, and you can run it again. Fields that others have changed
since stay as they are; modelyard ledger --live shows them.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from modelyard.cli.common import need_context, need_engine, project_root, read_stack, stack_file, stack_name
from modelyard.cli.exit import Exit, Stop, ended_by
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import note, show_plan
from modelyard.cli.question import need_yes
from modelyard.cli.signals import ended_by_signal
from modelyard.cli.streams import style_for
from modelyard.report.style import safe

if TYPE_CHECKING:
    from modelyard.engine.applied import AppliedCluster
    from modelyard.kube.state import ClusterState
    from modelyard.plan.values import Plan
    from modelyard.runs.pool import Run
    from modelyard.stack import Stack


Fate = Literal["holds", "waits", "stays", "lost"]


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Asks and destroys."""
    with ended_by_signal("destroy was stopped; nothing was changed"):
        root = project_root(args)
        name = stack_name(root, args.stack)
        path = stack_file(root, name)
        need_engine()
        stack = read_stack(root, name, path)
        need_context(stack)
        wanted = _look(root, stack)
        from modelyard.report.terminal import plan_text

        show_plan(
            lambda stream: plan_text(wanted.plan, style_for(args, stream), next_step=False), args, asks=not args.yes
        )
        lost = _report(stack, wanted)
        if not args.yes:
            what = ", with the runs that are deleted with their namespace" if lost else ""
            need_yes(f"Destroy {safe(name)}{what}? A destroy does not wait for running jobs.\n")
        from modelyard.cli.running import run_engine
        from modelyard.engine.automation import destroy

    last = f"{stack.file} still asks for what was undone: the next apply makes the changes again."
    return run_engine(
        name,
        args,
        lambda report, stopping: destroy(root, name, report, stopping, wanted.contexts),
        total=wanted.total,
        last=last,
    )


class _Destroy(NamedTuple):
    """What a destroy would do."""

    plan: "Plan"
    contexts: dict[str, str | None]
    """The context of each cluster with objects of the stack; the home cluster's name is empty."""
    total: int
    """The number of the stack's objects, in all clusters."""
    dropped: Mapping[str, tuple[str, ...]] = {}
    """The objects in each remote cluster that the stack file no longer has."""


def _look(root: Path, stack: "Stack") -> _Destroy:
    """Reads the state and the clusters; ends the run if it would destroy less than was applied: wrong cluster, or a
    state with gaps.
    """
    from modelyard.cluster.connection import ClusterError
    from modelyard.engine.applied import AppliedCluster, applied_remotes, applied_stack, left_behind
    from modelyard.engine.failure import EngineError, StaleError
    from modelyard.plan.destroy import destroy_plan
    from modelyard.plan.project import library_of
    from modelyard.plan.remotes import dropped_remotes

    with ended_by(Exit.UNREACHABLE, EngineError, ClusterError), ended_by(Exit.STALE, StaleError):
        applied = applied_stack(root, stack.name)
        home = AppliedCluster(stack.name, applied, stack.context)
        clusters = {"": home, **applied_remotes(root, stack, applied)}
        states = {name: _state(one) for name, one in clusters.items()}
    left = [key.name for name, one in clusters.items() for key in left_behind(one.applied, states[name].objects)]
    _need_whole_state(stack.name, left)
    dropped = dropped_remotes({name: one.objects for name, one in applied.remotes.items()}, clusters)
    return _Destroy(
        plan=destroy_plan(stack, library_of(root), states, dropped),
        contexts={name: one.context for name, one in clusters.items()},
        total=sum(len(one.targets) for one in (applied, *applied.remotes.values())),
        dropped=dropped,
    )


def _state(one: "AppliedCluster") -> "ClusterState":
    """What a destroy starts from in one cluster.

    Raises:
        ClusterError: the API server does not answer, or refuses.
        StaleError: the context points to another cluster than that of the last apply.
    """
    from modelyard.cluster.connection import ClusterError
    from modelyard.cluster.live import server_version
    from modelyard.engine.applied import live_objects
    from modelyard.engine.failure import FORGET_REMOTE
    from modelyard.kube.state import ClusterState

    try:
        live = live_objects(one)
        version = server_version(live.client)
    except ClusterError as error:
        if not one.remote:
            raise
        raise ClusterError(
            f"remote cluster {one.remote}: {error.summary}",
            f"{error.remedy}; to forget a cluster that no longer exists: {FORGET_REMOTE}",
        ) from error
    return ClusterState(
        source="live",
        identity=live.cluster,
        version=version,
        objects=live.objects,
        nodes=(),
        pods=(),
        state_objects=one.applied.objects,
    )


def _need_whole_state(name: str, left: Collection[str]) -> None:
    """Ends the run if a destroy would leave behind objects that the stack created."""
    if left:
        raise Stop(
            Exit.STALE,
            f"Pulumi's state lacks {', '.join(left)}, which {name} created, so a destroy would leave them behind",
            f"run modelyard apply {name}, which adds them again, then destroy",
        )


def _report(stack: "Stack", wanted: _Destroy) -> bool:
    """Reports what the plan does not show; returns whether runs are deleted with their namespace."""
    from modelyard.cluster.connection import ClusterError

    for remote, names in wanted.dropped.items():
        note(f"Also deleted in remote cluster {remote}, which {stack.file} no longer has: {', '.join(names)}")
    with ended_by(Exit.UNREACHABLE, ClusterError):
        lost = report_runs(stack, wanted.contexts)
        report_scaled(wanted.plan)
    return lost


def report_runs(stack: "Stack", clusters: Collection[str]) -> bool:
    """Reports which runs hold up the deletion of queues (the engine waits silently), and which go with their namespace.

    You may delete queues without the right to list jobs, so an unreadable list does not end the run.

    Args:
        stack: the stack to destroy.
        clusters: names of remote clusters with applied objects; empty for the platform's cluster.

    Returns:
        Whether runs go with their namespace.
    """
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.lists import run_objects
    from modelyard.runs.pool import runs_of
    from modelyard.stack.words import few
    from modelyard.workloads.facts.pool import namespaces
    from modelyard.workloads.facts.remote import queue_of, remote_clusters

    # Whether there are queues, and whether the stack owns the namespace and deletes it.
    runs_here = bool(stack.config.teams) or any(job.command for job in stack.config.jobs)
    places = [("", stack.context, namespaces(stack.config), bool(stack.config.teams), False)] if runs_here else []
    places += [
        (one.name, one.context, (one.cluster.namespace,), queued, one.cluster.create_namespace)
        for one in remote_clusters(stack.config)
        if one.name in clusters and ((queued := any(map(queue_of, one.resources))) or one.cluster.create_namespace)
    ]
    fates: dict[Fate, list[str]] = {"holds": [], "waits": [], "stays": [], "lost": []}
    for cluster, context, where, queued, goes in places:
        try:
            runs = runs_of(run_objects(connect(context), where))
        except ClusterError as error:
            there = f" on {cluster}" if cluster else ""
            what = "block the deletion of queues" if queued else "are lost" if goes else "continue"
            note(f"runs that {what}{there} are unknown: {error.summary}")
            continue
        for run in runs:
            if run.stack == stack.name:
                for fate in _fates(run, queued=queued, goes=goes):
                    fates[fate].append(f"{run.name} on {cluster}" if cluster else run.name)
    remote = "; on a remote cluster, add --remote RESOURCE" if len(places) > runs_here else ""
    if held := fates["holds"]:
        note(
            f"Still running: {few(held)}. A queue is deleted once the runs that hold its quota have ended. Pulumi "
            f"waits ten minutes for each queue; then destroy fails, and you can run it again. "
            f"To end a run, use modelyard job cancel {stack.name} RUN{remote}."
        )
    if waits := fates["waits"]:
        note(
            f"Waiting for quota, and not deleted: {few(waits)}. Without its queue, a run waits forever. To end a run, "
            f"use modelyard job cancel {stack.name} RUN{remote}."
        )
    if stays := fates["stays"]:
        note(
            f"Not stopped, because they are in no queue: {few(stays)}. To end a run, use modelyard job cancel "
            f"{stack.name} RUN{remote}."
        )
    if lost := fates["lost"]:
        note(f"Deleted with their namespace: {few(lost)}. Their logs, and results not saved elsewhere, are lost.")
    return bool(lost)


def _fates(run: "Run", *, queued: bool, goes: bool) -> Iterator[Fate]:
    """What a destroy does to the parts of a run: waits for those with quota, leaves others, or deletes them."""
    has_pods = any(part.state in ("starting", "running", "cancelled") for part in run.parts)
    in_queue = queued and run.team is not None
    if in_queue and has_pods:
        yield "holds"
    elif goes and not run.over:
        yield "lost"
    elif has_pods:
        yield "stays"
    if in_queue and not goes and not run.over and any(part.state in ("queued", "held") for part in run.parts):
        yield "waits"


def report_scaled(plan: "Plan") -> None:
    """Reports the pod count at which KEDA leaves each remaining Deployment; it does not restore the earlier count.

    Raises:
        ClusterError: the API server does not answer, or refuses.
    """
    from modelyard.cluster.connection import connect
    from modelyard.cluster.live import objects_of
    from modelyard.kube.state import annotations_of
    from modelyard.plan.destroy import unscaled
    from modelyard.plan.ownership import MODE_ANNOTATION
    from modelyard.stack.words import plural

    keys = list(unscaled(plan))
    stay = [
        f"{key.name} with {plural(body['spec']['replicas'], 'pod')}"
        for key, body in (objects_of(connect(plan.context), keys) if keys else {}).items()
        if annotations_of(body).get(MODE_ANNOTATION) != "managed"
    ]
    if stay:
        note(
            f"KEDA stops scaling {' and '.join(stay)}. Their pods stay until you change the number with kubectl scale."
        )
