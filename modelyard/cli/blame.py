"""Trace one field of a target: its value, the patches and parameters that set it, the line, and its owners."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import project_root, the_plan
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_options
from modelyard.cli.printing import say, say_json
from modelyard.cli.streams import style_for
from modelyard.cli.targets import planned_target, workload_named

if TYPE_CHECKING:
    from modelyard.kube import merge
    from modelyard.plan.values import TargetPlan
    from modelyard.stack import Stack

_SHOWN = 8
"""How many fields are named if a text matches several."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser, many=False)
    parser.add_argument(
        "target", metavar="TARGET", help="name of the target, a part of it, or its workload such as rayWorker"
    )
    parser.add_argument(
        "field",
        metavar="FIELD",
        help="path such as spec.replicas, or its end, such as limits.memory, or a name in a plan, such as 'node "
        "affinity'; a parent such as resources shows every field below it",
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Traces and prints."""
    from modelyard.plan.project import chosen_patches
    from modelyard.plan.trace import Renderings, kind_of, trace
    from modelyard.report.trace import subtree_document, subtree_text, trace_document, trace_text

    root = project_root(args)
    _check_field(args, root)
    plan, stack = the_plan(args, root)
    name = planned_target(plan, stack, args.target)
    target = min((one for one in plan.everything if one.name == name), key=lambda one: one.key.kind != "Deployment")
    chosen = chosen_patches(root, stack, target.cluster)
    schema = kind_of(target, chosen, stack.config.kubernetes_version)
    path, fields = _named(args.field, target, schema, _part(stack, target, args.target))
    known = Renderings()
    traced = [trace(target, field, schema, stack, chosen, renderings=known) for field in fields]
    style = style_for(args, sys.stdout)
    if len(traced) > 1:
        if args.json:
            say_json(subtree_document(path, traced))
        else:
            say(subtree_text(path, traced, style))
    elif args.json:
        say_json(trace_document(traced[0]))
    else:
        say(trace_text(traced[0], stack.file, style))
    return Exit.FINE


def _check_field(args: Namespace, root: Path) -> None:
    """Ends the run if the two arguments are a stack and a target."""
    from modelyard.stack import discover

    known = [one.name for one in discover(root)]
    if args.stack is None and args.target in known:
        raise Stop(
            Exit.USAGE,
            f"no field is given: {args.target} is a stack, so {args.field} is read as the target",
            f"add a field, such as: modelyard blame {args.target} {args.field} limits.memory",
        )


def _part(stack: "Stack", target: "TargetPlan", name: str) -> "merge.Path":
    """The path of the workload's pods if a user names one of several workloads of an object; else an empty path."""
    from modelyard.kube import merge
    from modelyard.kube.scheduling.pods import RAY_CLUSTERS, ray_pods

    workload = workload_named(stack, name)
    if workload is None or name in target.name or target.key.kind not in RAY_CLUSTERS:
        return merge.Path(())
    return ray_pods(target.key.kind, workload.group)


def _named(
    text: str, target: "TargetPlan", schema: "merge.Type", part: "merge.Path"
) -> "tuple[merge.Path, list[merge.Path]]":
    """The path that a text names, and its fields: the path itself, or those below it; all of them below ``part``."""
    from modelyard.kube import merge
    from modelyard.kube.scheduling.pods import RAY_CLUSTERS
    from modelyard.plan.trace import distinct_ends, fields_of, find_fields, own_fields
    from modelyard.stack.words import did_you_mean, few

    if " " in text and (shown := _in_plan(text, target)):
        return shown
    leaves = fields_of(target, schema, part)
    try:
        paths = find_fields(target, text, schema, part)
        wanted = merge.Path.parse(text) if not paths else ()
    except ValueError as error:
        reason = str(error).removeprefix(f"{text!r}, ")
        remedy = _with_quotes(text, leaves) or "write a path such as spec.replicas, or its end"
        raise Stop(Exit.USAGE, f"{text!r} is not a field path: {reason}", remedy) from error
    if not paths:
        # The text may name a parent of fields: a container, its resources.
        ends = (leaf[:end] for leaf in leaves for end in range(len(wanted), len(leaf)))
        paths = tuple(dict.fromkeys(merge.Path(part) for part in ends if part[-len(wanted) :] == wanted))
    if not paths:
        alike = dict.fromkeys(str(merge.Path(leaf[-len(wanted) :])) for leaf in leaves)
        near = did_you_mean(text, alike, 3, 0.5) or did_you_mean(text, map(str, leaves), 3, 0.5)
        remedy = near or "name a parent, such as spec, to list the fields below it"
        raise Stop(Exit.USAGE, f"{target.name} has no field {text!r}", remedy)
    if len(paths) > 1:
        joint = "\n"
        raise Stop(
            Exit.USAGE,
            f"{text!r} matches {len(paths)} fields:\n{few(map(str, distinct_ends(paths)), _SHOWN, joint)}",
            "give one of these"
            + (", or a workload such as rayHead as the target" if target.key.kind in RAY_CLUSTERS and not part else ""),
        )
    below = [path for path in own_fields(target, schema) if path[: len(paths[0])] == paths[0]]
    return paths[0], below or list(paths)


def _in_plan(text: str, target: "TargetPlan") -> "tuple[merge.Path, list[merge.Path]] | None":
    """The fields that a plan shows under a name such as ``node affinity``, and their common parent; None if none."""
    from modelyard.kube import merge
    from modelyard.report.fields import rows_of

    found = [
        change.path
        for change in target.changes
        for row in rows_of((change,), one_container=True)
        if text in (row.label, *(f"{row.label} {item.name}" for item in row.items), *(item.name for item in row.items))
    ]
    if not found:
        return None
    shared = takewhile(lambda level: len(set(level)) == 1, zip(*found, strict=False))
    return merge.Path(level[0] for level in shared), found


def _with_quotes(text: str, leaves: "Sequence[merge.Path]") -> str:
    """A suggestion for a path that ends with a name that needs quotes, such as ``nvidia.com/gpu``; or empty."""
    start, slash, _ = text.partition("/")
    if not slash or any(mark in text for mark in "[]\"' "):
        return ""
    known = {element for leaf in leaves for element in leaf if isinstance(element, str)}
    name = max((one for one in known if "/" in one and text.endswith(one)), key=len, default="")
    if not name:
        # The object has no such name, so it starts after the last part that is a field.
        fields = [f"{field}." for field in known if f".{field}." in f".{start}"]
        name = text[max((text.rindex(field) + len(field) for field in fields), default=0) :]
    if name.partition("/")[0] in known:
        return ""  # The slash stands for a dot.
    return f"""quote the name: '{text.removesuffix(name).rstrip(".")}["{name}"]'"""
