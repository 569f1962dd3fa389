"""Show what would change in one or more stacks, in which order, with the effects and the findings."""

import os
import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.cli.cache import Cache, Form, Fresh, cache_for, cache_option, no_cache, results
from modelyard.cli.common import chosen_files, plan_one, project_root, requests_text, with_jobs
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.fleet import Executor, each, executor, executor_options, is_local
from modelyard.cli.judging import Judging, base_option, judged, judging
from modelyard.cli.options import json_option, stack_options
from modelyard.cli.printing import say, say_json
from modelyard.cli.streams import stop_text, style_for
from modelyard.cli.targets import chosen_target, matching_targets
from modelyard.findings import loud

if TYPE_CHECKING:
    from modelyard.findings import Finding
    from modelyard.plan.project import Planned
    from modelyard.plan.values import Plan
    from modelyard.preview.matrix import Column
    from modelyard.report.style import Style
    from modelyard.stack import Stack


MANY = 50
"""Number of stacks from which a plan shows costs only on request."""


class PlanOptions(NamedTuple):
    """What to show of each stack."""

    root: Path
    by: Judging
    today: date
    args: Namespace
    several: bool
    output: "Style"
    """Of standard output."""
    errors: "Style"


class ShownStack(NamedTuple):
    """One stack's part of the output, small enough to pass between processes."""

    text: str = ""
    errors: str = ""
    """Why there is no plan, for standard error."""
    planned: bool = False
    changed: bool = False
    blocked: bool = False
    """Whether the plan has errors."""
    failed: Exit = Exit.FINE
    """If the stack could not be read at all: the exit code of a run of it alone."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="T",
        help="only this target (repeatable; part of its name, or its workload such as rayWorker)",
    )
    parser.add_argument("--matrix", action="store_true", help="instead show the fields that the stacks set differently")
    parser.add_argument(
        "--cost",
        action=BooleanOptionalAction,
        help=f"show the cost (default: for fewer than {MANY} stacks)",
    )
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="save the plan of one stack (with --live, for modelyard apply --plan FILE); replaces an existing file",
    )
    parser.add_argument(
        "--detailed-exitcode", action="store_true", help="exit code 5 if changes are pending and no finding is an error"
    )
    base_option(parser)
    cache_option(parser)
    executor_options(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans and prints, one stack after the other."""
    root = project_root(args)
    if args.out:
        from modelyard.cli.outputs import refuse_own_files

        refuse_own_files(root, [Path(args.out)])
    with judging(root, args) as by:
        return _run(root, args, by)


def _run(root: Path, args: Namespace, by: Judging) -> Exit:
    files = chosen_files(root, args)
    several = len(files) != 1
    if args.cost is None:
        args.cost = len(files) < MANY
    on = executor(args)
    if args.matrix:
        return _matrix(root, args, tuple(files.values()), on)
    if args.out and (several or args.target):
        raise Stop(Exit.USAGE, "--out saves the whole plan of one stack", "name one stack and no --target")
    if args.out and not is_local(args):
        raise Stop(Exit.USAGE, "--out saves only plans that this machine makes", "drop --out or --on")
    planned = changed = blocked = 0
    failed = Exit.USAGE
    what = PlanOptions(
        root=root,
        by=by,
        today=date.today(),
        args=args,
        several=several,
        output=style_for(args, sys.stdout),
        errors=style_for(args, sys.stderr),
    )
    run_each = partial(each, folders=by.folders(root), on=on)
    shown_of = partial(_one, what)
    for number, shown in enumerate(results(_cache(what), tuple(files.values()), run_each, shown_of, _FORM)):
        if args.json and several:
            sys.stdout.write('{"formatVersion": 1, "plans": [\n' if not number else ",\n")
        elif number:
            sys.stdout.write("\n")
        sys.stdout.write(shown.text)
        sys.stderr.write(shown.errors)
        planned += shown.planned
        changed += shown.changed
        blocked += shown.blocked
        failed = max(failed, shown.failed)
    if several and args.json:
        sys.stdout.write("\n]}\n" if files else '{"formatVersion": 1, "plans": []}\n')
    elif several:
        from modelyard.report.part import overall_text

        say(["", *overall_text(len(files), planned, changed, blocked, style_for(args, sys.stdout))])
    if planned < len(files):
        return failed
    if blocked:
        return Exit.FINDINGS
    return Exit.CHANGES if changed and args.detailed_exitcode else Exit.FINE


