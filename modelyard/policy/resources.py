"""From the engine's resources to the objects that rules look at. Knows Pulumi's terms, imports none of its code."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from modelyard.cluster.engine_state import REMOTE
from modelyard.policy.subject import Subject, mapping, subject_of
from modelyard.workloads import Facts, Workload

ROOT = "pulumi:pulumi:Stack"
"""The resource that stands for the stack itself; the engine shows it to policies before any other."""
_PREFIX = "kubernetes:"
_BUNDLES = ("helm.sh/", "yaml:", "yaml/", "kustomize:", "kustomize/")
"""Resources of the Kubernetes package that are not objects but make some."""
_PATCH = "Patch"
_REMOTE = f"{REMOTE}$"
"""Part of the URN of a resource whose parent is a remote cluster, before its own type."""


class Resource(NamedTuple):
    """One resource as the engine shows it."""

    urn: str
    type: str
    """Type of the resource, such as ``kubernetes:apps/v1:DeploymentPatch``."""
    name: str
    props: Mapping[str, Any]
    """What the program asks for, or what became of it."""
    complete: bool
    """Whether every value is known. ``props`` leaves out unknown values."""

    @property
    def stack(self) -> str:
        """The stack's name, from the URN."""
        return self.urn.split("::")[0].rpartition(":")[2]

    @property
    def project(self) -> str:
        """The project's name."""
        return self.urn.partition("::")[2].partition("::")[0]

    @property
    def cluster(self) -> str:
        """Name of the remote cluster that it is in; empty: the home cluster.

        Resources there are children of the cluster's component, and their names begin with its name.
        """
        return self.name.partition("/")[0] if _REMOTE in self.urn else ""

    @property
    def patches(self) -> bool:
        """Whether it sends a part of an object that has another owner."""
        return self.type.endswith(_PATCH)

    @property
    def is_live(self) -> bool:
        """Whether its properties are the whole object as the API server has it."""
        return "uid" in mapping(self.props.get("metadata"))


def object_of(resource: Resource) -> dict[str, Any] | None:
    """The Kubernetes object of a resource, None if the resource is no object."""
    rest = resource.type.removeprefix(_PREFIX)
    if rest == resource.type or rest.startswith(_BUNDLES) or rest.endswith("List"):
        return None
    version, _, kind = rest.rpartition(":")
    body = dict(resource.props)
    body.setdefault("apiVersion", version.removeprefix("core/"))
    body.setdefault("kind", kind.removesuffix(_PATCH))
    return body


def subject(
    resource: Resource,
    workloads: Mapping[str, tuple[Workload, ...]],
    facts: Facts,
    namespace: str,
    sent: Mapping[str, Any] | None = None,
) -> Subject | None:
    """A resource as rules see it, None if it is no Kubernetes object.

    Args:
        resource: the resource.
        workloads: its stack's workloads in its cluster, by name of their object.
        facts: its stack's facts for its cluster.
        namespace: namespace of the workloads.
        sent: what the program asks for, if ``resource`` is what became of it.
    """
    body = object_of(resource)
    if body is None:
        return None
    whole = resource.complete and (resource.is_live or not resource.patches)
    made = subject_of(body, facts=facts, sent=sent, whole=whole, name=resource.name, cluster=resource.cluster)
    workload, *_ = workloads.get(made.name) or (None,)
    ours = workload is not None and made.kind == workload.kind and made.namespace == namespace
    return made._replace(role=workload.role) if workload is not None and ours else made
