"""Verbs that consist of sub-verbs."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Mapping
from importlib import import_module

from modelyard.cli.app import Formatter, Parser, Verb, global_options
from modelyard.cli.exit import Exit


def add_subverbs(parser: ArgumentParser, known: Mapping[str, Verb]) -> None:
    """Adds a parser for each sub-verb; ``run_subverb`` runs the chosen one.

    Args:
        parser: the verb's parser.
        known: the sub-verbs, each with ``configure`` and ``run``; modules import their tools only when they run.
    """
    verbs = parser.add_subparsers(metavar="WHAT", required=True, parser_class=Parser)
    for name, verb in known.items():
        module = import_module(f"modelyard.cli.{verb.module}")
        sub = verbs.add_parser(name, help=verb.help, description=module.__doc__, formatter_class=Formatter)
        before = set(map(id, sub._actions))
        global_options(sub)
        for action in sub._actions:
            if id(action) not in before:
                # An option given before the sub-verb counts, unless it is repeated after it.
                action.default = SUPPRESS
        module.configure(sub)
        sub.set_defaults(run_sub=module.run)


def run_subverb(args: Namespace) -> Exit:
    """Runs the chosen sub-verb."""
    code: Exit = args.run_sub(args)
    return code
