"""Jobs of a cluster: submit one of a stack's, or a notebook as one, and see what becomes of it."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from importlib import import_module

from modelyard.cli.app import Formatter, Parser, Verb, global_options
from modelyard.cli.exit import Exit

SUB_VERBS: dict[str, Verb] = {
    "submit": Verb("job_submit", "start a job of a stack, or a notebook as a job"),
    "list": Verb("job_list", "runs that wait, run, or have ended"),
    "why": Verb("job_why", "why a run waits, or why it failed"),
    "logs": Verb("job_logs", "what a run's workers wrote"),
    "cancel": Verb("job_cancel", "stop a run, so that its GPUs come free"),
}
"""Each with ``configure`` and ``run``, as a verb; the modules import what they work with only when they run."""


def configure(parser: ArgumentParser) -> None:
    """Adds the sub-verbs."""
    verbs = parser.add_subparsers(metavar="WHAT", required=True, parser_class=Parser)
    for name, verb in SUB_VERBS.items():
        module = import_module(f"modelyard.cli.{verb.module}")
        sub = verbs.add_parser(name, help=verb.help, description=module.__doc__, formatter_class=Formatter)
        before = set(map(id, sub._actions))
        global_options(sub)
        for action in sub._actions:
            if id(action) not in before:
                # What was said before the sub-verb counts, unless it is said again.
                action.default = SUPPRESS
        module.configure(sub)
        sub.set_defaults(run_job=module.run)


def run(args: Namespace) -> Exit:
    """Runs the sub-verb."""
    code: Exit = args.run_job(args)
    return code
