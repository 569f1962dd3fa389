"""Keeps the cluster of a stack in the engine's state: a run against another cluster stops at its first step.

Runs in the engine's provider for Python resources, like the ledger, so a direct ``pulumi up`` or ``preview`` stops too.
"""

from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, ReadResult, Resource, ResourceProvider, UpdateResult

from modelyard.engine.failure import other_cluster
from modelyard.plan import Plan


class OtherClusterError(Exception):
    """The stack was applied to another cluster."""


class ClusterProvider(ResourceProvider):
    """Keeps the cluster's identity, and rejects a run against another cluster."""

    serialize_as_secret_always = False

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        """Checks the cluster before the engine looks for the stack's objects: in another cluster, the engine would find
        none.

        Raises:
            OtherClusterError: the context points to another cluster, or nowhere.
        """
        from modelyard.cluster.connection import CONTEXT_KEY, ClusterError, connect
        from modelyard.cluster.kubeconfig import known_contexts
        from modelyard.cluster.live import identity

        remote, context = props.get("remote"), props["context"]
        try:
            found = identity(connect(context or None, "its context in the stack file" if remote else CONTEXT_KEY))
        except ClusterError as error:
            where = f"remote cluster {remote}: " if remote else ""
            # modelyard makes the engine use the stack file's context; without modelyard, it uses the last apply's.
            gone = context and context not in (known_contexts() or {context})
            way = f". A direct pulumi run uses the last apply's context; modelyard apply {props['stack']} updates it"
            raise OtherClusterError(f"{where}{error.summary}; {error.remedy}{way if gone else ''}") from error
        if found != props["cluster"]:
            raise _elsewhere(props, applied_to=props["cluster"], points_to=found)
        return ReadResult(id_, props)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Accepts a change of the context only.

        Raises:
            OtherClusterError: the run is against another cluster.
        """
        if _olds["cluster"] != _news["cluster"]:
            raise _elsewhere(_news, applied_to=_olds["cluster"], points_to=_news["cluster"])
        return DiffResult(changes=_olds != _news)

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Records the cluster's new context."""
        return UpdateResult(_news)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Records the cluster at the first apply."""
        return CreateResult(props["cluster"], props)


class Cluster(Resource, module="modelyard", name="Cluster"):
    """The cluster of a stack, on which every target depends; a ``component`` that plans by itself has its own."""

    def __init__(self, plan: Plan, opts: pulumi.ResourceOptions, component: str = "") -> None:
        above = component or plan.remote
        props = {"cluster": plan.cluster, "stack": plan.stack, "context": plan.context or "", "remote": plan.remote}
        super().__init__(ClusterProvider(), f"{above}/cluster" if above else "cluster", props, opts)


def _elsewhere(props: dict[str, Any], *, applied_to: str, points_to: str) -> OtherClusterError:
    """The error with its remedy as text, the only form that passes through the engine; ``failure`` parses it again."""
    error = other_cluster(
        props["stack"],
        remote=props.get("remote", ""),
        context=props["context"] or None,
        applied_to=applied_to,
        points_to=points_to,
    )
    return OtherClusterError(f"{error.summary}: {error.remedy}")
