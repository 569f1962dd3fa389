"""Submit jobs of a stack, or notebooks as jobs, and follow their runs."""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from modelyard.cli.common import chosen_stack, project_root, reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import stack_argument
from modelyard.cli.parser import Verb, add_subverbs, run_subverb
from modelyard.report.style import safe

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.runs.pool import Run
    from modelyard.stack import Stack
    from modelyard.stack.config import Config
    from modelyard.workloads.facts.remote import ReachedCluster

_KNOWN = {
    "submit": Verb("job.submit", "start a job of a stack, or a notebook as a job"),
    "render": Verb("job.render", "print a run's objects as YAML (needs no cluster)"),
    "choices": Verb("job.choices", "show the options for submitting a notebook"),
    "list": Verb("job.list", "list the runs of a stack"),
    "why": Verb("job.why", "explain why a run waits or failed"),
    "logs": Verb("job.logs", "print the logs of a run's workers"),
    "cancel": Verb("job.cancel", "stop a run and free its GPUs"),
}

configure = partial(add_subverbs, known=_KNOWN)
run = run_subverb


class StackRuns(NamedTuple):
    """The runs of a stack in a cluster."""

    stack: "Stack"
    client: "Client"
    runs: "tuple[Run, ...]"
    """Newest first."""
    others: "tuple[Run, ...]"
    """Runs of other stacks."""
    unread: tuple[str, ...]
    now: datetime
    namespaces: Collection[str]
    """Namespaces of the runs."""
    config: "Config"
    """The stack's configuration for that cluster: in a remote cluster, without the stack's teams."""


def run_options(parser: ArgumentParser, also: str = "") -> None:
    """Adds the arguments for the stack and a run; ``also`` describes what else identifies the run."""
    stack_option(parser)
    parser.add_argument("run", metavar="RUN", help=f"name of a run, as shown by job submit and job list{also}")


PART = ", or of the Job of one of its stages or trials"


def stack_option(parser: ArgumentParser) -> None:
    """Adds the argument for the stack."""
    stack_argument(parser)
    parser.add_argument("--remote", metavar="RESOURCE", help="look in the remote cluster of this resource")


def runs_in(args: Namespace, run: str = "") -> StackRuns:
    """The runs of the named stack, or of the default one; ``run`` is the run that the command line names."""
    stack = chosen_stack(project_root(args), args.stack, "run", run)
    with reached():
        from modelyard.cluster.connection import connect
        from modelyard.workloads.facts.pool import namespaces

        if args.remote is None:
            client, where, config = connect(stack.context), namespaces(stack.config), stack.config
        else:
            from modelyard.plan.cluster_parts import remote_part

            client, remote = resource_client(args, stack, args.remote)
            where, config = (remote.cluster.namespace,), remote_part(stack, remote).stack.config
        return _listed(stack, client, where, config, args.remote or "")


def listed_again(listed: StackRuns, remote: str | None) -> StackRuns:
    """The runs as they are now, by the same connection.

    Raises:
        ClusterError: the cluster does not answer or denies access.
    """
    return _listed(listed.stack, listed.client, listed.namespaces, listed.config, remote or "")


def _listed(stack: "Stack", client: "Client", where: Collection[str], config: "Config", remote: str) -> StackRuns:
    from modelyard.cluster.lists import run_objects, workloads_in
    from modelyard.runs.pool import runs_of

    objects = run_objects(client, where)
    runs, unread = runs_of(objects), objects.unread
    ours = tuple(run._replace(remote=remote) for run in runs if run.stack == stack.name)
    others = tuple(run for run in runs if run.stack != stack.name)
    if dispatched := {run.namespace for run in ours if run.dispatched}:
        from modelyard.runs.pool.dispatch import located

        workloads, hidden = workloads_in(client, dispatched)
        ours, unread = located(ours, workloads, config), (*unread, *hidden)
    return StackRuns(
        stack=stack,
        client=client,
        runs=ours,
        others=others,
        unread=unread,
        now=datetime.now(UTC),
        namespaces=where,
        config=config,
    )


