"""List the runs of a stack that have not ended.

A cancelled run is listed until its pods have stopped. --all also shows finished runs that the cluster still has.
"""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.job import in_order, runs_in, stack_option
from modelyard.cli.options import json_option
from modelyard.cli.printing import note, say, say_json
from modelyard.cli.streams import style_for
from modelyard.cli.submitting import need_user


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_option(parser)
    parser.add_argument("--team", metavar="T", help="only runs in the queue of this team")
    parser.add_argument(
        "--mine", action="store_true", help="only runs that you submitted ($MODELYARD_USER, or your login)"
    )
    parser.add_argument("--all", action="store_true", help="include runs that have ended")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Prints the table."""
    from modelyard.report.runs import runs_document, runs_text
    from modelyard.stack.names import instead

    if args.team is not None and args.remote is not None:
        raise Stop(
            Exit.USAGE, "a remote cluster has no teams", "drop --team; the column QUEUE shows the queue of each run"
        )
    user = need_user() if args.mine else None
    found = in_order(runs_in(args))
    teams = {*(team.name for team in found.stack.config.teams), *(run.team for run in found.runs if run.team)}
    if args.team is not None and args.team not in teams:
        raise Stop(Exit.USAGE, f"unknown team {args.team!r}", instead(args.team, teams, "teams"))
    asked = [one for one in found.runs if args.team in (None, one.team) and user in (None, one.user)]
    shown = [one for one in asked if args.all or not one.over]
    if args.json:
        say_json(runs_document(found.stack, shown, found.now, found.unread))
        return Exit.FINE
    say(runs_text(shown, found.now, style_for(args, sys.stdout), hidden=len(asked) - len(shown)))
    if found.unread:
        note(f"these credentials may not read {', '.join(found.unread)}, so the list is incomplete")
    return Exit.FINE
