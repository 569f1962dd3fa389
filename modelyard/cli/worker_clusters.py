"""Reads runs that Kueue sent to worker clusters, through the contexts that the stack names for them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.cli.common import note
from modelyard.cli.exit import Exit, Stop
from modelyard.report.style import safe

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cli.job.shared import Found
    from modelyard.cluster.pool_objects import FarObjects
    from modelyard.hiding import Confidential
    from modelyard.runs.pool import Run
    from modelyard.stack.config import Config


def looked_at(run: "Run", config: "Config") -> "dict[str, FarObjects]":
    """The objects of a run in each cluster with a context; unreachable clusters are reported and left out."""
    from modelyard.runs.pool.dispatch import clusters_for

    if not run.dispatched or run.over:
        return {}
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.lists import pods_of_run, workloads_in
    from modelyard.cluster.pool_objects import FarObjects
    from modelyard.hiding import Confidential

    contexts = _contexts(config)
    found = {}
    for name in clusters_for(run, config):
        if name not in contexts:
            continue
        try:
            client = connect(contexts[name])
            pods = pods_of_run(client, run.namespace, run.name, [part.name for part in run.parts])
            workloads, unread = workloads_in(client, {run.namespace})
        except ClusterError as error:
            note(f"worker cluster {name} was not read: {error.summary}")
            continue
        found[name] = FarObjects(None if unread else Confidential(tuple(workloads)), Confidential(tuple(pods)))
    return found


class Sought(NamedTuple):
    """The pods of a run in its worker clusters."""

    found: "tuple[tuple[Client, Confidential[list[dict[str, Any]]]], ...]"
    """The pods of each cluster that was read, with its client."""
    hidden: Stop | None
    """Why some pods were not found; None if all clusters were read, or the run is in the home cluster."""


def pods_elsewhere(found: "Found", run: "Run") -> Sought:
    """Finds the pods of a run in its worker clusters.

    Raises:
        Stop: a cluster with a context in the stack cannot be reached.
    """
    from modelyard.cli.job.shared import reached

    if not run.clusters:
        return Sought((), None)
    if run.over:
        return Sought(
            (),
            Stop(
                Exit.FINDINGS,
                f"{run.name} {run.state} in {_names(run.clusters)}, where Kueue deletes pods and "
                "their logs as soon as a run ends",
                "follow the log while a run is active, with --follow, or collect the logs of that cluster",
            ),
        )
    from modelyard.cluster.connection import connect
    from modelyard.cluster.lists import pods_of_run
    from modelyard.hiding import Confidential

    contexts = _contexts(found.config)
    clients = []
    with reached():
        for name in run.clusters:
            if name in contexts:
                client = connect(contexts[name])
                pods = pods_of_run(client, run.namespace, run.name, [part.name for part in run.parts])
                clients.append((client, Confidential(pods)))
    hidden = None
    if unknown := _names(name for name in run.clusters if name not in contexts):
        hidden = Stop(
            Exit.FINDINGS,
            f"{run.name} runs in {unknown}, where its pods and logs are",
            f"kubectl --namespace {run.namespace} logs --selector modelyard.dev/run={run.name} reads them there; to "
            f"read them with this command, give {unknown} a context under workerClusters",
        )
    return Sought(tuple(clients), hidden)


def _names(clusters: Iterable[str]) -> str:
    return ", ".join(map(safe, clusters))


def _contexts(config: "Config") -> dict[str, str]:
    return {one.name: one.context for one in config.worker_clusters if one.context is not None}
