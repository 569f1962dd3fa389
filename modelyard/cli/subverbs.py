"""Verbs that consist of others."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Mapping
from importlib import import_module

from modelyard.cli.app import Formatter, Parser, Verb, global_options
from modelyard.cli.exit import Exit


def add_subverbs(parser: ArgumentParser, known: Mapping[str, Verb]) -> None:
    """Adds a parser for each; ``run_subverb`` runs the one that was said.

    Args:
        parser: of the verb.
        known: each with ``configure`` and ``run``, as a verb; the modules import what they work with when they run.
    """
    verbs = parser.add_subparsers(metavar="WHAT", required=True, parser_class=Parser)
    for name, verb in known.items():
        module = import_module(f"modelyard.cli.{verb.module}")
        sub = verbs.add_parser(name, help=verb.help, description=module.__doc__, formatter_class=Formatter)
        before = set(map(id, sub._actions))
        global_options(sub)
        for action in sub._actions:
            if id(action) not in before:
                # What was said before the sub-verb counts, unless it is said again.
                action.default = SUPPRESS
        module.configure(sub)
        sub.set_defaults(run_sub=module.run)


def run_subverb(args: Namespace) -> Exit:
    """Runs the sub-verb."""
    code: Exit = args.run_sub(args)
    return code
