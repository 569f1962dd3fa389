"""Jobs of a cluster: submit one of a stack's, or a notebook as one."""

from argparse import ArgumentParser, Namespace

from modelyard.cli.app import Verb, add_sub_verbs
from modelyard.cli.exit import Exit

SUB_VERBS: dict[str, Verb] = {
    "submit": Verb("job_submit", "start a job of a stack, or a notebook as a job"),
}
"""Each with ``configure`` and ``run``, as a verb; the modules import what they work with only when they run."""


def configure(parser: ArgumentParser) -> None:
    """Adds the sub-verbs."""
    add_sub_verbs(parser, SUB_VERBS)


def run(args: Namespace) -> Exit:
    """Runs the sub-verb."""
    code: Exit = args.run_sub_verb(args)
    return code
