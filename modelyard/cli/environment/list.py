"""Show the Python environments of a stack: whether they are locked, and with --live where they were built."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root, reached
from modelyard.cli.exit import Exit
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say, say_errors, say_json, say_wrapped
from modelyard.cli.streams import style_for

if TYPE_CHECKING:
    from modelyard.report.environment import EnvironmentBuilds
    from modelyard.stack import Stack


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument(
        "--live", action="store_true", help="also show in which namespaces of the cluster they are built"
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Reads and prints."""
    from modelyard.report.environment import list_document, list_text
    from modelyard.workloads.environments import check_environments

    stack = chosen_stack(project_root(args), args.stack)
    built = _built(stack) if args.live else None
    wrong = [one for one in check_environments(stack) if one.blocks]
    if args.json:
        say_json(list_document(stack.name, stack.config, built))
    elif not stack.config.environments:
        say_wrapped([f"{stack.name} has no Python environments; add them under modelyard:environments"])
    else:
        say(list_text(stack.name, stack.config, built, style_for(args, sys.stdout)))
    say_errors(wrong, args)
    return Exit.FINDINGS if wrong else Exit.FINE


def _built(stack: "Stack") -> "EnvironmentBuilds":
    from modelyard.cluster.connection import connect
    from modelyard.cluster.present import build_state
    from modelyard.workloads.facts.environments import build_name
    from modelyard.workloads.facts.pool import namespaces

    with reached():
        client = connect(stack.context)
        return {
            one.name: {
                namespace: build_state(client, namespace, build_name(one.name, one.files.digest))
                for namespace in namespaces(stack.config)
            }
            for one in stack.config.environments
            if one.files is not None and one.files.digest
        }
