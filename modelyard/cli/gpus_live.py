"""The current GPUs of a stack's cluster: who has them, which are free or idle, and what waits."""

import os
import sys
from argparse import Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from modelyard.cli.app import style_for
from modelyard.cli.common import chosen_stack, project_root, say
from modelyard.cli.exit import Exit, Stop

if TYPE_CHECKING:
    from modelyard.runs.pool import Usage


def run(args: Namespace) -> Exit:
    """Reads the cluster and prints the tables."""
    from modelyard.cli.job.shared import reached
    from modelyard.cluster.connection import connect
    from modelyard.cluster.lists import pool_objects
    from modelyard.report.pool import Asked, pool_document, pool_text
    from modelyard.runs.pool import pool_view
    from modelyard.stack.names import instead
    from modelyard.workloads.facts.pool import namespaces

    stack = chosen_stack(project_root(args), args.live or None)
    with reached():
        objects = pool_objects(connect(stack.context), namespaces(stack.config))
    if hidden := [name for name in ("nodes", "pods") if name in objects.unread]:
        raise Stop(
            Exit.UNREACHABLE,
            f"these credentials may not list the {' and '.join(hidden)} of the cluster",
            "ask for the right to get and list them",
        )
    usage = _usage(args.metrics, stack.config.drain.prometheus, args.idle)
    now = datetime.now(UTC)
    view = pool_view(objects, stack.config, usage, now)
    if args.team is not None:
        if args.team not in (known := {*view.teams, *(team.name for team in stack.config.teams)}):
            raise Stop(Exit.USAGE, f"unknown team {args.team!r}", instead(args.team, known, "teams"))
        view = view.of_team(args.team)
    if args.node is not None:
        if args.node not in (names := {one.name for one in view.nodes}):
            raise Stop(Exit.USAGE, f"the cluster has no GPU node {args.node!r}", instead(args.node, names, "GPU nodes"))
        view = view.of_node(args.node)
    asked = Asked(stack.name, now, usage, args.nodes)
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(pool_document(view, asked))])
    else:
        say(pool_text(view, asked, style_for(args, sys.stdout)))
    return Exit.FINE


def _usage(named: str | None, known: str | None, minutes: int) -> "Usage | None":
    """GPU usage; None where no server is known. A server named on the command line must answer."""
    from modelyard.probes.prometheus import BadAddress, ServerError, server
    from modelyard.runs.pool import Usage, busy_gpus

    url = named if named is not None else known
    if url is None:
        return None
    try:
        return busy_gpus(server(url, os.environ, named=named is not None), minutes)
    except BadAddress as error:
        raise Stop(Exit.USAGE, error.summary, error.remedy) from error
    except ServerError as error:
        if named is not None:
            raise Stop(Exit.UNREACHABLE, error.summary, error.remedy) from error
        return Usage({}, minutes, error.summary)
