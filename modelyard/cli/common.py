"""Shared by several verbs: find the project and its stacks, and plan them."""

import os
import sys
from argparse import Namespace
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.exit import Exit, Stop, ended_by
from modelyard.cli.options import STACK
from modelyard.findings import Finding, loud

if TYPE_CHECKING:
    # A verb that only shows its help, or completes a word, plans nothing.
    from modelyard.cluster.requests import RequestCount
    from modelyard.plan.project import Planned
    from modelyard.plan.values import Plan
    from modelyard.probes.prometheus import Server
    from modelyard.stack import Stack

_MOST_LABELS = 8
"""Labels, or values of one, that a suggestion lists."""

ADD_STACK = "add Pulumi.<name>.yaml in stacks/, or in the folder that stackConfigDir in Pulumi.yaml names"
"""What to do in a project without stack files."""


def project_root(args: Namespace) -> Path:
    """The nearest folder upward that holds Pulumi.yaml; ends the run if that file is invalid."""
    from modelyard.stack import find_project

    start = Path(args.directory or ".")
    if not start.is_dir():
        raise Stop(Exit.USAGE, f"{start} is not a folder", "give -C the folder of a project")
    root = find_project(start.resolve())
    if root is None:
        raise Stop(
            Exit.USAGE,
            f"no Pulumi.yaml in {start.resolve()} or above it",
            "run inside a project, or name its folder with -C DIR; modelyard init writes a new one",
        )
    wrong = _wrong_project(root, cached=not getattr(args, "no_cache", True))
    if wrong:
        raise Stop(Exit.USAGE, f"the project in {root} cannot be used", "", wrong)
    return root


def _wrong_project(root: Path, *, cached: bool) -> tuple[Finding, ...]:
    if cached:
        from modelyard.cli.cache import check_project_once

        return check_project_once(root)
    from modelyard.stack import check_project

    return check_project(root)


def stack_files(root: Path, names: Sequence[str], everything: bool) -> dict[str, Path]:
    """The requested stack files, by stack name, sorted."""
    from modelyard.stack import discover, misnamed
    from modelyard.stack.project import FILE_NAME

    known = {found.name: found.path for found in discover(root)}
    if everything and names:
        raise Stop(Exit.USAGE, "both --all and names of stacks were given", "give one of them")
    if everything:
        # Do not silently skip a misnamed stack file.
        every = {**{found.name: found.path for found in misnamed(root)}, **known}
        if not every:
            raise Stop(Exit.USAGE, "the project has no stack files", ADD_STACK)
        return dict(sorted(every.items()))
    names = names or [_named(sorted(known), None, more=", or give --all")]
    missing = [name for name in names if name not in known]
    if missing:
        name = missing[0]
        saved = Path(name).suffix == ".json" and Path(name).is_file()
        remedy = "to apply a saved plan: modelyard apply --plan FILE" if saved else near_stack(name, known)
        wrong = [one.shown for one in misnamed(root) if one.path.stem.casefold() == f"pulumi.{name}".casefold()]
        if wrong and FILE_NAME.fullmatch(f"Pulumi.{name}.yaml"):
            remedy = f"rename {wrong[0]} to Pulumi.{name}.yaml"
        raise Stop(Exit.USAGE, f"unknown stack {', '.join(map(repr, missing))}", remedy)
    return {name: known[name] for name in dict.fromkeys(names)}


def stack_file(root: Path, name: str) -> Path:
    """The file of a stack; ends the run if there is none of that name."""
    return stack_files(root, [name], False)[name]


def every_stack(args: Namespace) -> bool:
    """Whether the arguments of ``stacks_argument`` choose among all stacks of the project."""
    return bool(args.all or args.changed_since or args.label or args.shard)


def chosen_files(root: Path, args: Namespace) -> dict[str, Path]:
    """The stack files that the arguments of ``stacks_argument`` choose, by stack name, sorted; perhaps none."""
    if args.stacks and every_stack(args) and not args.all:
        raise Stop(
            Exit.USAGE,
            "both names of stacks and --changed-since, --label or --shard were given",
            "give one of them; the options choose among all stacks",
        )
    files = matching(root, stack_files(root, args.stacks, every_stack(args)), args.changed_since, args.label)
    if args.shard:
        part, parts = args.shard
        files = dict(list(files.items())[part - 1 :: parts])
    if not files:
        sys.stderr.write("no stacks match; there is nothing to do\n")
    return files


