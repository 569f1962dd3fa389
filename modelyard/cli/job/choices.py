"""Show the options for submitting a notebook: flavors with their GPU models, numbers of GPUs, teams, priorities."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.app import style_for
from modelyard.cli.common import chosen_stack, json_option, project_root, say, stack_argument
from modelyard.cli.exit import Exit


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Prints them."""
    from modelyard.report.choices import choices_document, choices_text
    from modelyard.runs.notebooks import offer

    stack = chosen_stack(project_root(args), args.stack)
    offered = offer(stack.config)
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(choices_document(stack, offered))])
    else:
        say(choices_text(stack, offered, style_for(args, sys.stdout)))
    return Exit.FINE
