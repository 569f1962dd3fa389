"""The live starting states of a stack's remote clusters."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from modelyard.catalog import Library
from modelyard.cluster.connection import ClusterError, connect
from modelyard.cluster.dryrun import dry_run
from modelyard.cluster.live import identity, objects_of, serves, snapshot, state_of
from modelyard.findings import Finding
from modelyard.hiding import Confidential
from modelyard.kube.kinds import KUEUE
from modelyard.kube.state import ClusterState, ObjectKey, StateObject
from modelyard.plan.cluster_parts import objects_about, remote_part
from modelyard.plan.remotes import NAMESPACE, RemoteStart, wrong_cluster
from modelyard.plan.undo.findings import unlisted
from modelyard.stack.config import Stack
from modelyard.stack.remote import controller_url
from modelyard.workloads.facts.remote import ReachedCluster, queue_of, remote_clusters

if TYPE_CHECKING:
    from lightkube import Client


def live_remotes(
    stack: Stack, library: Library, own: ClusterState, known: Mapping[str, Mapping[ObjectKey, StateObject]] | None
) -> tuple[tuple[RemoteStart, ...], tuple[Finding, ...]]:
    """The starting states of a stack's remote clusters, with findings about reaching them.

    ``own`` is the starting state of the home cluster: a remote cluster must be another one. ``known`` is what the
    engine's state has in each cluster; None if it cannot be read.

    Raises:
        ClusterError: a remote cluster is unreachable.
    """
    starts, findings = [], []
    for remote in remote_clusters(stack.config):
        client = remote_client(stack, remote)
        try:
            what, remedy = unfit_cluster(remote, client, own)
            if what:
                findings.append(wrong_cluster(stack, remote, what, remedy))
                continue
            taken = snapshot(client, objects_to_read(stack, library, remote))
            findings += unlisted(stack, taken.unread, remote.name)
            state = state_of(taken)._replace(state_error=own.state_error)
            if known is not None:
                held = known.get(remote.name, {})
                objects = state.objects.reveal()
                left = objects_of(client, [key for key in held if key not in objects])
                state = state._replace(objects=Confidential({**objects, **left}), state_objects=held)
        except ClusterError as error:
            raise _unreached(stack, remote, error) from error
        starts.append(RemoteStart(remote, state, partial(dry_run, client)))
    return tuple(starts), tuple(findings)


def remote_client(stack: Stack, remote: ReachedCluster) -> "Client":
    """A client for a remote cluster of a stack.

    Raises:
        ClusterError: the kubeconfig has no such context, or it cannot be used.
    """
    try:
        return connect(remote.context, remote.context_key)
    except ClusterError as error:
        raise _unreached(stack, remote, error) from error


def _unreached(stack: Stack, remote: ReachedCluster, error: ClusterError) -> ClusterError:
    """The error with the remote cluster's name, and its place in the stack file."""
    place = ":".join(str(part) for part in (stack.file, *stack.positions.get(remote.path, ())))
    return ClusterError(
        f"{place}: remote cluster {remote.name}: {error.summary}",
        f"{error.remedy}; or set credentials instead of a context (modelyard explain REM012)",
    )


def controller_mismatch(remote: ReachedCluster, client: "Client") -> str:
    """What is wrong if a context points to another API server than ``controller``; empty if it does not."""
    server = str(client.config.cluster.server)
    context, controller = remote.context, remote.cluster.controller
    with suppress(ValueError):
        if controller_url(server) == controller:
            return ""
    return f"context {context} points to {server}, but controller of {remote.name} is {controller}"


def unfit_cluster(remote: ReachedCluster, client: "Client", own: ClusterState) -> tuple[str, str]:
    """Why a context's cluster cannot be planned, and what to do; empty if it can.

    Raises:
        ClusterError: the API server does not answer, or denies access.
    """
    if what := controller_mismatch(remote, client):
        return what, "correct context or controller"
    if identity(client) == own.identity:
        what = f"context {remote.context} of {remote.name} points to the home cluster"
        return what, "name the context of the remote cluster, or drop remote to run the jobs in the home cluster"
    if any(queue_of(one) for one in remote.resources) and not serves(client, KUEUE):
        return (
            f"remote cluster {remote.name} has no {KUEUE}",
            "install Kueue there, or drop quota so that jobs start at once",
        )
    return "", ""


def objects_to_read(stack: Stack, library: Library, remote: ReachedCluster) -> tuple[ObjectKey, ...]:
    """The objects that a plan of a remote cluster reads: those of its patches, and its namespace."""
    part = remote_part(stack, remote)
    about = objects_about(part.chosen(library)[0], part.stack.config.platform)
    return tuple(sorted({ObjectKey(*NAMESPACE, "", remote.cluster.namespace), *about}))
