"""Show one Python environment: its package list, its lock with every package, and what uses it."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.common import chosen_stack, project_root
from modelyard.cli.environment import chosen_environment
from modelyard.cli.exit import Exit
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say, say_errors, say_json
from modelyard.cli.streams import style_for


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("name", metavar="NAME", help="name of one of its Python environments")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Reads and prints."""
    from modelyard.report.environment import show_document, show_text
    from modelyard.runs.jobs.environment import problems_of

    stack = chosen_stack(project_root(args), args.stack, "Python environment", args.name)
    environment = chosen_environment(stack, args.name)
    wrong = problems_of(stack, environment)
    if args.json:
        say_json(show_document(stack.name, stack.config, environment))
    else:
        say(show_text(stack.config, environment, style_for(args, sys.stdout)))
    say_errors(wrong, args)
    return Exit.FINDINGS if wrong else Exit.FINE
