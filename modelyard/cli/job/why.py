"""Explain why a run waits or failed: quota, queue, nodes and pods, with suggestions."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.app import style_for
from modelyard.cli.common import json_option, say
from modelyard.cli.exit import Exit


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    from modelyard.cli.job.shared import PART, run_options

    run_options(parser, PART)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Reads the cluster and explains."""
    from modelyard.cli.job.shared import reached, run_or_part, runs_in
    from modelyard.cli.worker_clusters import looked_at
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
    answer = why(one, pods, objects, config, found.now, looked_at(one, config))
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(why_document(answer, found.now))])
    else:
        say(why_text(answer, style_for(args, sys.stdout)))
    return Exit.FINE
