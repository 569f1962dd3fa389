"""Pipelines of a stack: show one, or submit a run of it."""

from argparse import ArgumentParser, Namespace

from modelyard.cli.app import Verb
from modelyard.cli.exit import Exit
from modelyard.cli.subverbs import add_subverbs

SUB_VERBS: dict[str, Verb] = {
    "show": Verb("pipeline_show", "show the stages in order, and what they take"),
    "render": Verb("pipeline_render", "print what a run of a pipeline would be, without a cluster"),
    "submit": Verb("pipeline_submit", "make a run of a pipeline"),
}
"""Each with ``configure`` and ``run``, as a verb; the modules import what they work with only when they run."""


def configure(parser: ArgumentParser) -> None:
    """Adds the sub-verbs."""
    add_subverbs(parser, SUB_VERBS)


def run(args: Namespace) -> Exit:
    """Runs the sub-verb."""
    code: Exit = args.run_sub(args)
    return code