def matching(
    root: Path, files: dict[str, Path], changed_since: str | None, labels: Collection[tuple[str, str]]
) -> dict[str, Path]:
    """The stack files among some that changed since a commit, and have all labels; those that cannot be read, too.

    Ends the run if no stack has all labels, whether changed or not.
    """
    every = files
    if changed_since:
        from modelyard.preview.git import RevisionError
        from modelyard.preview.project import changed_stacks

        with ended_by(Exit.USAGE, RevisionError):
            changed = changed_stacks(root, changed_since)
        files = {name: path for name, path in files.items() if name in changed}
    if labels:
        chosen = _with_labels(_labels(root, files), labels)
        if not chosen:
            _need_labels(_labels(root, every), labels)
        files = {name: files[name] for name in chosen}
    return files


def _labels(root: Path, files: Mapping[str, Path]) -> dict[str, Mapping[str, str] | None]:
    """The labels of each stack; None for one that cannot be read."""
    from modelyard.stack import load

    read = {name: load(path, path.name, root)[0] for name, path in files.items()}
    return {name: None if stack is None else stack.config.labels for name, stack in read.items()}


def _with_labels(stacks: Mapping[str, Mapping[str, str] | None], labels: Collection[tuple[str, str]]) -> list[str]:
    return [name for name, own in stacks.items() if own is None or set(labels) <= own.items()]


def _need_labels(stacks: Mapping[str, Mapping[str, str] | None], labels: Collection[tuple[str, str]]) -> None:
    """Ends the run if no stack has all labels."""
    if _with_labels(stacks, labels):
        return
    every = [own for own in stacks.values() if own is not None]
    for key, value in labels:
        if all(own.get(key) != value for own in every):
            raise Stop(Exit.USAGE, f"no stack has the label {key}={value}", near_label(key, value, every))
    words = " and ".join(f"{key}={value}" for key, value in labels)
    raise Stop(Exit.USAGE, f"no stack has the labels {words}", "give fewer of them: a stack must have all")


def near_label(key: str, value: str, labels: Collection[Mapping[str, str]]) -> str:
    """A suggestion for a label that no stack has: a value of its key, or else a label."""
    from modelyard.stack.words import did_you_mean, few

    every = sorted({pair for own in labels for pair in own.items()})
    if not every:
        return "add it to modelyard:labels of a stack"
    close = did_you_mean(f"{key}={value}", [f"{name}={found}" for name, found in every])
    values = [found for name, found in every if name == key]
    noun, of = ("value", f" of {key}") if values else ("label", "")
    known = values or [f"{name}={found}" for name, found in every]
    are = f"{noun}s{of} are {few(known, _MOST_LABELS)}" if len(known) > 1 else f"only {noun}{of} is {known[0]}"
    return f"{close} The {are}" if close else f"the {are}"


def stack_name(root: Path, named: str | None) -> str:
    """The name of the stack that the command line names, or of the default one; there may be none of that name."""
    from modelyard.stack import discover

    return _named(sorted(found.name for found in discover(root)), named)


def _named(known: Sequence[str], named: str | None, *, more: str = "") -> str:
    """As ``stack_name``; ``more`` is what else can be done where no stack is named and there is no default."""
    name = named or default_stack(known)
    if name is None:
        raise Stop(
            Exit.USAGE,
            "no stack was given",
            f"name one of {', '.join(known)}{more}, or set {STACK}" if known else ADD_STACK,
        )
    return name


