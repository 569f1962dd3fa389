"""Show the size of each resource of a stack, with the calculation of every estimate."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root, stack_and_name
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say, say_errors, say_json
from modelyard.cli.streams import style_for
from modelyard.report.style import wrapped

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized


_ADD = "add them under modelyard:jobs and modelyard:resources"
"""What to do in a stack without jobs and resources."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this resource, or the resource of this job")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Sizes and prints."""
    from modelyard.findings import ordered
    from modelyard.report.size import size_document, size_text
    from modelyard.stack import waive
    from modelyard.workloads.sizing import check_jobs, sized

    root = project_root(args)
    named, name = stack_and_name(root, args.stack, args.name)
    stack = chosen_stack(root, named)
    everything = sized(stack.config)
    resources = everything if name is None else _named(stack.name, everything, name)
    # A plan reports findings about the waivers themselves, because it knows all findings.
    judged, _ = waive(check_jobs(stack, everything), stack, date.today())
    wrong = ordered(finding for finding in judged if finding.blocks)
    if args.json:
        say_json(size_document(stack.name, stack.file, resources))
    elif not resources:
        words = f"{stack.name} has no jobs and no resources; {_ADD}"
        say(wrapped(words, 0, style_for(args, sys.stdout).columns))
    else:
        say(size_text(stack.name, resources, style_for(args, sys.stdout)))
    say_errors(wrong, args)
    return Exit.FINDINGS if wrong else Exit.FINE


def _named(stack: str, resources: "Sequence[Sized]", name: str) -> "tuple[Sized, ...]":
    """The resource of that name, or those of the jobs of that name."""
    from modelyard.stack.words import did_you_mean

    found = [one for one in resources if one.resource.name == name and not one.own]
    found = found or [one for one in resources if name in [job.name for job, _ in one.jobs]]
    if not found:
        known = [one.resource.name for one in resources] + [job.name for one in resources for job, _ in one.jobs]
        have = f"known names: {', '.join(dict.fromkeys(known))}" if known else f"the stack has none; {_ADD}"
        remedy = did_you_mean(name, known) or have
        raise Stop(Exit.USAGE, f"{stack} has no resource or job {name!r}", remedy)
    return tuple(found)
