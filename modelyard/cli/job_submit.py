"""Start a job of a stack: a run of its command, in its team's queue.

Every run has a name of its own. It waits until its team's quota has room for all of its workers, and its GPUs are free
again as soon as it has ended.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from modelyard.cli.app import style_for
from modelyard.cli.common import json_option, project_root, say, say_errors, stack_files
from modelyard.cli.exit import Exit, Stop
from modelyard.jobs import Submission
from modelyard.stack import Stack

STACK = "MODELYARD_STACK"
"""Environment variable that names the stack where nobody else does."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "stack", nargs="?", metavar="STACK", help=f"name of a stack; left out, ${STACK} or the only one that there is"
    )
    parser.add_argument("what", metavar="JOB", help="name of one of its jobs")
    parser.add_argument("--dry-run", action="store_true", help="only ask the cluster whether it would take it")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Renders, asks by dry run, and creates."""
    from modelyard.jobs import job_submission, run_name
    from modelyard.plan.project import library_of

    root = project_root(args)
    stack = loaded(root, args.stack)
    name = run_name(args.what)
    made = job_submission(stack, library_of(root), args.what, name)
    return send(stack, name, made, args)


def loaded(root: Path, named: str | None) -> Stack:
    """The stack that is named, or meant."""
    from modelyard.plan.project import shown
    from modelyard.stack import discover, load

    name = named or os.environ.get(STACK)
    known = [found.name for found in discover(root)]
    if name is None and len(known) == 1:
        (name,) = known
    if name is None:
        raise Stop(
            Exit.USAGE, "no stack was named", f"name one of {', '.join(sorted(known)) or 'none'}, or set {STACK}"
        )
    (path,) = stack_files(root, [name], False).values()
    stack, findings = load(path, shown(root, path))
    if stack is None:
        raise Stop(Exit.USAGE, f"{name} cannot be read", "", findings)
    return stack


def send(stack: Stack, name: str, made: Submission, args: Namespace) -> Exit:
    """Creates what a submission makes, and tells what it is."""
    from modelyard.cluster import Refusal
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.creating import create_all
    from modelyard.plan.ownership import FIELD_MANAGER
    from modelyard.report.job import submitted_document, submitted_text

    if not made.objects:
        raise Stop(Exit.FINDINGS, "nothing was submitted", "", [one for one in made.findings if one.blocks])
    say_errors(made.findings, args)
    try:
        objects = create_all(connect(stack.context), made.objects, FIELD_MANAGER, dry=args.dry_run)
    except ClusterError as error:
        raise Stop(Exit.UNREACHABLE, error.summary, error.remedy) from error
    if isinstance(objects, Refusal):
        raise Stop(
            Exit.FINDINGS, f"the cluster does not take it: {objects.message}", "correct the job; nothing was made"
        )
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(submitted_document(stack.name, name, made, objects, dry_run=args.dry_run))])
    else:
        style = style_for(args, sys.stdout)
        say(submitted_text(name, objects, style, dry_run=args.dry_run))
    return Exit.FINE
