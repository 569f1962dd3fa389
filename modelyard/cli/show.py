"""Show what a stack requests: GPU, workloads, patches, pool, jobs. With the path of a saved plan, show that plan."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from modelyard.cli.common import DEFAULT_STACK, json_option, near_stack, project_root, say, say_json, stack_name
from modelyard.cli.exit import Exit, Stop
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
    from modelyard.files import read_text
    from modelyard.plan.store import PlanFileError, plan_from_json
    from modelyard.report.terminal import plan_text

    text = read_text(Path(args.what))
    try:
        plan = plan_from_json(text, args.what)
    except PlanFileError as error:
        raise Stop(Exit.USAGE, error.summary, error.remedy) from error
    if args.json:
        from modelyard.plan.store import plan_to_json

        say_json(plan_to_json(plan))
    else:
        say(plan_text(plan, style_for(args, sys.stdout), advice=True, saved=args.what))
    return Exit.FINE


def _stack(args: Namespace) -> Exit:
    from modelyard.plan.project import chosen_patches, load_stack
    from modelyard.report.stack import stack_document, stack_text
    from modelyard.stack import discover
    from modelyard.workloads import workloads

    root = project_root(args)
    known = {found.name: found.path for found in discover(root)}
    name = stack_name(root, args.what)
    if name not in known:
        summary = f"neither a stack nor a file is named {name!r}"
        raise Stop(Exit.USAGE, summary, near_stack(name, known) + "; modelyard plan STACK --out FILE saves a plan")
    path = known[name]
    stack, findings = load_stack(root, path)
    if stack is None:
        raise Stop(Exit.USAGE, f"{name} cannot be read", "", findings)
    sized, chosen = workloads(stack.config), chosen_patches(root, stack)
    if args.json:
        say_json(stack_document(stack, sized, chosen))
    else:
        say(stack_text(stack, sized, chosen, style_for(args, sys.stdout)))
    return Exit.FINE
