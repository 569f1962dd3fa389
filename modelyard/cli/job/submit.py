"""Start a job of a stack, or a notebook as a job.

Every run has its own name. In a team's queue, it waits until the quota has room for all of its workers or, with
leastWorkers or trials, for some of them. It frees its GPUs as soon as it ends. The result of a notebook is a new
notebook beside it. Only notebooks take --flavor and the options after it.
"""

import sys
from argparse import ArgumentParser, Namespace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root, reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.job import notebook as job_notebook
from modelyard.cli.job import resource_client
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say, say_json
from modelyard.cli.streams import style_for
from modelyard.cli.submitting import need_job, not_taken, report_unplaced, report_warnings, user_label

if TYPE_CHECKING:
    from modelyard.runs.jobs import Submission
    from modelyard.stack import Stack


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("what", metavar="JOB", help="name of one of its jobs, or a notebook (.ipynb)")
    parser.add_argument("--stack", dest="named", metavar="STACK", help="the stack, if it is not given before the job")
    parser.add_argument(
        "--dry-run", action="store_true", help="only ask the API server whether it would accept the run"
    )
    json_option(parser)
    job_notebook.options(parser)


def run(args: Namespace) -> Exit:
    """Renders the job, validates it by dry run, and creates it."""
    if args.stack is not None and args.named is not None:
        raise Stop(Exit.USAGE, "the stack was named twice", "name it before the job, or with --stack")
    args.stack = args.stack or args.named
    if job_notebook.is_notebook(args.what):
        return job_notebook.run(args)
    from modelyard.plan.admission import admitted
    from modelyard.plan.project import library_of
    from modelyard.runs.jobs import job_submission, run_name
    from modelyard.stack.words import listed

    if _is_file(args.what):
        remedy = "only jobs of the stack, by their names, and notebooks (.ipynb) can be submitted"
        raise Stop(Exit.USAGE, f"{args.what!r} is neither a notebook nor the name of a job", remedy)
    root = project_root(args)
    stack = chosen_stack(root, args.stack, "job", args.what)
    need_job(stack, args.what)
    if idle := {f"--{name}": remedy for name, remedy in job_notebook.OPTIONS.items() if getattr(args, name)}:
        words = f"only notebooks take {listed(list(idle), 'and')}, and {args.what} is a job"
        raise Stop(Exit.USAGE, words, "; ".join(idle.values()))
    name, today = run_name(args.what), date.today()
    made = admitted(stack, job_submission(stack, library_of(root), args.what, name, today), {args.what}, today)
    return send(root, stack, name, made, args)


def _is_file(word: str) -> bool:
    """Whether an argument names a file, existing or not: job names have no dot or slash."""
    return "." in word or "/" in word


def send(root: Path, stack: "Stack", name: str, made: "Submission", args: Namespace) -> Exit:
    """Creates the objects of a submission and reports them."""
    from modelyard.cli.environment import need_built
    from modelyard.cluster import Refusal
    from modelyard.cluster.connection import connect
    from modelyard.cluster.creating import create_all
    from modelyard.report.job import submitted_document, submitted_text

    if not made.objects:
        raise Stop(Exit.FINDINGS, "nothing was submitted", "", [one for one in made.findings if one.blocks])
    report_warnings(stack, made, args, date.today())
    made = made.with_user(user_label())
    with reached():
        client = resource_client(args, stack, made.remote)[0] if made.remote else connect(stack.context)
        for environment in made.environments:
            need_built(client, stack, environment, made.key.namespace)
        if not made.remote:
            report_unplaced(client, root, stack, names={args.what}, args=args, today=date.today())
        objects = create_all(client, made.objects, dry=args.dry_run, apart=made.apart)
    if isinstance(objects, Refusal):
        raise not_taken(objects)
    if args.json:
        say_json(submitted_document(stack.name, name, made, objects, dry_run=args.dry_run))
    else:
        style = style_for(args, sys.stdout)
        say(submitted_text(name, objects, style, dry_run=args.dry_run, remote=made.remote))
    return Exit.FINE
