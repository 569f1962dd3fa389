"""Stop a run: delete its objects and pods, which frees its GPUs. Asks first.

Finished runs keep their objects and logs. Runs from other stacks, or started outside modelyard, are left alone. A run
of a pipeline or of a search is stopped as a whole.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from modelyard.cli.common import reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.job import run_options, runs_in, the_run
from modelyard.cli.options import json_option
from modelyard.cli.printing import note, say, say_json
from modelyard.cli.streams import style_for
from modelyard.cli.submitting import need_user
from modelyard.report.style import safe

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.runs.pool import Run
    from modelyard.runs.pool.owners import Stake


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    run_options(parser)
    parser.add_argument("--mine", action="store_true", help="only if you submitted it ($MODELYARD_USER, or your login)")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Asks and deletes."""
    from modelyard.cli.question import need_yes
    from modelyard.cli.signals import ended_by_signal
    from modelyard.report.runs import cancelled_document, cancelled_text, cancelling_text

    client, one, has = _now(args)
    with ended_by_signal("nothing was cancelled"):
        if not (one.over or args.yes):
            note(f"{cancelling_text(one, has)} Its logs, and results not saved elsewhere, are lost.")
            need_yes(nothing="nothing was cancelled")
            # The run may have got its GPUs meanwhile, or ended.
            client, one, has = _now(args)
    if not one.over:
        _delete(client, one)
    if args.json:
        say_json(cancelled_document(one, None if one.over else has))
    elif one.over:
        say([f"{one.name} has ended ({one.state}), so nothing is left to stop"])
    else:
        say(cancelled_text(one, has, style_for(args, sys.stdout)))
    return Exit.FINE


def _now(args: Namespace) -> "tuple[Client, Run, Stake]":
    """The current run and what it holds."""
    from modelyard.cluster.lists import workloads_in
    from modelyard.runs.pool.owners import stake

    user = need_user() if args.mine else None
    found = runs_in(args, args.run)
    one = the_run(found, args.run)
    if user not in (None, one.user):
        raise Stop(
            Exit.USAGE,
            f"{one.name} is a run of {safe(one.user)}, not of {user}"
            if one.user
            else f"{one.name} has no recorded user, so it may not be a run of {user}",
            "nothing was cancelled; to cancel it anyway, drop --mine",
        )
    with reached():
        # If you may not read Workloads, the run's own objects have to do.
        workloads, _ = workloads_in(found.client, {one.namespace} if one.count("queued") else ())
    return found.client, one, stake(one, workloads)


def _delete(client: "Client", run: "Run") -> None:
    """Deletes every object of the run; an object that is already gone is no failure."""
    from modelyard.cluster.answer import Deletion
    from modelyard.cluster.writing import OvertakenError, RefusedError, delete

    for part in run.parts:
        try:
            with reached():
                delete(client, Deletion(part.key, part.uid), waits=True)
        except (OvertakenError, RefusedError) as error:
            raise Stop(
                Exit.FINDINGS,
                f"{part.kind} {part.name} cannot be deleted: {error}",
                "if you lack the right to delete it, ask for it; otherwise try again; "
                "the parts above it in modelyard job list are cancelled",
            ) from error
