"""What printing the runs of jobs and of pipelines has in common."""

from argparse import Namespace
from typing import TYPE_CHECKING

from modelyard.cli.common import say, say_errors
from modelyard.cli.exit import Exit, Stop

if TYPE_CHECKING:
    from modelyard.jobs import Submission
    from modelyard.stack import Stack


def rendered(stack: "Stack", run: str, made: "Submission", args: Namespace) -> Exit:
    """Prints the objects of a run, or ends with why there are none.

    Args:
        stack: whose run it is.
        run: its name.
        made: what a submission would make.
        args: of the verb; ``json`` is looked at.
    """
    from modelyard.report.job import rendered_document, rendered_text

    if not made.objects:
        raise Stop(Exit.FINDINGS, "there is nothing to print", "", [one for one in made.findings if one.blocks])
    say_errors(made.findings, args)
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(rendered_document(stack.name, run, made))])
    else:
        say(rendered_text(made))
    return Exit.FINE
