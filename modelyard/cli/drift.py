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

if TYPE_CHECKING:
    from modelyard.engine.applied import AppliedStack
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
    from modelyard.engine.applied import applied_stack
    from modelyard.engine.failure import EngineError, NothingAppliedError
    from modelyard.plan.drift import StackDrift
    from modelyard.workloads.facts.remote import remote_clusters

    nothing = StackDrift(stack=stack.name, state="nothing", context=stack.context, cluster=None)
    try:
        applied = applied_stack(root, stack.name, history=True)
    except NothingAppliedError as error:
        yield nothing._replace(reason=error.summary, remedy=error.remedy)
        return
    except EngineError as error:
        yield nothing._replace(state="unknown", reason=error.summary, remedy=error.remedy)
        return
    found = _drift(stack, applied, nothing)
    if applied.failed and found.state == "same":
        reason = "the last apply failed, so some of its changes may be missing"
        remedy = f"modelyard plan {stack.name} --live shows them; apply again"
        found = found._replace(state="drifted", reason=reason, remedy=remedy)
    yield found
    contexts = {one.name: one.context for one in remote_clusters(stack.config)}
    if applied.remotes and contexts:
        from modelyard.cluster.connection import ClusterError
        from modelyard.cluster.remote_credentials import write_remote_credentials

        try:
            write_remote_credentials(root, stack)
        except ClusterError as error:
            yield nothing._replace(state="unknown", reason=error.summary, remedy=error.remedy)
            return
    for name, there in applied.remotes.items():
        of = nothing._replace(context=contexts.get(name), remote=name)
        if contexts.get(name) is None:
            reason = "the stack file no longer has this remote cluster"
            remedy = f"modelyard apply {stack.name} deletes what it created there"
            yield of._replace(state="unknown", cluster=there.cluster, reason=reason, remedy=remedy)
        else:
            yield _drift(stack, there, of)


def _drift(stack: "Stack", applied: "AppliedStack", nothing: "StackDrift") -> "StackDrift":
    """The drift of what was applied to one cluster; ``nothing`` names the cluster."""
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.present import present
    from modelyard.kube.merge import MergeSchema
    from modelyard.plan.drift import compare

    if not applied.targets:
        return nothing._replace(cluster=applied.cluster, reason="the stack is not applied")
    try:
        cluster, live = present(connect(nothing.context), (one.key for one in applied.targets))
    except ClusterError as error:
        return nothing._replace(state="unknown", reason=error.summary, remedy=error.remedy)
    if applied.cluster not in (None, cluster):
        context = "context" if nothing.remote else "kubernetes:context"
        return nothing._replace(
            state="unknown",
            cluster=applied.cluster,
            reason=f"it was applied to cluster {applied.cluster}, and context {nothing.context} points to {cluster}",
            remedy=f"check {context} and KUBECONFIG",
        )
    targets = compare(applied.targets, live, MergeSchema.kubernetes(stack.config.kubernetes_version))
    drifted = any(target.state != "same" for target in targets)
    return nothing._replace(state="drifted" if drifted else "same", cluster=cluster, targets=targets)


def _code(found: "Iterable[StackDrift]", *, named: bool) -> Exit:
    """The exit code: failures to compare come before drift, drift before success.

    If stacks are named, or no stack has a state, a wrong place is more likely than nothing applied.
    """
    drifts = list(found)
    strange = [drift for drift in drifts if drift.state == "nothing" and drift.remedy]
    if any(drift.state == "unknown" for drift in drifts) or (strange and (named or len(strange) == len(drifts))):
        return Exit.UNREACHABLE
    return Exit.FINDINGS if any(drift.state == "drifted" for drift in drifts) else Exit.FINE
