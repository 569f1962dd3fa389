"""Show what an apply would change in each target of a stack, as a unified diff of YAML."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.common import project_root, the_plan
from modelyard.cli.exit import Exit, Stop, exit_code
from modelyard.cli.options import json_option, stack_options, whole_number
from modelyard.cli.printing import say, say_errors, say_json, say_wrapped
from modelyard.cli.streams import style_for
from modelyard.cli.targets import planned_target


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser, many=False)
    parser.add_argument("--target", metavar="T", help="only this target (part of its name, or its workload)")
    parser.add_argument(
        "--context", type=whole_number, default=3, metavar="N", help="unchanged lines around a change (default 3)"
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans and prints the diff."""
    from modelyard.report.unified import diff_document, diff_text

    if args.context < 0:
        raise Stop(
            Exit.USAGE,
            f"--context is {args.context}; it must be a whole number, 0 or more",
            "give the number of lines, such as --context 3",
        )
    plan, stack = the_plan(args, project_root(args))
    wanted = planned_target(plan, stack, args.target) if args.target else None
    targets = [target for target in plan.changed if wanted in (None, target.name)]
    if args.json:
        say_json(diff_document(plan, targets))
    elif targets:
        say(diff_text(targets, style_for(args, sys.stdout), args.context))
    elif plan.targets:
        say_wrapped([f"{plan.stack}: no changes{f' of {wanted}' if wanted else ''}."])
    say_errors(plan.findings, args)
    return exit_code(plan.findings)
