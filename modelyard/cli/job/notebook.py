"""A notebook as a job: papermill runs it on its own GPU and writes a new notebook beside it."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from modelyard.cli.common import chosen_stack, project_root, reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.printing import say, say_json
from modelyard.cli.submitting import nodes_for, not_taken, report_warnings, user_label, wait_for_end

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.runs.jobs import Submission
    from modelyard.runs.notebooks import Chosen, NotebookPaths, NotebookProblem
    from modelyard.stack import Stack

OPTIONS: Final = {
    "flavor": "set gpu of its resource, or team of the job",
    "device": "set gpu of its resource",
    "allocation": "set gpus or partition of its resource",
    "partition": "set partition of its resource",
    "slice": "set slice of its resource",
    "team": "set team of the job",
    "priority": "set priority of the job",
    "parameter": "set its variables in env of the job",
    "workspace": "drop --workspace",
    "wait": "drop --wait, and follow the run with modelyard job logs STACK RUN --follow",
}
"""Options that only notebooks have, and what to do for a job instead."""


class NotebookSubmission(NamedTuple):
    """A submitted notebook."""

    stack: "Stack"
    job: "Submission"
    place: "NotebookPaths"
    chosen: "Chosen"


def is_notebook(word: str) -> bool:
    """Whether an argument names a notebook, existing or not."""
    return word.lower().endswith(".ipynb")


def options(parser: ArgumentParser) -> None:
    """Adds the options of a notebook's submission."""
    from modelyard.stack.config import Allocation

    add = parser.add_argument_group("notebooks").add_argument
    add("--flavor", metavar="F", help="kind of nodes, as in modelyard:flavors")
    add("--device", metavar="GPU", help="GPU model, such as A10; chooses the flavor that has it")
    add(
        "--allocation",
        choices=get_args(Allocation),
        help="single (one GPU, the default), partial (one slice, the default with --partition or --slice), multi_gpu "
        "(gpu.perWorker GPUs)",
    )
    add("--partition", metavar="P", help="with partial: the partition, as in modelyard:partitions")
    add("--slice", metavar="PROFILE", help="with partial: the MIG profile, if the partition has several")
    add("--team", metavar="T", help="team whose quota to use (default: the only team)")
    add("--priority", metavar="P", help="priority, as in modelyard:priorities")
    add(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value for the cell tagged parameters (repeatable)",
    )
    add(
        "--workspace",
        metavar="DIR",
        help="the workspace's folder on this machine (default: notebooks.path of the stack)",
    )
    add("--wait", action="store_true", help="wait until the run ends; exit code 1 if it failed")


def run(args: Namespace) -> Exit:
    """Checks everything, asks the API server, creates the Job, and reports where its result will be."""
    made = _made(args)
    from modelyard.cli.environment import need_built
    from modelyard.cluster.answer import Refusal
    from modelyard.cluster.connection import connect
    from modelyard.cluster.creating import create_all
    from modelyard.report.notebook import notebook_document, notebook_text
    from modelyard.runs.jobs import notebook_environment

    stack, key, shown = made.stack, made.job.key, (made.job.key, made.place, made.chosen)
    with reached():
        client = connect(stack.context)
        need_room(
            client,
            project_root(args),
            stack,
            chosen=made.chosen,
            who=f"notebook {Path(args.what).name}",
            shown=args.what,
        )
        environment, _ = notebook_environment(stack)
        need_built(client, stack, environment, key.namespace)
        created = create_all(client, made.job.objects, dry=args.dry_run)
        if isinstance(created, Refusal):
            raise not_taken(created)
        state = "checked" if args.dry_run else "submitted"
        if args.wait and not args.dry_run:
            if not args.json:
                say(notebook_text(*shown, state))
            more = f"; modelyard job why {stack.name} {key.name} shows why"
            ended = wait_for_end(client, key, uid=created[0].uid, again="submit the notebook again", more=more)
            state = "complete" if ended == "succeeded" else ended
    if args.json:
        say_json(notebook_document(stack.name, *shown, state))
    elif state in ("complete", "failed"):
        say([f"{key.name} is {state}: {made.place.seen}"])
    else:
        say(notebook_text(*shown, state))
    return Exit.FINDINGS if state == "failed" else Exit.FINE


