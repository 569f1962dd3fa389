"""A notebook as a job: papermill runs it on its own GPU and writes a new notebook beside it."""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from modelyard.cli.common import chosen_stack, project_root, reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.printing import say, say_json
from modelyard.cli.submitting import Patience, nodes_for, report_warnings, user_label

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster.answer import Created
    from modelyard.hiding import Confidential
    from modelyard.kube.state import ObjectKey
    from modelyard.runs.jobs import Submission as JobSubmission
    from modelyard.runs.notebooks import Chosen, Place, Problem
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
PAUSE: Final = 2.0
"""Seconds between two checks of a job that the verb waits for."""
ENDS: Final = {"Complete": "complete", "Failed": "failed"}
"""Conditions of a Job that has ended."""


class Submission(NamedTuple):
    """A submitted notebook."""

    stack: "Stack"
    job: "Confidential[dict[str, Any]]"
    key: "ObjectKey"
    place: "Place"
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
    from modelyard.cluster.connection import connect
    from modelyard.runs.jobs import notebook_environment

    with reached():
        client = connect(made.stack.context)
        need_room(
            client,
            project_root(args),
            made.stack,
            chosen=made.chosen,
            who=f"notebook {Path(args.what).name}",
            shown=args.what,
        )
        environment, _ = notebook_environment(made.stack)
        need_built(client, made.stack, environment, made.key.namespace)
        _create(client, made, dry=True)
        state = "checked"
        if not args.dry_run:
            created = _create(client, made, dry=False)
            state = "submitted"
            if args.wait:
                if not args.json:
                    say(_words(made, state))
                state = _end(client, made, created.uid)
    if args.json:
        say_json(_document(made, state))
    elif state in ENDS.values():
        say([f"{made.key.name} is {state}: {made.place.seen}"])
    else:
        say(_words(made, state))
    return Exit.FINDINGS if state == "failed" else Exit.FINE


def _made(args: Namespace) -> Submission:
    """The submission; ends the run with all findings if there are any."""
    from modelyard.runs.notebooks import (
        Choice,
        Chosen,
        Notebook,
        Place,
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
    problems: list[Problem] = [] if isinstance(notebook, Notebook) else [*notebook]
    mounted = stack.config.notebooks.path
    place = locate(file, Path(args.workspace or mounted), mounted, name, args.what)
    if not isinstance(place, Place):
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
    if problems or not isinstance(place, Place) or not isinstance(chosen, Chosen):
        raise choice_stop(problems)
    job = checked_job(root, stack, name, place=place, chosen=chosen, parameters=parameters, shown=args.what)
    report_warnings(stack, job, args, date.today())
    return Submission(stack=stack, job=job.first, key=job.key, place=place, chosen=chosen)


def checked_job(
    root: Path,
    stack: "Stack",
    name: str,
    *,
    place: "Place",
    chosen: "Chosen",
    parameters: Mapping[str, str],
    shown: str,
) -> "JobSubmission":
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


def choice_stop(problems: "Sequence[Problem]") -> Stop:
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


def _create(client: "Client", made: Submission, *, dry: bool) -> "Created":
    from modelyard.cluster.answer import Refusal
    from modelyard.cluster.creating import create

    answer = create(client, made.job, dry=dry)
    if isinstance(answer, Refusal):
        remedy = "nothing was submitted; correct what the message names, or ask the cluster's administrator"
        raise Stop(
            Exit.FINDINGS, f"the API server rejects job {made.key.namespace}/{made.key.name}: {answer.message}", remedy
        )
    return answer


def _end(client: "Client", made: Submission, uid: str) -> str:
    """Waits for the job and returns how it ended."""
    from modelyard.cluster.live import read

    key = made.key
    patience = Patience(client, key, f"; modelyard job why {made.stack.name} {key.name} shows why")
    while True:
        found = read(client, key)
        if found is None or found["metadata"]["uid"] != uid:
            remedy = "it was deleted while it ran; submit the notebook again"
            raise Stop(Exit.FINDINGS, f"job {key.namespace}/{key.name} no longer exists", remedy)
        for condition in found.get("status", {}).get("conditions", ()):
            if condition.get("type") in ENDS and condition.get("status") == "True":
                return ENDS[condition["type"]]
        patience.look(suspended=bool(found["spec"].get("suspend")))
        time.sleep(PAUSE)


def _words(made: Submission, state: str) -> list[str]:
    key = made.key
    verb = "is submitted" if state == "submitted" else "would be submitted"
    return [
        f"job {key.name} {verb} in namespace {key.namespace}: {chosen_words(made.chosen)}",
        f"result: {made.place.seen}",
    ]


def chosen_words(chosen: "Chosen") -> str:
    """What a submission gets, such as ``1 GPU of flavor a10, queued for team vision``."""
    gpus, part = chosen.gpus, chosen.part
    what = f"{gpus} GPU{'s' * (gpus > 1)}" if part is None else f"{gpus} × {part.resource}"
    flavor = f" of flavor {chosen.flavor.name}" if chosen.flavor.name else ""
    queue = f", queued for team {chosen.team.name}" if chosen.team is not None else ""
    return f"{what}{flavor}{queue}"


def _document(made: Submission, state: str) -> dict[str, Any]:
    """What ``--json`` prints; ``outputs.schema.json`` defines the format."""
    return {
        "formatVersion": 1,
        "stack": made.stack.name,
        "job": made.key.name,
        "namespace": made.key.namespace,
        "team": made.chosen.team.name if made.chosen.team is not None else None,
        "flavor": made.chosen.flavor.name or None,
        "card": made.chosen.flavor.gpu,
        "allocation": made.chosen.allocation,
        "gpus": made.chosen.gpus,
        "notebook": made.place.notebook,
        "result": str(made.place.seen),
        "state": state,
    }
