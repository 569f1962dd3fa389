"""Plan a stack against its cluster, show the plan, ask, and apply it with Pulumi; or apply an approved plan."""

import sys
from argparse import ArgumentParser, Namespace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from modelyard.cli.common import (
    drain_is_off,
    need_context,
    need_engine,
    plan_one,
    project_root,
    requests_text,
    saved_plan,
    stack_file,
    stack_name,
    with_jobs,
)
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.judging import base_option, judged, judging
from modelyard.cli.options import json_option, stack_argument, verbose_option
from modelyard.cli.printing import show_plan
from modelyard.cli.question import need_yes
from modelyard.cli.signals import ended_by_signal
from modelyard.cli.streams import style_for
from modelyard.report.style import safe

if TYPE_CHECKING:
    from modelyard.plan.values import Plan


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument(
        "--plan", metavar="FILE", help="apply exactly this plan, saved by modelyard plan --live --out FILE"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--no-drain", action="store_true", help="do not wait for running jobs before their pods are stopped"
    )
    base_option(parser)
    verbose_option(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans, asks, applies."""
    with ended_by_signal("apply was stopped; nothing was changed"):
        root = project_root(args)
        plan = _agreed_plan(args, root)
        from modelyard.cli.running import run_engine
        from modelyard.engine.automation import apply

    return run_engine(
        plan.stack,
        args,
        lambda report, stopping: apply(root, plan, report, stopping, drain=not args.no_drain),
        total=len(plan.changed),
        objects=(body for one in plan.clusters for target in one.targets for body in (target.applied, target.before)),
    )


def _agreed_plan(args: Namespace, root: Path) -> "Plan":
    """The plan to apply: shown, without errors, and approved or agreed to."""
    from modelyard.plan.drains import refused
    from modelyard.plan.project import load_stack

    approved = _approved(args)
    name = approved.stack if approved is not None else stack_name(root, args.stack)
    path = stack_file(root, name)
    need_engine()
    stack, _ = load_stack(root, path)
    if stack is not None:
        need_context(stack)
    today = date.today()
    waits = _waits(args)
    with judging(root, args) as by:
        planned = plan_one(root, path, today, live=True, waits=waits)
        if args.verbose:
            sys.stderr.write(requests_text(planned))
        result = judged(root, planned, by, today)
    result = with_jobs(result, today) if waits else result
    if result.plan is None:
        raise Stop(Exit.USAGE, f"{name} cannot be planned", "", result.findings)
    plan = refused(result.plan) if waits else result.plan
    if approved is not None:
        _same(approved, plan)
    asks = approved is None and plan.acts and not (args.yes or plan.blocked)
    show_plan(partial(_text, args, plan), args, asks=asks)
    if plan.blocked:
        raise Stop(Exit.FINDINGS, "the plan has errors; nothing was changed", "", plan.findings if args.json else ())
    if asks:
        need_yes(f"Apply to {safe(plan.stack)}? ")
    return plan


def _waits(args: Namespace) -> bool:
    """Whether the apply waits for running jobs."""
    return not (args.no_drain or drain_is_off())


def _approved(args: Namespace) -> "Plan | None":
    if args.plan is None:
        return None
    if args.stack is not None:
        raise Stop(
            Exit.USAGE, "both a stack and --plan were given", "give one of them: a saved plan belongs to one stack"
        )
    return saved_plan(args.plan)


def _same(approved: "Plan", now: "Plan") -> None:
    from modelyard.plan.store import STALE, moved

    differences = moved(approved, now)
    if differences:
        raise Stop(
            Exit.STALE,
            f"{STALE}: {'; '.join(differences)}",
            f"plan again: modelyard plan {approved.stack} --live --out FILE",
        )


def _text(args: Namespace, plan: "Plan", stream: TextIO) -> list[str]:
    from modelyard.report.terminal import plan_text

    lines = plan_text(plan, style_for(args, stream), next_step=False)
    if plan.drains and not _waits(args):
        why = "--no-drain" if args.no_drain else "MODELYARD_NO_DRAIN is set"
        lines.append(f"does not wait for running jobs ({why})")
    return lines
