"""Chooses the policies of a run: the project's own, those with the Python rules of another commit, or none."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.cli.exit import Exit, Stop, ended_by
from modelyard.cli.options import commit
from modelyard.findings import Finding, ordered

if TYPE_CHECKING:
    from modelyard.plan.project import Planned
    from modelyard.preview.earlier import Earlier
    from modelyard.stack import Stack

_FOLDER = "policies"


class Judging(NamedTuple):
    """The policies that judge the plans of a run."""

    policies: bool
    """Whether policies judge at all."""
    base: Path | None = None
    """The project at the commit whose Python rules judge; None to use the project's own rules."""
    earlier: "Earlier | None" = None
    """The earlier project, to compare the rule settings of its stacks with the current ones."""

    @property
    def commit(self) -> str:
        """The full name of the commit whose Python rules judge; empty to use the project's own rules."""
        return "" if self.earlier is None else self.earlier.commit

    def folders(self, root: Path) -> tuple[Path, ...]:
        """The folders of the files that plans and policies read."""
        return (root,) if self.base is None else (root, self.base)


def policy_options(parser: ArgumentParser) -> None:
    """Adds the options that choose policies; a verb that also needs a base adds ``--base`` itself."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--policies",
        choices=("base", "head", "none"),
        help="which Python rules run: base (those of the base, see --base; the default if there is a base), head "
        "(those of this project), or none (no Python rules and no assertions)",
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
    """Adds ``policy_options``, and ``--base`` for verbs that compare nothing."""
    parser.add_argument(
        "--base",
        type=commit,
        metavar="REF",
        help="run the Python rules of this commit, such as origin/main, instead of this project's",
    )
    policy_options(parser)


@contextmanager
def judging(root: Path, args: Namespace) -> Iterator[Judging]:
    """The policies of this run; files of another commit exist until the run ends.

    Raises:
        Stop: the rules of a base are requested but no base is named, or it cannot be read.
    """
    policies = args.policies or ("base" if args.base else "head")
    if policies != "base":
        yield Judging(policies != "none")
        return
    if not args.base:
        raise Stop(Exit.USAGE, "--policies base needs a commit", "name it, such as --base origin/main")
    from modelyard.cli.signals import ended_by_signal
    from modelyard.preview.earlier import earlier
    from modelyard.preview.git import RevisionError

    with (
        ended_by(Exit.USAGE, RevisionError),
        ended_by_signal("the run was stopped; its temporary files were removed"),
        earlier(root, args.base) as found,
    ):
        yield Judging(True, found.root, found)


def judged(root: Path, planned: "Planned", by: Judging, today: date) -> "Planned":
    """The plan with the findings of its policies, if there are policies to ask."""
    plan = planned.plan or planned.partial
    if plan is None or planned.stack is None or not by.policies:
        return planned
    news = _weaker(root, planned.stack, by)
    config = planned.stack.config
    # An unreadable folder counts as present.
    there = any(os.path.lexists(one / _FOLDER) for one in (root, by.base) if one is not None)
    if not (there or config.policy.rules or config.waivers or news):
        return planned
    from modelyard.policy.check import check_plan

    findings = check_plan(root, planned.stack, plan, today, by.base)
    whole = plan._replace(findings=ordered((*findings, *news)) if news else findings)
    return planned._replace(plan=whole) if planned.plan is not None else planned._replace(partial=whole)


def _weaker(root: Path, stack: "Stack", by: Judging) -> tuple[Finding, ...]:
    """Rule settings of the base that the stack's file weakens."""
    before = by.earlier.of(stack) if by.earlier is not None else stack
    if before is stack:
        return ()
    from modelyard.policy.changes import waived, weaker_in
    from modelyard.policy.loading import policies_of

    return (*weaker_in(policies_of(root, by.base), before, stack), *waived(before, stack))
