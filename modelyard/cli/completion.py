"""Print a completion script. Save it where your shell looks for completions, or eval it in your shell's start file."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.exit import Exit

SHELLS = ("bash", "zsh", "tcsh")


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: Namespace) -> Exit:
    """Prints the script."""
    import argparse
    from importlib import import_module

    import shtab

    from modelyard.cli.app import VERBS, global_options

    parser = argparse.ArgumentParser(prog="modelyard")
    global_options(parser)
    verbs = parser.add_subparsers()
    for name, verb in VERBS.items():
        module = import_module(f"modelyard.cli.{verb.module}")
        sub = verbs.add_parser(name, help=verb.help, description=module.__doc__)
        global_options(sub)
        module.configure(sub)
    sys.stdout.write(shtab.complete(parser, args.shell) + "\n")
    return Exit.FINE