def _made(args: Namespace) -> NotebookSubmission:
    """The submission; ends the run with all findings if there are any."""
    from modelyard.runs.notebooks import (
        Choice,
        Chosen,
        Notebook,
        NotebookPaths,
        choose,
        job_name,
        locate,
        parse_parameters,
        read_notebook,
    )

    root = project_root(args)
    stack = chosen_stack(root, args.stack)
    file = Path(args.what)
    name = job_name(file)
    notebook = read_notebook(file, args.what)
    problems: list[NotebookProblem] = [] if isinstance(notebook, Notebook) else [*notebook]
    mounted = stack.config.notebooks.path
    place = locate(file, Path(args.workspace or mounted), mounted, name, args.what)
    if not isinstance(place, NotebookPaths):
        problems += place
    chosen = choose(
        stack.config,
        Choice(
            flavor=args.flavor,
            device=args.device,
            allocation=args.allocation,
            team=args.team,
            priority=args.priority,
            partition=args.partition,
            slice=args.slice,
        ),
    )
    if not isinstance(chosen, Chosen):
        problems += chosen
    parameters, wrong = parse_parameters(
        args.parameter, notebook if isinstance(notebook, Notebook) else None, args.what
    )
    problems += wrong
    if problems or not isinstance(place, NotebookPaths) or not isinstance(chosen, Chosen):
        raise choice_stop(problems)
    job = checked_job(root, stack, name, place=place, chosen=chosen, parameters=parameters, shown=args.what)
    report_warnings(stack, job, args, date.today())
    return NotebookSubmission(stack, job, place, chosen)


def checked_job(
    root: Path,
    stack: "Stack",
    name: str,
    *,
    place: "NotebookPaths",
    chosen: "Chosen",
    parameters: Mapping[str, str],
    shown: str,
) -> "Submission":
    """The Job of a notebook with its findings; ends the run if errors are among them."""
    from modelyard.plan.notebook import notebook_job
    from modelyard.plan.project import library_of

    library = library_of(root)
    blocking = [one for one in library.findings if one.blocks]
    if blocking:
        raise Stop(Exit.USAGE, "the project's patches cannot be used", "", blocking)
    made = notebook_job(library, stack, name, place=place, chosen=chosen, parameters=parameters, today=date.today())
    if not made.objects:
        raise Stop(Exit.FINDINGS, f"{shown} cannot be submitted to {stack.name}", "", made.findings)
    return made.with_user(user_label())


def choice_stop(problems: "Sequence[NotebookProblem]") -> Stop:
    """Reports all findings at once; a single finding has its remedy on a separate line."""
    if len(problems) == 1:
        return Stop(Exit.USAGE, problems[0].summary, problems[0].remedy)
    listed = "".join(f"\n- {one.summary}\n  → {one.remedy}" for one in problems)
    return Stop(Exit.USAGE, f"{len(problems)} findings prevent the submission{listed}")


def need_room(client: "Client", root: Path, stack: "Stack", *, chosen: "Chosen", who: str, shown: str) -> None:
    """Ends the run if no quota or no node can ever hold the job; uses recorded nodes if you may not read live ones.

    Args:
        client: connection to the cluster.
        root: the project's folder.
        stack: the stack.
        chosen: the chosen nodes, GPUs and queue.
        who: what is submitted, for findings.
        shown: what is submitted, as the command line names it.
    """
    from modelyard.plan.notebook import check_notebook_room
    from modelyard.runs.notebooks import labels_of

    nodes, live = nodes_for(client, root, stack, labels_of(chosen))
    note = f"; live nodes are not readable, so recorded ones were used: modelyard record {stack.name}"
    if errors := check_notebook_room(stack, who, chosen, nodes=nodes, today=date.today(), note="" if live else note):
        raise Stop(Exit.FINDINGS, f"{shown} cannot be submitted to {stack.name}", "", errors)
