"""Start a run of a pipeline: create all stages, each held until the stages that it needs have succeeded.

Waiting stages hold no GPU. A pod without a GPU starts the stages, so you may close this terminal. If a stage fails, the
stages that need it never start; the others continue. To stop the run, use modelyard job cancel.
"""

import sys
from argparse import ArgumentParser, Namespace
from datetime import date
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root, reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import note, say, say_json
from modelyard.cli.streams import style_for
from modelyard.cli.submitting import chosen_pipeline, not_taken, report_unplaced, report_warnings, user_label

if TYPE_CHECKING:
    from modelyard.runs.jobs import Submission
    from modelyard.runs.pipelines import Since


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("pipeline", metavar="PIPELINE", help="name of one of its pipelines")
    parser.add_argument(
        "--from", dest="since", metavar="STAGE", help="with --run: run only this stage and those that need it"
    )
    parser.add_argument("--run", metavar="RUN", help="with --from: the earlier run whose artifacts these stages read")
    parser.add_argument(
        "--dry-run", action="store_true", help="only ask the API server whether it would accept the run"
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Renders the pipeline, validates it by dry run, and creates it."""
    from modelyard.cli.environment import need_built
    from modelyard.cluster import Refusal
    from modelyard.cluster.connection import connect
    from modelyard.cluster.creating import create_all
    from modelyard.cluster.live import read
    from modelyard.plan.admission import admitted
    from modelyard.plan.project import library_of
    from modelyard.report.pipeline import run_document, run_text
    from modelyard.runs.pipelines import RUN_NAME, Since, jumping, kept_by, pipeline_run_name, pipeline_submission

    if (args.since is None) != (args.run is None):
        raise Stop(
            Exit.USAGE, "--from and --run belong together", "use --from STAGE --run RUN to continue an earlier run"
        )
    if args.run is not None and not RUN_NAME.fullmatch(args.run):
        raise Stop(
            Exit.USAGE, "--run is not the name of a run", "write it as shown by the submission, such as nightly-x7k2p"
        )
    root = project_root(args)
    stack = chosen_stack(root, args.stack, "pipeline", args.pipeline)
    pipeline = chosen_pipeline(stack, args.pipeline, args.since)
    name = pipeline_run_name(pipeline)
    since = Since(args.since, args.run) if args.since is not None else None
    today = date.today()

    def submission(since: "Since | None") -> "Submission":
        made = pipeline_submission(stack, library_of(root), pipeline, run=name, since=since, today=today)
        return admitted(stack, made, pipeline.jobs, today)

    made = submission(since)
    if not made.objects:
        raise Stop(Exit.FINDINGS, "nothing was submitted", "", [one for one in made.findings if one.blocks])
    report_warnings(stack, made, args, today)
    with reached():
        client = connect(stack.context)
        if since is not None:
            starter = read(client, made.key._replace(name=since.run))
            if starter is None:
                note(f"run {since.run} is not in the cluster; if it continued another run, artifacts will be missing")
            made = submission(since._replace(kept=kept_by(starter or {})))
        made = made.with_user(user_label())
        for environment in made.environments:
            need_built(client, stack, environment, made.key.namespace)
        report_unplaced(client, root, stack, names=pipeline.jobs, args=args, today=today)
        objects = create_all(client, made.objects, dry=True)
        if not isinstance(objects, Refusal):
            if early := jumping(made, objects):
                raise Stop(Exit.FINDINGS, "nothing was submitted", "", [early])
            if not args.dry_run:
                objects = create_all(client, made.objects, dry=False)
    if isinstance(objects, Refusal):
        raise not_taken(objects)
    if args.json:
        say_json(run_document(stack.name, pipeline.name, name, made, objects, dry_run=args.dry_run))
    else:
        say(run_text(stack.name, name, objects, style_for(args, sys.stdout), dry_run=args.dry_run))
    return Exit.FINE
