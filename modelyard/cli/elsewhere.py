"""Looking at runs that Kueue sent to worker clusters, by the contexts that the stack has for these."""

import sys
from typing import TYPE_CHECKING

from modelyard.cli.exit import Exit, Stop
from modelyard.report.style import safe
from modelyard.stack.config import Config

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cli.runs import Found
    from modelyard.cluster.gathered import FarObjects
    from modelyard.pool import Run


def looked_at(run: "Run", config: Config) -> "dict[str, FarObjects]":
    """What the clusters of a run have of it: of those with a context; one that is out of reach is told and left out."""
    from modelyard.pool.dispatch import clusters_for

    if not run.dispatched or run.over:
        return {}
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.gathered import FarObjects
    from modelyard.cluster.lists import pods_of_run, workloads_in

    contexts = _contexts(config)
    found = {}
    for name in clusters_for(run, config):
        if name not in contexts:
            continue
        try:
            client = connect(contexts[name])
            pods = pods_of_run(client, run.namespace, run.name, [part.name for part in run.parts])
            workloads, _ = workloads_in(client, {run.namespace})
        except ClusterError as error:
            sys.stderr.write(f"worker cluster {name} was not looked at: {safe(error.summary)}\n")
            continue
        found[name] = FarObjects(tuple(workloads), tuple(pods))
    return found


def where_it_runs(found: "Found", run: "Run") -> "Client":
    """A client for the cluster that has the pods of a run: the stack's own, or the worker cluster.

    Raises:
        Stop: its pods are gone with its end, or are in a cluster that the stack has no context for.
    """
    from modelyard.cli.runs import reached

    if not run.clusters:
        return found.client
    there = ", ".join(map(safe, run.clusters))
    if run.over:
        raise Stop(
            Exit.FINDINGS,
            f"{run.name} has {run.state} in {there}, and Kueue deletes a run's pods there as soon as it has ended, "
            "their logs with them",
            "read along while a run lasts, with --follow, or have the logs of that cluster collected",
        )
    contexts = _contexts(found.stack.config)
    # The parts of a search may be in several; --worker cannot choose between them.
    known = [name for name in run.clusters if name in contexts]
    if not known or len(run.clusters) > 1:
        several = "; a search's trials are in several" if len(run.clusters) > 1 else ""
        raise Stop(
            Exit.FINDINGS,
            f"{run.name} runs in {there}, and its pods and logs are there{several}",
            f"kubectl --namespace {run.namespace} logs --selector modelyard.dev/run={run.name} reads them there"
            + ("" if known else f"; so does this command once workerClusters of the stack has a context for {there}"),
        )
    from modelyard.cluster.connection import connect

    with reached():
        return connect(contexts[known[0]])


def _contexts(config: Config) -> dict[str, str]:
    return {one.name: one.context for one in config.worker_clusters if one.context is not None}
