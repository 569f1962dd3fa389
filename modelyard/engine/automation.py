"""Drives the project's Pulumi program, the one that ``pulumi up`` runs."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from modelyard.cluster.engine_state import remote_of
from modelyard.cluster.kubeconfig import known_contexts, with_aliases
from modelyard.engine.applied import cluster_of
from modelyard.engine.failure import FORGET_REMOTE, EngineError, other_cluster
from modelyard.engine.progress import Report
from modelyard.engine.run import EngineRun
from modelyard.engine.stopping import GENTLY, Stopping
from modelyard.plan import Plan
from modelyard.plan.store import plan_to_json
from modelyard.probes.values import NO_DRAIN, STOP
from modelyard.temporary import temporary_folder, write_private


class EngineOutcome(NamedTuple):
    """The result of a run of the engine."""

    result: str
    changes: Mapping[str, int]
    """Kubernetes objects by operation: ``create``, ``update``, ``same``, ``delete``."""
    outputs: Mapping[str, Any]


def apply(
    root: Path, plan: Plan, report: Report, stopping: Stopping | None = None, *, drain: bool = True
) -> EngineOutcome:
    """Runs ``up`` of a plan's stack.

    The program plans again, and changes nothing unless the new plan equals ``plan``.

    Args:
        root: the project's folder.
        plan: what to apply.
        report: receives the lines of progress.
        stopping: the requests to end the run early.
        drain: whether to wait for running jobs before a change stops their pods.

    Raises:
        StaleError: inputs or starting state changed since the plan was made.
        StoppedError: the run ended early, because of ``stopping``.
        EngineError: the engine is missing, its state is locked, or a step failed.
    """
    with temporary_folder() as folder:
        approved, stop = folder / "plan.json", folder / "stop"

        def heard(line: str) -> None:
            if line == GENTLY:
                stop.touch()
            report(line)

        write_private(approved, json.dumps(plan_to_json(plan)))
        variables = {"MODELYARD_PLAN": str(approved), STOP: f"{os.getpid()}:{stop}"} | (
            {} if drain else {NO_DRAIN: "true"}
        )
        with EngineRun("apply", heard, stopping) as run:
            stack = run.select(root, plan.stack, create=True, variables=variables)
            # The program checks this too, but after the engine has looked for the stack's objects in the clusters.
            for one in plan.clusters:
                applied_to = cluster_of(run.resources, one.remote)
                if applied_to not in (None, one.cluster):
                    raise other_cluster(
                        plan.stack,
                        remote=one.remote,
                        context=one.context,
                        applied_to=applied_to,
                        points_to=one.cluster,
                    )
            # From here on, the contexts of the plan are known to lead to the clusters of the last apply.
            contexts = {cluster.remote: cluster.context for cluster in plan.clusters}
            run.add(stack, redirected_contexts(run.resources, contexts, folder))
            done = run.follow(
                stack, lambda on_event: stack.up(on_event=on_event, suppress_progress=True, show_secrets=False)
            )
    return EngineOutcome(done.summary.result, run.changes, run.outputs)


def destroy(
    root: Path,
    stack: str,
    report: Report,
    stopping: Stopping | None = None,
    contexts: Mapping[str, str | None] | None = None,
) -> EngineOutcome:
    """Runs ``destroy`` of a stack.

    Args:
        root: the project's folder.
        stack: the stack's name.
        report: receives the lines of progress.
        stopping: the requests to end the run early.
        contexts: the context of each cluster of the stack file, known to lead to the cluster of the state; the home
            cluster has an empty name. None: the engine uses the contexts of the last apply.

    Raises:
        EngineError: the state does not have the stack, or as for :func:`apply`.
    """
    with temporary_folder() as folder, EngineRun("destroy", report, stopping) as run:
        selected = run.select(root, stack, create=False)
        if contexts is not None:
            run.add(selected, redirected_contexts(run.resources, contexts, folder))
        done = run.follow(
            selected, lambda on_event: selected.destroy(on_event=on_event, suppress_progress=True, show_secrets=False)
        )
    return EngineOutcome(done.summary.result, run.changes, {})


# The contexts by which the engine reaches what was applied: it first reads with those of the last apply.
#
# The stack file may name another context since, and the kubeconfig may have lost the old one. So a run makes the old
# name an alias of the stack file's context, once it is known that both lead to the same cluster.
_PROVIDER: Final = "pulumi:providers:kubernetes"
_CLUSTER: Final = "/modelyard:Cluster"


def contexts_of(resources: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The contexts in the engine's state, each with the name of its remote cluster, empty for the home cluster.

    Args:
        resources: resources of the exported state. A resource without a context used the kubeconfig's current context.
    """
    for one in resources:
        if one["type"] == _PROVIDER:
            kind, _, name = one["urn"].rpartition("::")
            # The home cluster's provider is the engine's default; a remote cluster's is a child named like it.
            cluster, values = name if kind.endswith(f"${_PROVIDER}") else "", one.get("inputs")
        elif one["type"].endswith(_CLUSTER):
            cluster, values = remote_of(one), one.get("outputs")
        else:
            continue
        if context := (values or {}).get("context"):
            yield cluster, str(context)


def redirected_contexts(
    resources: Iterable[Mapping[str, Any]], contexts: Mapping[str, str | None], folder: Path
) -> dict[str, str]:
    """The engine's environment variables with which the contexts in its state lead where the stack file's contexts do.

    Args:
        resources: resources of the exported state.
        contexts: the context of each cluster of the stack file, known to lead to the cluster of the state; the home
            cluster has an empty name. None: the current one.
        folder: a folder that only this run uses, deleted with it.

    Raises:
        EngineError: no context points to a remote cluster that the stack no longer has.
    """
    found = tuple(contexts_of(resources))
    # A name that works today keeps its meaning.
    taken = {*contexts.values()} | {context for cluster, context in found if cluster not in contexts}
    names = {
        context: contexts[cluster]
        for cluster, context in found
        if cluster in contexts and contexts[cluster] != context and context not in taken
    }
    known = known_contexts()
    for cluster, context in found:
        if cluster and cluster not in contexts and known is not None and context not in known:
            raise EngineError(
                f"nothing was changed: the stack file no longer has remote cluster {cluster}, whose objects are still "
                f"to be deleted, and the kubeconfig has no context {context}, with which they were applied",
                f"give the kubeconfig a context {context} that points there, and run again; if the cluster no longer "
                f"exists: {FORGET_REMOTE}",
            )
    kubeconfig = with_aliases(names, folder)
    return {"KUBECONFIG": kubeconfig} if kubeconfig else {}
