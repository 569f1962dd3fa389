"""Plan a stack against its cluster, show the plan, ask, and apply it with Pulumi; or apply an approved plan."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from modelyard.cli.app import wants_colour
from modelyard.cli.common import json_option, need_engine, plan_one, project_root, say, stack_files
from modelyard.cli.exit import Exit, Stop
from modelyard.plan.values import Plan


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("stack", nargs="?", metavar="STACK", help="name of a stack, such as dev")
    parser.add_argument(
        "--plan", metavar="FILE", help="apply exactly this plan, saved by modelyard plan --live --out FILE"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans, asks, applies."""
    root = project_root(args)
    approved = _approved(args)
    name = approved.stack if approved is not None else args.stack
    (path,) = stack_files(root, [name], False).values()
    need_engine()
    result = plan_one(root, path, live=True)
    if result.plan is None:
        raise Stop(Exit.USAGE, f"{name} cannot be planned", "", result.findings)
    plan = result.plan
    if approved is not None:
        _same(approved, plan)
    if not args.json:
        from modelyard.report.style import Style
        from modelyard.report.terminal import plan_text

        say(plan_text(plan, Style(wants_colour(args, sys.stdout))))
    if plan.blocked:
        raise Stop(Exit.FINDINGS, "the plan has errors; nothing was changed", "", plan.findings if args.json else ())
    if approved is None and not _agreed(args, plan):
        raise Stop(Exit.USAGE, "nothing was changed", "answer yes, or give --yes where nobody can answer")
    from modelyard.cli.running import run_engine
    from modelyard.engine import apply

    return run_engine(name, args, lambda report: apply(root, plan, report))


def _approved(args: Namespace) -> Plan | None:
    if (args.plan is None) == (args.stack is None):
        raise Stop(Exit.USAGE, "give either a stack or --plan FILE", "see modelyard apply --help")
    if args.plan is None:
        return None
    from modelyard.plan.store import PlanFileError, plan_from_json

    try:
        return plan_from_json(Path(args.plan).read_text(encoding="utf-8", errors="replace"), args.plan)
    except PlanFileError as error:
        raise Stop(Exit.USAGE, error.summary, error.remedy) from error


def _same(approved: Plan, now: Plan) -> None:
    from modelyard.plan.store import STALE, moved

    differences = moved(approved, now)
    if differences:
        raise Stop(
            Exit.STALE,
            f"{STALE}: {'; '.join(differences)}",
            f"plan again: modelyard plan {approved.stack} --live --out FILE",
        )


def _agreed(args: Namespace, plan: Plan) -> bool:
    if args.yes or not plan.changed:
        return True
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"Apply to {plan.stack}? Only yes counts: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() == "yes"
