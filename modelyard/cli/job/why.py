"""Explain why a run waits or failed: quota, queue, nodes and pods, with suggestions."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from modelyard.cli.common import reached
from modelyard.cli.exit import Exit
from modelyard.cli.job import PART, run_options, run_or_part, runs_in, worker_client
from modelyard.cli.options import json_option
from modelyard.cli.printing import note, say, say_json
from modelyard.cli.streams import style_for

if TYPE_CHECKING:
    from modelyard.cluster.pool_objects import WorkerClusterObjects
    from modelyard.runs.pool import Run
    from modelyard.stack.config import Config


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    run_options(parser, PART)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Reads the cluster and explains."""
    from modelyard.cluster.lists import pods_of_run, pool_objects
    from modelyard.report.runs import why_document, why_text
    from modelyard.runs.pool import why, with_positions
    from modelyard.runs.pool.kueue import Queues

    found = runs_in(args, args.run)
    one = run_or_part(found, args.run)
    with reached():
        pods = pods_of_run(found.client, one.namespace, one.name, [part.name for part in one.parts])
        config = found.config
        sent = one.dispatched or bool(config.worker_clusters)
        objects = pool_objects(found.client, found.namespaces, dispatched=sent)
    (one,) = with_positions((one,), Queues(objects, config))
    answer = why(one, pods, objects, config=config, now=found.now, by_cluster=_looked_at(one, config))
    if args.json:
        say_json(why_document(answer, found.now))
    else:
        say(why_text(answer, style_for(args, sys.stdout)))
    return Exit.FINE


def _looked_at(run: "Run", config: "Config") -> "dict[str, WorkerClusterObjects]":
    """The objects of a run in each cluster with a context; unreachable clusters are reported and left out."""
    from modelyard.runs.pool.dispatch import clusters_for

    if not run.dispatched or run.over:
        return {}
    from modelyard.cluster.connection import ClusterError
    from modelyard.cluster.lists import pods_of_run, workloads_in
    from modelyard.cluster.pool_objects import WorkerClusterObjects
    from modelyard.hiding import Confidential

    found = {}
    for name in clusters_for(run, config):
        try:
            client = worker_client(config, name)
            if client is None:
                continue
            pods = pods_of_run(client, run.namespace, run.name, [part.name for part in run.parts])
            workloads, unread = workloads_in(client, {run.namespace})
        except ClusterError as error:
            note(f"worker cluster {name} was not read: {error.summary}; {error.remedy}")
            continue
        found[name] = WorkerClusterObjects(
            None if unread else Confidential(tuple(workloads)), Confidential(tuple(pods))
        )
    return found
