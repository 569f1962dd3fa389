"""Asks an API server what these credentials may do. Changes nothing."""

import json
from typing import Any, NamedTuple

import httpx2
from lightkube import Client

from modelyard.cluster.connection import ask_server, transport
from modelyard.files import parse_json


class Right(NamedTuple):
    """One verb on one kind of object."""

    verb: str
    group: str
    resource: str
    """The plural name of the kind, as in a Role."""
    everywhere: bool = False
    """Whether the right is needed in all namespaces, or for an object that has no namespace."""

    name: str = ""
    """The one object that is needed; empty for all of the kind."""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}{self.name and f' {self.name}'}"


READ = (
    # Its UID identifies the cluster.
    Right("get", "", "namespaces", everywhere=True, name="kube-system"),
    Right("get", "apps", "deployments"),
    Right("list", "", "nodes", everywhere=True),
    Right("list", "", "pods", everywhere=True),
)
PLAN = (
    Right("list", "apps", "deployments"),
    Right("patch", "apps", "deployments"),
    Right("list", "autoscaling", "horizontalpodautoscalers"),
)
APPLY = (
    Right("watch", "apps", "deployments"),
    Right("list", "apps", "replicasets"),
    Right("watch", "apps", "replicasets"),
    Right("watch", "", "pods"),
    Right("list", "", "persistentvolumeclaims"),
)
USES = {"read": READ, "plan live": (*READ, *PLAN), "apply": (*READ, *PLAN, *APPLY)}
"""The rights that every stack needs, by use; ``examples/rbac`` has all rights, including those for teams and mode
managed."""


def missing_rights(client: Client, rights: tuple[Right, ...], namespace: str) -> tuple[Right, ...]:
    """The rights that these credentials lack.

    Args:
        client: connection to the cluster.
        rights: the rights to ask about.
        namespace: where the rights that are not ``everywhere`` are needed.

    Raises:
        ClusterError: the API server does not answer, or rejects the login.
    """
    return tuple(right for right in rights if not _allowed(client, right, "" if right.everywhere else namespace))


def _allowed(client: Client, right: Right, namespace: str) -> bool:
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "namespace": namespace,
        "name": right.name,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }

    def ask() -> httpx2.Response:
        answer = transport(client).post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            content=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        return answer.raise_for_status()

    status: dict[str, Any] = parse_json(ask_server(ask, "rights").content).get("status") or {}
    return bool(status.get("allowed"))