def in_order(listed: StackRuns) -> StackRuns:
    """The runs with their positions in the queues, as far as these credentials may read them."""
    if not any(run.count("queued") for run in listed.runs):
        return listed
    from modelyard.cluster.lists import queued_objects, unread_lists
    from modelyard.runs.pool import with_positions
    from modelyard.runs.pool.kueue import Queues

    with reached():
        objects = queued_objects(listed.client, listed.namespaces)
    unread = unread_lists(*listed.unread, *objects.unread, namespaces={run.namespace for run in listed.runs})
    return listed._replace(runs=with_positions(listed.runs, Queues(objects, listed.config)), unread=unread)


def resource_client(args: Namespace, stack: "Stack", resource: str) -> "tuple[Client, ReachedCluster]":
    """A client for the remote cluster of a resource, and for no other cluster.

    Raises:
        Stop: the resource has no remote cluster, or its context points to another cluster.
        ClusterError: the cluster is unreachable.
    """
    from modelyard.cluster.remote_credentials import write_remote_credentials
    from modelyard.plan.remote_live import controller_mismatch, remote_client
    from modelyard.stack.names import instead
    from modelyard.workloads.facts.remote import remote_clusters

    known = {one.name: remote for remote in remote_clusters(stack.config) for one in remote.resources}
    if (remote := known.get(resource)) is None:
        summary = f"{stack.name} has no resource {safe(resource)} on a remote cluster"
        raise Stop(Exit.USAGE, summary, instead(resource, known, "resources on remote clusters"))
    write_remote_credentials(project_root(args), stack)
    client = remote_client(stack, remote)
    if wrong := controller_mismatch(remote, client):
        raise Stop(Exit.FINDINGS, wrong, "correct context or controller")
    return client, remote


def run_or_part(listed: StackRuns, name: str) -> "Run":
    """The run of that name, or the run with a stage or trial of that name; ends as ``the_run`` does."""
    whole = [run for run in listed.runs if run.named(name)]
    return whole[0] if len(whole) == 1 else the_run(listed, name)


def the_run(listed: StackRuns, name: str) -> "Run":
    """The run of that name; if the stack has none, ends with exit code 2 and a hint."""
    ours = [run for run in listed.runs if run.name == name]
    if len(ours) == 1:
        return ours[0]
    if ours:
        places = ", ".join(run.namespace for run in ours)
        remedy = "job submit did not create them; use kubectl"
        raise Stop(Exit.USAGE, f"several runs are named {name!r}: in {places}", remedy)
    theirs = next((run for run in listed.others if run.name == name), None)
    if theirs is not None:
        summary = f"{safe(name)} is a run of stack {safe(theirs.stack)}, not of {listed.stack.name}"
        raise Stop(Exit.USAGE, summary, f"name that stack instead of {listed.stack.name}")
    from modelyard.runs.pool.runs import near_runs

    for run in listed.runs:
        if run.named(name):
            raise Stop(
                Exit.USAGE,
                f"{safe(name)} is a {run.noun} of {safe(run.name)}, not a separate run",
                f"name the whole run instead: {safe(run.name)}",
            )
    close = near_runs(name, listed.runs)
    meant = f"did you mean {' or '.join(map(safe, close))}?" if close else ""
    have = f"modelyard job list {listed.stack.name} --all lists the runs that the cluster still has"
    if any(one.remote is not None and one.remote.cluster is not None for one in listed.stack.config.resources):
        have += "; add --remote RESOURCE for those in a remote cluster"
    raise Stop(
        Exit.USAGE,
        f"{listed.stack.name} has no run {name!r} that modelyard submitted",
        " ".join(filter(None, (meant, have))),
    )


def worker_client(config: "Config", name: str) -> "Client | None":
    """A client for a worker cluster; None if the stack has no context for it.

    Raises:
        ClusterError: the kubeconfig lacks the context, or it cannot be used.
    """
    from modelyard.cluster.connection import connect

    for index, one in enumerate(config.worker_clusters):
        if one.name == name and one.context is not None:
            return connect(one.context, f"workerClusters[{index}].context in the stack file")
    return None
