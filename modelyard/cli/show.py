"""Show what a stack requests: GPU, workloads, patches, pool, jobs. With the path of a saved plan, show that plan."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from modelyard.cli.common import chosen_stack, near_stack, project_root, saved_plan, stack_name
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import DEFAULT_STACK, json_option
from modelyard.cli.printing import say, say_json
from modelyard.cli.streams import style_for


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "what", nargs="?", metavar="STACK|FILE", help=f"name of a stack, or a plan saved by plan --out; {DEFAULT_STACK}"
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Shows a stack or a saved plan."""
    if args.what is not None and Path(args.what).is_file():
        return _saved(args)
    return _stack(args)


def _saved(args: Namespace) -> Exit:
    from modelyard.plan.store import plan_to_json
    from modelyard.report.terminal import plan_text

    plan = saved_plan(args.what)
    if args.json:
        say_json(plan_to_json(plan))
    else:
        say(plan_text(plan, style_for(args, sys.stdout), advice=True, saved=args.what))
    return Exit.FINE


def _stack(args: Namespace) -> Exit:
    from modelyard.plan.project import chosen_patches
    from modelyard.report.stack import stack_document, stack_text
    from modelyard.stack import discover
    from modelyard.workloads import workloads

    root = project_root(args)
    known = [found.name for found in discover(root)]
    name = stack_name(root, args.what)
    if name not in known:
        summary = f"neither a stack nor a file is named {name!r}"
        raise Stop(Exit.USAGE, summary, near_stack(name, known) + "; modelyard plan STACK --out FILE saves a plan")
    stack = chosen_stack(root, name)
    sized, chosen = workloads(stack.config), chosen_patches(root, stack)
    if args.json:
        say_json(stack_document(stack, sized, chosen))
    else:
        say(stack_text(stack, sized, chosen, style_for(args, sys.stdout)))
    return Exit.FINE
