"""Trace one field of a target: its value, the patches and parameters that give it, the line, and its owners."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.app import wants_colour
from modelyard.cli.common import chosen_target, json_option, project_root, say, stack_options, the_plan
from modelyard.cli.exit import Exit, Stop


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser, many=False)
    parser.add_argument("target", metavar="TARGET", help="name of the Deployment, or a part of it")
    parser.add_argument(
        "field", metavar="FIELD", help="path such as spec.replicas, or its end, such as resources.limits.memory"
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Traces and prints."""
    from modelyard import merge
    from modelyard.plan.project import chosen_patches
    from modelyard.plan.trace import find_fields, trace
    from modelyard.report.style import Style
    from modelyard.report.trace import trace_document, trace_text

    root = project_root(args)
    result = the_plan(args, root)
    plan, stack = result.plan, result.stack
    assert plan is not None
    assert stack is not None
    name = chosen_target(plan, args.target)
    target = min((one for one in plan.targets if one.name == name), key=lambda one: one.key.kind != "Deployment")
    schema = merge.MergeSchema.kubernetes(stack.config.kubernetes_version).of(target.key.api_version, target.key.kind)
    try:
        paths = find_fields(target, args.field, schema)
    except ValueError as error:
        raise Stop(
            Exit.USAGE, f"{args.field!r} is not a field path: {error}", "write a path such as spec.replicas, or its end"
        ) from error
    if not paths:
        raise Stop(
            Exit.USAGE,
            *_no_field(args.field, target.name, [str(c.path) for c in merge.diff(None, target.after, schema)]),
        )
    if len(paths) > 1:
        raise Stop(
            Exit.USAGE,
            f"{args.field!r} names {len(paths)} fields",
            "give more of the path: " + ", ".join(map(str, paths[:6])),
        )
    traced = trace(target, paths[0], schema, stack, chosen_patches(root, stack))
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(trace_document(traced))])
    else:
        say(trace_text(traced, stack.file, Style(wants_colour(args, sys.stdout))))
    return Exit.FINE


def _no_field(field: str, target: str, fields: list[str]) -> tuple[str, str]:
    from difflib import get_close_matches

    close = get_close_matches(field, fields, 3, 0.5)
    return (
        f"{target} has no field {field!r}",
        "did you mean " + " or ".join(close) + "?" if close else "modelyard diff shows the target's fields",
    )
