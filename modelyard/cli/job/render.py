"""Print the objects of a job's run as YAML, without a cluster.

Use it for reviews, for tools that check manifests, and for GitOps. The run has the
name of the job, so the output is always the same; a submission gives every run its own name.
"""

from argparse import ArgumentParser, Namespace
from datetime import date
from shlex import quote

from modelyard.cli.common import chosen_stack, project_root
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.job.notebook import is_notebook
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.submitting import need_job, rendered


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("job", metavar="JOB", help="name of one of its jobs that has a command")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Renders and prints."""
    from modelyard.plan.admission import admitted
    from modelyard.plan.project import library_of
    from modelyard.runs.jobs import job_submission, run_name

    root = project_root(args)
    stack = chosen_stack(root, args.stack, "job", args.job)
    if is_notebook(args.job):
        remedy = f"submit it: modelyard job submit {stack.name} {quote(args.job)}; with --dry-run, only check it"
        raise Stop(Exit.USAGE, "notebooks cannot be rendered", remedy)
    need_job(stack, args.job)
    name, today = run_name(args.job, shown=True), date.today()
    made = admitted(stack, job_submission(stack, library_of(root), args.job, name, today), {args.job}, today)
    return rendered(stack, name, made, args)
