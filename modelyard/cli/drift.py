"""Compare the live objects with what was applied, and show who changed what and when.

Needs the Pulumi CLI, to read what was applied from Pulumi's state. The exit code is 1 on drift, and 3 if a stack cannot
be compared.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_files, every_stack, need_engine, project_root, read_stack
from modelyard.cli.exit import Exit
from modelyard.cli.fleet import each, executor, executor_options, is_local
from modelyard.cli.options import json_option, stacks_argument
from modelyard.cli.printing import say, say_json
from modelyard.cli.signals import ended_by_signal
from modelyard.cli.streams import style_for
from modelyard.findings import Failure

if TYPE_CHECKING:
    from modelyard.engine.applied import AppliedCluster
    from modelyard.plan.drift import StackDrift
    from modelyard.stack import Stack


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stacks_argument(parser)
    executor_options(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Compares and prints."""
    from modelyard.report.drift import drift_document, drift_text

    with ended_by_signal("drift was stopped"):
        root = project_root(args)
        on = executor(args)
        stacks = [read_stack(root, name, path) for name, path in chosen_files(root, args).items()]
        if stacks and is_local(args):
            need_engine()
        found = [drift for drifts in each(stacks, partial(_drifts, root), (root,), on) for drift in drifts]
        if args.json:
            say_json(drift_document(found))
        else:
            say(drift_text(found, style_for(args, sys.stdout)))
    return _code(found, named=not every_stack(args))


def _drifts(root: Path, stack: "Stack") -> "tuple[StackDrift, ...]":
    """The drift of a stack: on the platform's cluster, and on each remote one."""
    need_engine()
    return tuple(_each_drift(root, stack))


def _each_drift(root: Path, stack: "Stack") -> "Iterator[StackDrift]":
    from modelyard.engine.applied import AppliedCluster, applied_remotes, applied_stack
    from modelyard.engine.failure import EngineError, NothingAppliedError
    from modelyard.plan.drift import StackDrift

    nothing = StackDrift(stack=stack.name, state="nothing", context=stack.context, cluster=None)
    try:
        applied = applied_stack(root, stack.name, history=True)
    except NothingAppliedError as error:
        yield nothing._replace(reason=error.summary, remedy=error.remedy)
        return
    except EngineError as error:
        yield _unknown(nothing, error)
        return
    found = _drift(stack, AppliedCluster(stack.name, applied, stack.context))
    if applied.failed and found.state == "same":
        reason = "the last apply failed, so some of its changes may be missing"
        remedy = f"modelyard plan {stack.name} --live shows them; apply again"
        found = found._replace(state="drifted", reason=reason, remedy=remedy)
    yield found
    try:
        reachable = applied_remotes(root, stack, applied)
    except Failure as error:
        yield _unknown(nothing, error)
        return
    for name, there in applied.remotes.items():
        if name in reachable:
            yield _drift(stack, reachable[name])
        else:
            reason = "the stack file no longer has this remote cluster"
            remedy = f"modelyard apply {stack.name} deletes what it created there"
            of = nothing._replace(context=None, cluster=there.cluster, remote=name)
            yield of._replace(state="unknown", reason=reason, remedy=remedy)


def _drift(stack: "Stack", one: "AppliedCluster") -> "StackDrift":
    """The drift of what was applied to one cluster."""
    from modelyard.engine.applied import live_objects
    from modelyard.engine.failure import StaleError
    from modelyard.kube.merge import MergeSchema
    from modelyard.plan.drift import StackDrift, compare

    cluster, targets = one.applied.cluster, one.applied.targets
    of = StackDrift(stack=stack.name, state="nothing", context=one.context, cluster=cluster, remote=one.remote)
    if not targets:
        return of._replace(reason="the stack is not applied")
    try:
        live = live_objects(one)
    except StaleError as error:
        return _unknown(of, error)
    except Failure as error:
        return _unknown(of._replace(cluster=None), error)
    found = compare(targets, live.objects, MergeSchema.kubernetes(stack.config.kubernetes_version))
    drifted = any(target.state != "same" for target in found)
    return of._replace(state="drifted" if drifted else "same", cluster=live.cluster, targets=found)


def _unknown(of: "StackDrift", why: Failure) -> "StackDrift":
    return of._replace(state="unknown", reason=why.summary, remedy=why.remedy)


def _code(found: "Iterable[StackDrift]", *, named: bool) -> Exit:
    """The exit code: failures to compare come before drift, drift before success.

    If stacks are named, or no stack has a state, a wrong place is more likely than nothing applied.
    """
    drifts = list(found)
    strange = [drift for drift in drifts if drift.state == "nothing" and drift.remedy]
    if any(drift.state == "unknown" for drift in drifts) or (strange and (named or len(strange) == len(drifts))):
        return Exit.UNREACHABLE
    return Exit.FINDINGS if any(drift.state == "drifted" for drift in drifts) else Exit.FINE