def stack_and_name(root: Path, first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """The stack and the name of a command line with ``[STACK] [NAME]``, where one word may be either."""
    from modelyard.stack import discover

    known = [found.name for found in discover(root)]
    if first is None or second is not None or first in known or default_stack(known) is None:
        return first, second
    return None, first


def default_stack(known: Sequence[str]) -> str | None:
    """The stack of a command line that names none, if the environment or the project says which."""
    return os.environ.get(STACK) or (known[0] if len(known) == 1 else None)


def chosen_stack(root: Path, named: str | None, noun: str = "", word: str = "") -> "Stack":
    """The stack that the command line names, or the default one.

    Args:
        root: the project's folder.
        named: the stack of the command line.
        noun: what the argument after the stack names, such as ``run``.
        word: that argument.
    """
    from modelyard.plan.project import load_stack
    from modelyard.stack import discover

    known = [found.name for found in discover(root)]
    if named is None and word in known and default_stack(known) is None:
        raise Stop(Exit.USAGE, f"{word} is a stack, and no {noun} was given", f"write the {noun} after {word}")
    if named is not None and named not in known and word in known:
        raise Stop(Exit.USAGE, f"unknown stack {named!r}", f"write the stack first: {word} {named}")
    name = _named(sorted(known), named)
    stack, findings = load_stack(root, stack_file(root, name))
    if stack is None:
        raise Stop(Exit.USAGE, f"{name} cannot be read", "", findings)
    return stack


def read_stack(root: Path, name: str, path: Path) -> "Stack":
    """A stack as its file says, without what it uses of the project; ends the run if it cannot be read."""
    from modelyard.plan.project import shown
    from modelyard.stack import load

    stack, findings = load(path, shown(root, path), root)
    if stack is None:
        raise Stop(Exit.USAGE, f"{name} cannot be read", "", findings)
    return stack


def saved_plan(file: str) -> "Plan":
    """The plan in a file that ``plan --out`` wrote; ends the run if it has none."""
    from modelyard.files import read_text
    from modelyard.plan.store import PlanFileError, plan_from_json

    with ended_by(Exit.USAGE, PlanFileError):
        return plan_from_json(read_text(Path(file), pipe=True), file)


def near_stack(name: str, known: Iterable[str]) -> str:
    """A suggestion for an unknown stack name."""
    from modelyard.stack.words import did_you_mean

    have = sorted(known)
    origin = f"the name comes from {STACK}; " if os.environ.get(STACK) == name else ""
    if not have:
        return f"{origin}the project has no stacks yet; {ADD_STACK}"
    stacks = f"stacks are {', '.join(have)}"
    if len(have) == 1:
        stacks = f"only stack is {have[0]}"
    close = did_you_mean(_stack_of(name, have) or name, have)
    return origin + (f"{close} The {stacks}" if close else f"the {stacks}")


def _stack_of(name: str, known: Collection[str]) -> str:
    """The known stack whose file is ``stacks/Pulumi.dev.yaml`` or ``dev.yaml``; empty for every other name."""
    file = Path(name).name
    stack = file.removeprefix("Pulumi.").removesuffix(".yaml")
    return stack if file.endswith(".yaml") and stack in known else ""


def plan_one(root: Path, file: Path, today: date, *, live: bool, waits: bool = True) -> "Planned":
    """Plans one stack file; ends the run if a cluster is unreachable.

    The result depends only on the project's files, the date, and for a live plan the clusters. Without ``waits``, a
    live plan is that of an apply that does not wait for jobs.
    """
    from modelyard.plan.project import plan_live, plan_recorded

    if not live:
        return plan_recorded(root, file, today)
    with reached():
        return plan_live(root, file, today, waits=waits)


def reached() -> AbstractContextManager[None]:
    """Ends the run if a cluster is unreachable in the block."""
    from modelyard.cluster.connection import ClusterError

    return ended_by(Exit.UNREACHABLE, ClusterError)


def requests_text(planned: "Planned") -> str:
    """What reading the clusters took, for standard error; empty for a plan that read none."""
    if planned.asked is None or planned.stack is None:
        return ""
    return asked_text(planned.stack.name, planned.asked)


def asked_text(stack: str, asked: "RequestCount") -> str:
    """What reading the clusters of a stack took, for standard error."""
    return f"{stack}: {asked.requests} requests, at most {asked.at_once} at once, {asked.seconds:.2f} s\n"


def need_context(stack: "Stack") -> None:
    """Ends the run if the stack does not name the cluster that it would change."""
    from modelyard.cluster.connection import ClusterError, check_context

    with ended_by(Exit.USAGE, ClusterError):
        check_context(stack)


def with_jobs(planned: "Planned", today: date) -> "Planned":
    """Adds what training backends report about jobs that a live plan waits for or leaves running.

    Returns the plan unchanged where there are no such jobs.
    """
    from modelyard.plan.drains import left_behind

    plan, stack = planned.plan, planned.stack
    if plan is None or stack is None or plan.source != "live" or drain_is_off():
        return planned
    if not (plan.drains or left_behind(stack, plan)):
        return planned
    from modelyard.plan.job_status import with_job_status

    return planned._replace(plan=with_job_status(stack, plan, today))


def drain_is_off() -> bool:
    """Whether the environment turns waiting for jobs off."""
    from modelyard.probes.values import NO_DRAIN

    return bool(os.environ.get(NO_DRAIN))


def prometheus(address: str, *, named: bool = True) -> "Server":
    """The Prometheus server at an address, which the command line names or else a stack; ends the run if unusable."""
    from modelyard.probes.prometheus import BadAddress, server

    with ended_by(Exit.USAGE, BadAddress):
        return server(address, os.environ, named=named)


def need_engine() -> None:
    """Ends the run if the engine is missing, before any slow work or question."""
    from shutil import which

    if which("pulumi") is None:
        from modelyard.cluster.engine_state import INSTALL, NO_ENGINE

        raise Stop(Exit.UNREACHABLE, NO_ENGINE, INSTALL)


def the_plan(args: Namespace, root: Path) -> "tuple[Plan, Stack]":
    """Plans the one stack that the arguments name, or ends the run with its findings."""
    name = stack_name(root, args.stack)
    result = plan_one(root, stack_file(root, name), date.today(), live=args.live)
    if args.verbose:
        sys.stderr.write(requests_text(result))
    if result.plan is None or result.stack is None:
        raise Stop(Exit.USAGE, f"{name} cannot be planned", "", loud(result.findings))
    return result.plan, result.stack
