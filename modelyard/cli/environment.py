"""Python environments of jobs: lock a list, build it once in the cluster, see what there is."""

from argparse import ArgumentParser, Namespace

from modelyard.cli.app import Verb
from modelyard.cli.exit import Exit
from modelyard.cli.subverbs import add_subverbs

SUB_VERBS: dict[str, Verb] = {
    "list": Verb("environment_list", "the environments of a stack, and whether they are locked"),
    "show": Verb("environment_show", "one environment with every package of its lock"),
    "lock": Verb("environment_lock", "resolve a list to exact versions with hashes"),
    "build": Verb("environment_build", "build a locked environment in the cluster, once"),
}
"""Each with ``configure`` and ``run``, as a verb; the modules import what they work with only when they run."""


def configure(parser: ArgumentParser) -> None:
    """Adds the sub-verbs."""
    add_subverbs(parser, SUB_VERBS)


def run(args: Namespace) -> Exit:
    """Runs the sub-verb."""
    code: Exit = args.run_sub(args)
    return code
