"""Unified diff of each target of a stack, before and after, as YAML."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.app import wants_colour
from modelyard.cli.common import chosen_target, exit_code, json_option, project_root, say, stack_options, the_plan
from modelyard.cli.exit import Exit


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser, many=False)
    parser.add_argument("--target", metavar="T", help="only this target (part of its name)")
    parser.add_argument("--context", type=int, default=3, metavar="N", help="unchanged lines around a change")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans and prints the diff."""
    plan = the_plan(args, project_root(args)).plan
    assert plan is not None
    wanted = chosen_target(plan, args.target) if args.target else None
    targets = [target for target in plan.changed if wanted in (None, target.name)]
    if args.json:
        from modelyard.report.json import json_text
        from modelyard.report.unified import diff_document

        say([json_text(diff_document(plan, targets))])
    elif not targets:
        say([f"{plan.stack}: no changes."])
    else:
        from modelyard.report.style import Style
        from modelyard.report.unified import diff_text

        say(diff_text(targets, Style(wants_colour(args, sys.stdout)), args.context))
    return exit_code(plan.findings, False)
