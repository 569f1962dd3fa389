"""Reads from the engine's state what was applied last, and from the clusters what of it exists.

Runs no program and changes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pulumi import automation

from modelyard.cluster.engine_state import RECORD, remote_of, state_objects_in
from modelyard.engine.failure import EngineError, other_cluster
from modelyard.engine.run import EngineRun
from modelyard.files import parse_json, wrong_form
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, StateObject, key_of
from modelyard.plan.drift import FORMAT_VERSION, AppliedObject
from modelyard.plan.undo.ledger import ours
from modelyard.stack import Stack
from modelyard.workloads.facts.remote import remote_clusters

if TYPE_CHECKING:
    from lightkube import Client

CLUSTER = "modelyard:Cluster"
"""Type of ``engine.home.Cluster`` within the provider for Python resources."""


class AppliedStack(NamedTuple):
    """What the last applies of a stack left in the engine's state."""

    cluster: str | None
    """Identity of the cluster; None if no apply ever finished."""
    targets: tuple[AppliedObject, ...]
    forgotten: tuple[ObjectKey, ...] = ()
    """Objects that the stack owns as a whole, and that a refresh did not find and removed from the state: no destroy
    would delete them."""
    remotes: Mapping[str, "AppliedStack"] = {}
    """What was applied to each remote cluster, by the cluster's name."""
    failed: bool = False
    """Whether the last apply failed after it had changed something. Its unchanged objects look as applied before."""
    objects: Mapping[ObjectKey, StateObject] = {}
    """What the state has of each object, for a plan of what a destroy changes."""


class AppliedCluster(NamedTuple):
    """What was applied to one cluster of a stack, and how the stack file says to reach the cluster."""

    stack: str
    applied: AppliedStack
    context: str | None
    """None: the current context of the kubeconfig."""
    remote: str = ""
    """Name of its remote cluster; empty for the home cluster."""
    context_key: str = ""
    """What sets the context of a remote cluster, for messages."""


class LiveObjects(NamedTuple):
    """The applied objects that exist in a cluster."""

    client: "Client"
    """The connection with which they were read."""
    cluster: str
    """Identity of the cluster: that of the last apply, if the state has one."""
    objects: Confidential[dict[ObjectKey, dict[str, Any]]]


def applied_stack(root: Path, stack: str, *, history: bool = False) -> AppliedStack:
    """What was applied of a stack.

    Args:
        root: the project.
        stack: name of the stack.
        history: whether to look for the result of the last apply, too.

    Raises:
        NothingAppliedError: the state does not have the stack.
        EngineError: there is no engine, or the state cannot be found or read.
    """
    with EngineRun("apply", lambda _line: None) as run:
        selected = run.select(root, stack, create=False)
        failed = history and _failed(selected)
    try:
        names = {remote_of(one) for one in run.resources}
        remotes = {name: from_state(run.state, name) for name in sorted(names - {""})}
        return from_state(run.state)._replace(remotes=remotes, failed=failed)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(
            f"the state of {stack} is invalid: {wrong_form(error)}", "apply it again with this modelyard"
        ) from error


def applied_remotes(root: Path, stack: Stack, applied: AppliedStack) -> dict[str, AppliedCluster]:
    """What was applied to each remote cluster that the stack file still has, by name; makes these clusters reachable.

    Args:
        root: the project's folder, where the engine decrypts credentials.
        stack: the stack.
        applied: what was applied of it.

    Raises:
        ClusterError: the credentials of a remote cluster are missing or unusable.
    """
    known = {one.name: one for one in remote_clusters(stack.config)}
    found = {
        name: AppliedCluster(stack.name, there, known[name].context, name, known[name].context_key)
        for name, there in applied.remotes.items()
        if name in known
    }
    if found:
        from modelyard.cluster.remote_credentials import write_remote_credentials

        write_remote_credentials(root, stack)
    return found