def _cache(what: PlanOptions) -> Cache | None:
    if no_cache(what.args) or what.args.out:
        return None
    unused = (
        "directory",
        "stacks",
        "all",
        "changed_since",
        "label",
        "shard",
        "colour",
        "no_cache",
        "on",
        "ray_address",
        "detailed_exitcode",
    )
    options = {name: value for name, value in vars(what.args).items() if name not in unused}
    styles = what.output, what.errors
    return cache_for(
        what.root, "plan", {**options, "commit": what.by.commit, "styles": styles, "several": what.several}
    )


def _shown(value: Mapping[str, Any]) -> ShownStack:
    return ShownStack(**{**value, "failed": Exit(value["failed"])})


_FORM: Form[ShownStack] = Form(ShownStack._asdict, _shown)


def _matrix(root: Path, args: Namespace, files: tuple[Path, ...], on: Executor) -> Exit:
    """Prints where the plans of several stacks set different values."""
    from modelyard.preview.matrix import rows
    from modelyard.stack.project import stack_of

    if args.out:
        raise Stop(Exit.USAGE, "--matrix compares stacks, and makes no plan to save", "drop --out or --matrix")
    if len(files) < 2:
        raise Stop(Exit.USAGE, "--matrix compares stacks", "name two or more, or give --all")
    columns: list[Column] = []
    failed: list[str] = []
    reasons: list[Finding] = []
    matched: dict[str, set[str]] = {name: set() for name in args.target}
    work = partial(_column, root, today=date.today(), live=args.live, key=os.urandom(32), names=args.target)
    for file, (column, findings, requests, matches) in zip(files, each(files, work, (root,), on), strict=True):
        if args.verbose:
            sys.stderr.write(requests)
        if column is None:
            failed.append(stack_of(file.name))
            reasons += loud(findings)
            continue
        columns.append(column)
        for name, targets in matches.items():
            matched[name].update(targets)
    if columns and (unknown := [repr(name) for name, targets in matched.items() if not targets]):
        raise Stop(
            Exit.USAGE,
            f"{', '.join(unknown)} matches no target of these stacks",
            "name a part of a target's name, or a workload such as rayWorker",
            reasons,
        )
    found = tuple(row for row in rows(columns) if not matched or any(row.target in one for one in matched.values()))
    from modelyard.report.matrix import matrix_document, matrix_text

    if args.json:
        say_json(matrix_document(found, [one.stack for one in columns]))
    else:
        say(matrix_text(found, len(columns), style_for(args, sys.stdout)))
    if failed:
        stop = Stop(Exit.USAGE, f"{', '.join(failed)} cannot be planned", "", reasons)
        sys.stderr.write("\n".join(stop_text(stop, style_for(args, sys.stderr))) + "\n")
        return Exit.USAGE
    return Exit.FINE


def _column(
    root: Path, file: Path, *, today: date, live: bool, key: bytes, names: Sequence[str]
) -> "tuple[Column | None, tuple[Finding, ...], str, Mapping[str, Sequence[str]]]":
    """The values that a stack sets, or the findings that explain why it has no plan; what reading its clusters took;
    and the targets that each name stands for.
    """
    from modelyard.preview.matrix import column

    result = plan_one(root, file, today, live=live)
    if result.plan is None or result.stack is None:
        return None, result.findings, requests_text(result), {}
    made = column(result.plan, result.stack.config.kubernetes_version, key)
    return made, (), requests_text(result), {name: matching_targets(result.plan, result.stack, name) for name in names}


