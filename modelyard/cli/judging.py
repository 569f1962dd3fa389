"""Which policies judge, in every verb that judges: the project's own, or with the Python rules of a commit, or none."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.cli.exit import Exit, Stop
from modelyard.findings import Finding, ordered
from modelyard.plan.project import Planned

if TYPE_CHECKING:
    from modelyard.preview.earlier import Earlier
    from modelyard.stack import Stack

_FOLDER = "policies"


class Judging(NamedTuple):
    """What judges the plans of a run."""

    policies: bool
    """Whether policies judge at all."""
    base: Path | None = None
    """The project at the commit whose Python rules judge, None where they are the project's own."""
    earlier: "Earlier | None" = None
    """That project: what its stacks set for rules is compared with what they set now."""


def policy_options(parser: ArgumentParser) -> None:
    """Which policies judge; a verb that needs a base for more adds ``--base`` itself."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--policies",
        choices=("base", "head", "none"),
        help="whose Python rules run: those of the commit that --base names (default with --base), this project's own "
        "(head), or none and no assertions either",
    )
    choice.add_argument(
        "--trust-head",
        dest="policies",
        action="store_const",
        const="head",
        help="short for --policies head: run this project's own Python rules",
    )
    choice.add_argument(
        "--no-policies", dest="policies", action="store_const", const="none", help="short for --policies none"
    )


def base_option(parser: ArgumentParser) -> None:
    """A commit to take rules from, for verbs that compare nothing, and ``policy_options``."""
    parser.add_argument(
        "--base", metavar="REF", help="run the Python rules of this commit, such as origin/main, not this project's own"
    )
    policy_options(parser)


@contextmanager
def judging(root: Path, args: Namespace) -> Iterator[Judging]:
    """What judges this run; the files of another commit are there until it ends.

    Raises:
        Stop: rules of a base are asked for and no base is named, or it cannot be read.
    """
    policies = args.policies or ("base" if args.base else "head")
    if policies != "base":
        yield Judging(policies != "none")
        return
    if not args.base:
        raise Stop(Exit.USAGE, "--policies base needs a commit", "name it, such as --base origin/main")
    from modelyard.cli.signals import ended_by_signal
    from modelyard.preview.earlier import earlier
    from modelyard.preview.revisions import RevisionError

    try:
        with (
            ended_by_signal("the run was stopped; nothing is left of the other commit"),
            earlier(root, args.base) as found,
        ):
            yield Judging(True, found.root, found)
    except RevisionError as error:
        raise Stop(Exit.USAGE, error.summary, error.remedy) from error


def judged(root: Path, planned: Planned, by: Judging) -> Planned:
    """The same plan with what the policies find in it, where there is anything to ask them."""
    if planned.plan is None or planned.stack is None or not by.policies:
        return planned
    news = _weaker(root, planned.stack, by)
    config = planned.stack.config
    # A folder that cannot be looked into is there all the same.
    there = any(os.path.lexists(one / _FOLDER) for one in (root, by.base) if one is not None)
    if not (there or config.policy.rules or config.waivers or news):
        return planned
    from modelyard.policy.check import check_plan

    findings = check_plan(root, planned.stack, planned.plan, date.today(), by.base)
    findings = ordered((*findings, *news)) if news else findings
    return planned._replace(plan=planned.plan._replace(findings=findings))


def _weaker(root: Path, stack: "Stack", by: Judging) -> tuple[Finding, ...]:
    """What the stack's file takes from the rules of the base."""
    before = by.earlier.of(stack) if by.earlier is not None else stack
    if before is stack:
        return ()
    from modelyard.policy.changes import waived, weaker_in
    from modelyard.policy.loading import policies_of

    return (*weaker_in(policies_of(root, by.base), before, stack), *waived(before, stack))
