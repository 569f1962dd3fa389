"""Show the options for submitting a notebook: flavors with their GPU models, numbers of GPUs, teams, priorities.

With --live, also show what is free now: GPUs of nodes that are ready, and what is left of each team's quota.
"""

import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root
from modelyard.cli.exit import Exit
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say, say_json
from modelyard.cli.streams import style_for

if TYPE_CHECKING:
    from modelyard.runs.notebooks import Free, NotebookOffer
    from modelyard.stack import Stack


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("--live", action="store_true", help="also show what is free in the cluster now")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Prints them."""
    from modelyard.report.choices import choices_document, choices_text
    from modelyard.runs.notebooks import offer

    stack = chosen_stack(project_root(args), args.stack)
    offered = offer(stack.config)
    free = _free(stack, offered) if args.live else None
    if args.json:
        say_json(choices_document(stack, offered, free))
    else:
        say(choices_text(stack, offered, free, style_for(args, sys.stdout)))
    return Exit.FINE


def _free(stack: "Stack", offered: "NotebookOffer") -> "Free":
    """What is free in the cluster; unknown if it cannot be read, because the choices stay the same."""
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.lists import pool_objects
    from modelyard.runs.notebooks import Free
    from modelyard.runs.notebooks.offer import free_now
    from modelyard.workloads.facts.pool import namespaces

    try:
        objects = pool_objects(connect(stack.context), namespaces(stack.config))
    except ClusterError as error:
        return Free(error.summary)
    return free_now(stack.config, offered, objects, datetime.now(UTC))
