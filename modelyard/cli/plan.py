"""Show what would change in one or more stacks, in which order, what it means, and what is wrong."""

import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from modelyard.cli.app import stop_text, wants_colour
from modelyard.cli.common import chosen_target, json_option, plan_one, project_root, say, stack_files, stack_options
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.many import each
from modelyard.plan.values import Plan


class Shown(NamedTuple):
    """One stack's part of the output, small enough to come from another process."""

    text: str
    errors: str
    """For standard error: why there is no plan."""
    planned: bool
    changed: bool
    blocked: bool
    failed: Exit = Exit.FINE
    """Where the stack could not even be looked at: how a run of it alone would have ended."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument(
        "--target", action="append", default=[], metavar="T", help="only this target (repeatable; part of its name)"
    )
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    parser.add_argument("--out", metavar="FILE", help="save the plan for modelyard apply --plan FILE (one stack)")
    parser.add_argument(
        "--detailed-exitcode", action="store_true", help="end with 5 when changes are pending and nothing is wrong"
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans and prints, one stack after the other."""
    root = project_root(args)
    files = stack_files(root, args.stacks, args.all)
    several = len(files) > 1
    if args.out and (several or args.target):
        raise Stop(Exit.USAGE, "--out saves the whole plan of one stack", "name one stack and no --target")
    planned = changed = blocked = 0
    failed = Exit.USAGE
    for number, shown in enumerate(each(tuple(files.values()), partial(_one, root, args, several))):
        if args.json and several:
            sys.stdout.write('{"formatVersion": 1, "plans": [\n' if not number else ",\n")
        elif number:
            sys.stdout.write("\n")
        sys.stdout.write(shown.text)
        sys.stderr.write(shown.errors)
        planned += shown.planned
        changed += shown.changed
        blocked += shown.planned and shown.blocked
        failed = max(failed, shown.failed)
    if several and args.json:
        sys.stdout.write("\n]}\n")
    elif several:
        from modelyard.report.style import Style
        from modelyard.report.terminal import overall_text

        say(["", *overall_text(len(files), planned, changed, blocked, Style(wants_colour(args, sys.stdout)))])
    if planned < len(files):
        return failed
    if blocked:
        return Exit.FINDINGS
    return Exit.CHANGES if changed and args.detailed_exitcode else Exit.FINE


def _one(root: Path, args: Namespace, several: bool, file: Path) -> Shown:
    """One stack's part; of several stacks, one that cannot be looked at does not keep the others from being shown."""
    try:
        return _json(root, args, several, file) if args.json else _text(root, args, file)
    except Stop as stop:
        if not several:
            raise
        if args.json:
            from modelyard.report.json import findings_document, json_text

            document = findings_document(stop.findings, error=stop.summary, remedy=stop.remedy)
            return Shown(json_text(document), "", False, False, True, stop.code)
        from modelyard.report.style import Style

        stop.summary = f"{file.name}: {stop.summary}"
        lines = stop_text(stop, Style(wants_colour(args, sys.stderr)))
        return Shown("", "\n".join(lines) + "\n", False, False, True, stop.code)


def _text(root: Path, args: Namespace, file: Path) -> Shown:
    from modelyard.report.finding import findings_text
    from modelyard.report.style import Style
    from modelyard.report.terminal import plan_text

    result = plan_one(root, file, args.live)
    if result.plan is None:
        style = Style(wants_colour(args, sys.stderr))
        return Shown("", "\n".join(findings_text(result.findings, style)) + "\n", False, False, True)
    plan = _only(result.plan, args.target)
    _save(result.plan, args)
    text = "\n".join(plan_text(plan, Style(wants_colour(args, sys.stdout)), advice=args.notes)) + "\n"
    return Shown(text, "", True, bool(plan.changed), plan.blocked)


def _json(root: Path, args: Namespace, several: bool, file: Path) -> Shown:
    from modelyard.plan.store import plan_to_json
    from modelyard.report.json import findings_document, json_text

    result = plan_one(root, file, args.live)
    if result.plan is None:
        document = findings_document(result.findings)
    else:
        _save(result.plan, args)
        document = plan_to_json(_only(result.plan, args.target))
    text = json_text(document) + ("" if several else "\n")
    plan = result.plan
    return Shown(text, "", plan is not None, plan is not None and bool(plan.changed), plan is None or plan.blocked)


def _only(plan: Plan, names: list[str]) -> Plan:
    if not names:
        return plan
    wanted = {chosen_target(plan, name) for name in names}
    return plan._replace(
        targets=tuple(target for target in plan.targets if target.name in wanted),
        steps=tuple(step for step in plan.steps if step.target in wanted),
        findings=tuple(finding for finding in plan.findings if not finding.target or finding.target in wanted),
    )


def _save(plan: Plan, args: Namespace) -> None:
    if not args.out:
        return
    from modelyard.files import write_atomically
    from modelyard.plan.store import plan_to_json
    from modelyard.report.json import json_text

    write_atomically(Path(args.out), json_text(plan_to_json(plan)) + "\n")
