"""Only the findings of one or more stacks: the verb for CI. Ends with 1 when one is an error."""

import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from modelyard.cli.app import wants_colour
from modelyard.cli.common import exit_code, json_option, plan_one, project_root, say, stack_files, stack_options
from modelyard.cli.exit import Exit
from modelyard.cli.many import each
from modelyard.findings import Finding, Severity, ordered


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Checks and prints."""
    root = project_root(args)
    files = stack_files(root, args.stacks, args.all)
    found = list(each(tuple(files.values()), partial(_check, root, args.live)))
    findings = ordered(finding for one in found for finding in one.findings)
    if args.json:
        from modelyard.report.json import findings_document, json_text

        say([json_text(findings_document(findings))])
    else:
        _print(findings, len(files), args)
    return exit_code(findings, any(not one.planned for one in found))


class Checked(NamedTuple):
    """One stack's findings."""

    planned: bool
    findings: tuple[Finding, ...]


def _check(root: Path, live: bool, file: Path) -> Checked:
    result = plan_one(root, file, live)
    return Checked(result.plan is not None, result.findings if result.plan is None else result.plan.findings)


def _print(findings: tuple[Finding, ...], stacks: int, args: Namespace) -> None:
    from modelyard.report.finding import findings_text, tally
    from modelyard.report.style import Style
    from modelyard.report.values import count

    style = Style(wants_colour(args, sys.stdout))
    shown = [f for f in findings if args.notes or (f.severity is not Severity.ADVICE and not f.waived)]
    words = tally(findings)
    say([*findings_text(shown, style), f"{count(stacks, 'stack')} checked: {words or 'nothing is wrong'}"])
