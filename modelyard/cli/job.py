"""Jobs of a cluster: submit one of a stack's, or a notebook as one, and see what becomes of it."""

from argparse import ArgumentParser, Namespace

from modelyard.cli.app import Verb
from modelyard.cli.exit import Exit
from modelyard.cli.subverbs import add_subverbs

SUB_VERBS: dict[str, Verb] = {
    "submit": Verb("job_submit", "start a job of a stack, or a notebook as a job"),
    "render": Verb("job_render", "print what a run of a job would be, without a cluster"),
    "choices": Verb("job_choices", "what a notebook can be submitted with"),
    "list": Verb("job_list", "runs that wait, run, or have ended"),
    "why": Verb("job_why", "why a run waits, or why it failed"),
    "logs": Verb("job_logs", "what a run's workers wrote"),
    "cancel": Verb("job_cancel", "stop a run, so that its GPUs come free"),
}
"""Each with ``configure`` and ``run``, as a verb; the modules import what they work with only when they run."""


def configure(parser: ArgumentParser) -> None:
    """Adds the sub-verbs."""
    add_subverbs(parser, SUB_VERBS)


def run(args: Namespace) -> Exit:
    """Runs the sub-verb."""
    code: Exit = args.run_sub(args)
    return code
