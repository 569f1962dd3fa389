"""Only the findings of one or more stacks, policies included: the verb for CI. Ends with 1 when one is an error."""

import os
import sys
from argparse import ArgumentParser, Namespace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.cli.app import style_for
from modelyard.cli.common import exit_code, json_option, plan_one, project_root, stack_files, stack_options
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.formats import folder_in_repository, format_options, publish, wanted_formats
from modelyard.cli.judging import Judging, base_option, judged, judging
from modelyard.cli.many import each
from modelyard.findings import Finding, loud, ordered
from modelyard.plan.project import Planned
from modelyard.report.ci.checked import Checked
from modelyard.report.style import Style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from modelyard.explanations import Explanation
    from modelyard.probes.prometheus import Server


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    base_option(parser)
    parser.add_argument(
        "--prometheus", metavar="URL", help="also run the autoscaler's queries on this Prometheus server, now"
    )
    format_options(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Checks, and prints or writes."""
    root = project_root(args)
    wanted = wanted_formats(args)
    files = stack_files(root, args.stacks, args.all)
    server = _server(args.prometheus)
    with judging(root, args) as by:
        rules = _rules(root, by) if by.policies else {}
        what = What(args.live, by, server, args.verbose)
        found = list(each(tuple(files.values()), partial(_check, root, what)))
    checked = Checked(
        ordered(finding for one in found for finding in one.findings),
        {name: path.relative_to(root).as_posix() for name, path in files.items()},
        frozenset(name for name, one in zip(files, found, strict=True) if not one.planned),
        folder_in_repository(root),
        rules,
    )

    def text(style: Style) -> list[str]:
        return _text(checked, args.notes, style)

    publish(wanted, checked, text, style_for(args, sys.stdout), notes=args.notes, root=root)
    return exit_code(checked.findings, bool(checked.unplanned))


def _rules(root: Path, by: Judging) -> "Mapping[str, Explanation]":
    """The pages of the project's own rules. Loaded before any other process starts, they are there in each."""
    from modelyard.policy.pages import explained

    return explained(root, by.base)


class What(NamedTuple):
    """What is checked of each stack."""

    live: bool
    by: Judging
    server: "Server | None"
    verbose: bool


class One(NamedTuple):
    """One stack's findings."""

    planned: bool
    findings: tuple[Finding, ...]


def _check(root: Path, what: What, file: Path) -> One:
    result = judged(root, plan_one(root, file, what.live, what.verbose), what.by)
    if result.plan is None or result.stack is None:
        return One(False, result.findings)
    return One(True, (*result.plan.findings, *_prices(root, result), *_answers(result, what.server)))


def _prices(root: Path, result: Planned) -> tuple[Finding, ...]:
    """What is wrong with the stack's price file."""
    if result.stack is None or result.stack.config.prices is None:
        return ()
    from modelyard.plan.cost.project import prices_of

    return prices_of(root, result.stack)[1]


def _answers(result: Planned, server: "Server | None") -> tuple[Finding, ...]:
    """What a Prometheus server says to the stack's queries."""
    if server is None or result.stack is None or result.plan is None:
        return ()
    from modelyard.plan.asking import answers
    from modelyard.probes.prometheus import ServerError

    try:
        return answers(result.stack, result.plan, server, date.today())
    except ServerError as error:
        raise Stop(Exit.UNREACHABLE, error.summary, error.remedy) from error


def _server(address: str | None) -> "Server | None":
    if address is None:
        return None
    from modelyard.probes.prometheus import BadAddress, server

    try:
        return server(address, os.environ, named=True)
    except BadAddress as error:
        raise Stop(Exit.USAGE, error.summary, error.remedy) from error


def _text(checked: Checked, notes: bool, style: Style) -> list[str]:
    from modelyard.report.finding import findings_text, tally
    from modelyard.report.values import count

    told = checked.findings if notes else loud(checked.findings)
    words = tally(checked.findings)
    return [
        *findings_text(told, style),
        f"{count(len(checked.stacks), 'stack')} checked: {words or 'nothing is wrong'}",
    ]
