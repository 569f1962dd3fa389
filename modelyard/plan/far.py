"""The live starting states of a stack's remote clusters."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.catalog import Library
from modelyard.cluster import ClusterState, ObjectKey
from modelyard.cluster.connection import ClusterError, connect
from modelyard.cluster.dryrun import dry_run
from modelyard.cluster.held import StateError, held_objects
from modelyard.cluster.live import objects_of, snapshot, state_of
from modelyard.findings import Finding
from modelyard.plan.ownership import FIELD_MANAGER
from modelyard.plan.project import objects_about
from modelyard.plan.remotes import NAMESPACE, RemoteStart, chosen_for, remote_stack, wrong_cluster
from modelyard.stack.config import Stack
from modelyard.workloads.remote import RemoteCluster, remote_clusters

if TYPE_CHECKING:
    from lightkube import Client


def live_remotes(
    root: Path, stack: Stack, library: Library, own: ClusterState
) -> tuple[tuple[RemoteStart, ...], tuple[Finding, ...]]:
    """Where the plans of a stack's remote clusters start, and what is wrong with the way there.

    Args:
        root: the project's folder.
        stack: whose clusters they are.
        library: the project's patches.
        own: the starting state of the platform's cluster, which none of them may be.

    Raises:
        ClusterError: one of them is out of reach.
    """
    starts, findings = [], []
    for remote in remote_clusters(stack.config):
        if remote.cluster.context is None:
            continue  # It is told that nothing of it is planned.
        client = remote_client(remote)
        if what := leads_elsewhere(remote, client):
            findings.append(wrong_cluster(stack, remote, what, "correct context or controller"))
            continue
        try:
            state = remote_state(stack, library, remote, client)
            # Where the state cannot be read it is told of the platform's cluster already, and nothing is applied.
            held = held_objects(root, stack.name, remote.name)
        except StateError:
            held = None
        except ClusterError as error:
            raise ClusterError(f"remote cluster {remote.name}: {error.summary}", error.remedy) from error
        if held is not None:
            left = objects_of(client, [key for key in held if key not in state.objects])
            state = state._replace(objects={**state.objects, **left}, held=held)
        if state.identity == own.identity:
            what = f"context {remote.cluster.context} of {remote.name} leads to the platform's own cluster"
            remedy = "name the context of the other cluster; jobs that are to run here need no remote"
            findings.append(wrong_cluster(stack, remote, what, remedy))
            continue
        starts.append(RemoteStart(remote, state, partial(dry_run, client, manager=FIELD_MANAGER)))
    return tuple(starts), tuple(findings)


def remote_client(remote: RemoteCluster) -> "Client":
    """A client for a remote cluster.

    Raises:
        ClusterError: the kubeconfig has no such context, or it cannot be used.
    """
    try:
        return connect(remote.cluster.context)
    except ClusterError as error:
        raise ClusterError(f"remote cluster {remote.name}: {error.summary}", error.remedy) from error


def leads_elsewhere(remote: RemoteCluster, client: "Client") -> str:
    """What is wrong where a context leads to another API server than ``controller``; empty where it does not."""
    server = str(client.config.cluster.server)
    if server.rstrip("/") == remote.cluster.controller.rstrip("/"):
        return ""
    context, controller = remote.cluster.context, remote.cluster.controller
    return f"context {context} leads to {server}, and controller of {remote.name} is {controller}"


def remote_state(stack: Stack, library: Library, remote: RemoteCluster, client: "Client") -> ClusterState:
    """What is there, as far as a plan reads it.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    return state_of(snapshot(client, wanted_there(stack, library, remote)))


def wanted_there(stack: Stack, library: Library, remote: RemoteCluster) -> tuple[ObjectKey, ...]:
    """The objects that a plan of a remote cluster reads: those of its patches, and its namespace."""
    _, chosen = chosen_for(stack, library, remote)
    about = objects_about(chosen, remote_stack(stack, remote).config.platform)
    return tuple(sorted({ObjectKey(*NAMESPACE, "", remote.cluster.namespace), *about}))
