"""Stop a run: its objects are deleted, and with them its pods, so that its GPUs come free.

Asks first. A run that has ended stays as it is, with its logs. What another stack submitted, or nobody did with
modelyard, is not touched.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from modelyard.cli.app import style_for
from modelyard.cli.common import json_option, say
from modelyard.cli.exit import Exit, Stop

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.pool import Run


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    from modelyard.cli.runs import run_options

    run_options(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Asks and deletes."""
    from modelyard.cli.runs import runs_in, the_run
    from modelyard.cli.signals import ended_by_signal
    from modelyard.report.runs import cancelled_document, cancelled_text

    found = runs_in(args)
    one = the_run(found, args.run)
    if one.over:
        text = [f"{one.name} has ended ({one.state}): there is nothing to stop"]
    else:
        with ended_by_signal("nothing was cancelled"):
            if not args.yes and not _agreed(one):
                raise Stop(Exit.USAGE, "nothing was cancelled", "answer yes, or give --yes where nobody can answer")
        _delete(found.client, one)
        text = cancelled_text(one, style_for(args, sys.stdout))
    if args.json:
        from modelyard.report.json import json_text

        text = [json_text(cancelled_document(one, not one.over))]
    say(text)
    return Exit.FINE


def _agreed(run: "Run") -> bool:
    from modelyard.cli.question import agreed
    from modelyard.report.style import safe
    from modelyard.stack.words import plural

    what = f"{plural(len(run.stages or run.parts), run.noun)} of " if len(run.parts) > 1 else ""
    question = (
        f"Cancelling stops {what}{safe(run.name)}, which is {run.state} and holds {run.held}. What it\n"
        "has not written elsewhere is lost, its logs too.\n"
    )
    if not sys.stdin.isatty():
        sys.stderr.write(question)
        return False
    return agreed(question)


def _delete(client: "Client", run: "Run") -> None:
    """Deletes every object of the run; one that is gone by then is no failure."""
    from modelyard.cli.runs import reached
    from modelyard.cluster.writing import OvertakenError, RefusedError, delete

    for part in run.parts:
        try:
            with reached():
                delete(client, part.body, waits=True)
        except (OvertakenError, RefusedError) as error:
            raise Stop(
                Exit.FINDINGS,
                f"the cluster does not delete {part.kind} {part.name}: {error}",
                "look at it, and try again; what stands before it in modelyard job list is cancelled",
            ) from error
