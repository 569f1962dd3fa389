"""Show what would change in one or more stacks, in which order, what it means, and what is wrong."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from modelyard.cli.app import wants_colour
from modelyard.cli.common import chosen_target, exit_code, json_option, planned, project_root, say, stack_options
from modelyard.cli.exit import Exit, Stop
from modelyard.findings import Finding
from modelyard.plan.project import Planned
from modelyard.plan.values import Plan


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="T",
        help="show only this target (repeatable; part of its name)",
    )
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    parser.add_argument("--out", metavar="FILE", help="save the plan for modelyard apply --plan FILE (one stack)")
    parser.add_argument(
        "--detailed-exitcode", action="store_true", help="end with 5 when changes are pending and nothing is wrong"
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans and prints."""
    root = project_root(args)
    results = planned(args, root)
    if args.out:
        _save(results, args)
    plans = [_only(result.plan, args.target) for result in results if result.plan is not None]
    failed = [finding for result in results if result.plan is None for finding in result.findings]
    if args.json:
        _print_json(plans, failed, single=len(results) == 1)
    else:
        _print_text(plans, failed, args)
    findings = [finding for plan in plans for finding in plan.findings]
    code = exit_code(findings, any(result.plan is None for result in results))
    if code is Exit.FINE and args.detailed_exitcode and any(plan.changed for plan in plans):
        return Exit.CHANGES
    return code


def _only(plan: Plan, names: list[str]) -> Plan:
    if not names:
        return plan
    wanted = {chosen_target(plan, name) for name in names}
    return plan._replace(
        targets=tuple(target for target in plan.targets if target.name in wanted),
        steps=tuple(step for step in plan.steps if step.target in wanted),
        findings=tuple(finding for finding in plan.findings if not finding.target or finding.target in wanted),
    )


def _save(results: list[Planned], args: Namespace) -> None:
    import json

    from modelyard.files import write_atomically
    from modelyard.plan.store import plan_to_json

    if len(results) != 1 or args.target:
        raise Stop(Exit.USAGE, "--out saves the whole plan of one stack", "name one stack and no --target")
    plan = results[0].plan
    if plan is None:
        raise Stop(Exit.USAGE, "there is no plan to save", "", results[0].findings)
    write_atomically(Path(args.out), json.dumps(plan_to_json(plan), indent=2, ensure_ascii=False) + "\n")


def _print_json(plans: list[Plan], failed: list[Finding], single: bool) -> None:
    import json

    from modelyard.plan.store import plan_to_json
    from modelyard.report.json import plans_document

    document = plan_to_json(plans[0]) if single and plans else plans_document(plans, failed)
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _print_text(plans: list[Plan], failed: list[Finding], args: Namespace) -> None:
    from modelyard.report.finding import findings_text
    from modelyard.report.style import Style
    from modelyard.report.terminal import overall_text, plan_text

    style = Style(wants_colour(args, sys.stdout))
    for number, plan in enumerate(plans):
        lines = plan_text(plan, style, advice=args.notes)
        say([*([""] if number else []), *lines])
    if len(plans) > 1:
        say(["", *overall_text(plans, style)])
    if failed:
        sys.stdout.flush()
        errors = Style(wants_colour(args, sys.stderr))
        sys.stderr.write("\n".join(findings_text(failed, errors)) + "\n")