def _one(what: PlanOptions, file: Path) -> Fresh[ShownStack]:
    """One stack's part; one unreadable stack among several does not hide the others."""
    from modelyard.hardware.own import in_project
    from modelyard.plan.project import named_files

    try:
        with in_project(what.root):
            result, requests = _planned(what, file)
            shown = _json(what, result, requests) if what.args.json else _text(what, file, result, requests)
        return Fresh(shown, named_files(result.stack) if result.stack is not None else None)
    except Stop as stop:
        if not what.several:
            raise
        if what.args.json:
            from modelyard.report.json import findings_document, json_text

            document = findings_document(stop.findings, error=stop.summary, remedy=stop.remedy)
            return Fresh(ShownStack(text=json_text(document), failed=stop.code), None)
        from modelyard.stack.project import stack_of

        stop.summary = f"{stack_of(file.name)}: {stop.summary}"
        return Fresh(ShownStack(errors="\n".join(stop_text(stop, what.errors)) + "\n", failed=stop.code), None)


def _planned(what: PlanOptions, file: Path) -> tuple["Planned", str]:
    """The stack's plan, and what reading its clusters took if the run reports that."""
    planned = plan_one(what.root, file, what.today, live=what.args.live)
    requests = requests_text(planned) if what.args.verbose else ""
    result = with_jobs(judged(what.root, planned, what.by, what.today), what.today)
    if not what.args.cost:
        return result, requests
    from modelyard.plan.cost.project import priced

    return priced(what.root, result), requests


def _text(what: PlanOptions, file: Path, result: "Planned", requests: str) -> ShownStack:
    from modelyard.report.finding import findings_text
    from modelyard.report.terminal import plan_text
    from modelyard.stack.project import stack_of

    args, plan, stack = what.args, result.plan, result.stack
    if plan is None or stack is None:
        shown = result.findings if args.notes else loud(result.findings)
        name = stack_of(file.name)
        why = (*findings_text(shown, what.errors), f"error: {name} cannot be planned", "")
        return ShownStack(errors=requests + "\n".join(why))
    only = _only(plan, stack, args.target)
    _save(what.root, plan, args)
    lines = plan_text(plan, what.output, advice=args.notes, only=only, saved=args.out or "")
    return ShownStack(
        text="\n".join(lines) + "\n", errors=requests, planned=True, changed=_changes(plan, only), blocked=plan.blocked
    )


def _json(what: PlanOptions, result: "Planned", requests: str) -> ShownStack:
    from modelyard.plan.store import plan_to_json
    from modelyard.report.json import findings_document, json_text
    from modelyard.report.part import part_of

    plan, stack, end = result.plan, result.stack, "" if what.several else "\n"
    if plan is None or stack is None:
        return ShownStack(text=json_text(findings_document(result.findings)) + end, errors=requests)
    only = _only(plan, stack, what.args.target)
    _save(what.root, plan, what.args)
    document = plan_to_json(plan if only is None else part_of(plan, only))
    return ShownStack(
        text=json_text(document) + end,
        errors=requests,
        planned=True,
        changed=_changes(plan, only),
        blocked=plan.blocked,
    )


def _only(plan: "Plan", stack: "Stack", names: list[str]) -> frozenset[str] | None:
    """The targets to show; None for all."""
    return frozenset(chosen_target(plan, stack, name) for name in names) if names else None


def _changes(plan: "Plan", only: frozenset[str] | None) -> bool:
    return plan.acts if only is None else bool(plan.pending & only)


def _save(root: Path, plan: "Plan", args: Namespace) -> None:
    if not args.out:
        return
    from modelyard.files import write_output
    from modelyard.plan.store import plan_to_json
    from modelyard.report.json import json_text

    write_output(Path(args.out), json_text(plan_to_json(plan)) + "\n", root)