def live_objects(where: AppliedCluster) -> LiveObjects:
    """The objects that were applied to a cluster and exist there.

    Raises:
        ClusterError: the API server does not answer, denies access, or modelyard does not read objects of a kind.
        StaleError: the context points to another cluster than that of the last apply.
    """
    from modelyard.cluster.connection import CONTEXT_KEY, connect
    from modelyard.cluster.present import present

    client = connect(where.context, where.context_key or CONTEXT_KEY)
    cluster, objects = present(client, (target.key for target in where.applied.targets))
    if where.applied.cluster not in (None, cluster):
        raise other_cluster(
            where.stack, remote=where.remote, context=where.context, applied_to=where.applied.cluster, points_to=cluster
        )
    return LiveObjects(client, cluster, Confidential(objects))


def left_behind(
    applied: AppliedStack, objects: Confidential[Mapping[ObjectKey, dict[str, Any]]]
) -> tuple[ObjectKey, ...]:
    """The objects that the stack created and that no destroy would delete, because the state lacks them.

    Args:
        applied: what was applied to a cluster.
        objects: the applied objects that exist there.
    """
    live = objects.reveal()
    return tuple(key for key in applied.forgotten if key in live and ours(live[key]))


def _failed(stack: automation.Stack) -> bool:
    try:
        last = next(iter(stack.history(page_size=1, page=1)), None)
    except (automation.CommandError, OSError, ValueError, LookupError) as error:
        raise EngineError("the history of the stack cannot be read", "check the state's backend") from error
    changes = (last.resource_changes or {}) if last is not None else {}
    changed = any(number for operation, number in changes.items() if getattr(operation, "value", operation) != "same")
    return last is not None and (last.kind, last.result) == ("update", "failed") and changed


def from_state(deployment: Mapping[str, Any], remote: str = "") -> AppliedStack:
    """What was applied to one cluster, from an exported state.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: modelyard's program did not write the state.
        EngineError: another version of modelyard wrote the state.
    """
    every = deployment.get("resources") or []
    resources = [each for each in every if remote_of(each) == remote]
    pending = [each["resource"] for each in deployment.get("pending_operations") or ()]
    pending = [each for each in pending if remote_of(each) == remote]
    requests = {key_of(body, ""): body for body in _requests(resources)}
    begun = set(_objects(pending))
    held = state_objects_in(resources, remote)
    # A refresh drops a deleted object from the state; the record of it stays. An apply that was killed may have patched
    # an object of which the state has no more than the ledger, which comes before the patch.
    known = begun | requests.keys() | set(_objects(resources)) | {key for key, one in held.items() if not one.managed}
    return AppliedStack(
        cluster_of(resources),
        tuple(AppliedObject(key, Confidential(requests.get(key)), key not in begun) for key in sorted(known)),
        tuple(sorted(key for key, one in held.items() if one.forgotten and key not in begun)),
        objects=held,
    )


def cluster_of(resources: Iterable[Mapping[str, Any]], remote: str = "") -> str | None:
    """The identity of the home or a remote cluster in a state's resources; None if nothing was applied.

    Reads the ``Cluster`` resource. Without it, as in a state of earlier versions, reads the stack's outputs, which are
    less reliable: the engine also keeps the outputs of a failed run.
    """
    outputs = {
        each["type"].rpartition("/")[2]: each.get("outputs") or {} for each in resources if remote_of(each) == remote
    }
    known = outputs.get(CLUSTER) or outputs.get("pulumi:pulumi:Stack") or {}
    return known.get("cluster")


def _requests(resources: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The recorded requests of the objects for which an apply has finished."""
    for resource in resources:
        outputs = resource.get("outputs") or {}
        if resource["type"] == RECORD and "request" in outputs:
            if outputs["formatVersion"] != FORMAT_VERSION:
                raise EngineError(
                    f"the state has formatVersion {outputs['formatVersion']}; this modelyard reads {FORMAT_VERSION}",
                    "use the modelyard that applied the stack",
                )
            yield parse_json(outputs["request"])


def _objects(resources: Iterable[Mapping[str, Any]]) -> Iterator[ObjectKey]:
    """The Kubernetes objects among resources, without those that only wait to be deleted."""
    for resource in resources:
        if resource["type"].startswith("kubernetes:") and not resource.get("delete"):
            yield key_of(resource["inputs"], "default")
