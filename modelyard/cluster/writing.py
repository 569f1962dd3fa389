"""The writes that undo an apply: an apply, a change of owners only, and the delete of an object that an apply created.

The first two include the version of the object that they change, so no write in between is lost. They need only the
right to ``patch``, like an apply.
"""

import json
from collections.abc import Mapping
from typing import Any

import httpx2
from lightkube import Client

from modelyard.cluster.answer import Deletion
from modelyard.cluster.connection import ask_server, error_words, transport
from modelyard.cluster.live import path_of
from modelyard.cluster.requests import BUSY
from modelyard.files import parse_json
from modelyard.kube.state import ObjectKey, annotations_of, key_of
from modelyard.names import FIELD_MANAGER


class OvertakenError(Exception):
    """An object changed since it was read, or the API server was busy: read the object and try again."""


class RefusedError(Exception):
    """A write that the API server rejects, with its message."""


def read(client: Client, key: ObjectKey) -> dict[str, Any] | None:
    """The object exactly as the API server has it; None if it does not exist.

    Raises:
        ClusterError: the API server does not answer or denies access.
        OvertakenError: the API server is busy.
        RefusedError: the API server does not show the object.
    """
    return _sent(client, key, "GET", query={}, body=None, kind="")


def apply(client: Client, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The object after a server-side apply that takes over the fields it sets; None if the object does not exist.

    Raises:
        ClusterError, OvertakenError, RefusedError: as for :func:`read`.
    """
    query = {"fieldManager": FIELD_MANAGER, "force": "true"}
    return _sent(client, key_of(body, ""), "PATCH", query=query, body=body, kind="application/apply-patch+yaml")


def delete(client: Client, what: Deletion, *, waits: bool = False) -> None:
    """Deletes one object, but not a new one with the same name; objects that it owns are deleted after it.

    Args:
        client: connection to the cluster.
        what: the object.
        waits: whether the object stays, marked as deleted, until the objects that it owns are gone.

    Raises:
        ClusterError, OvertakenError, RefusedError: as for :func:`read`.
    """
    body = delete_options(what.uid)
    if waits:
        body["propagationPolicy"] = "Foreground"
    _sent(client, what.key, "DELETE", query={}, body=body, kind="application/json")


def delete_options(uid: str) -> dict[str, Any]:
    """The body of a delete of one object, but not of a new one with the same name."""
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": uid},
    }


def hand_over(client: Client, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """Changes an object's owners to those of ``after``, removes annotations that ``after`` lacks, and changes fields
    outside of its metadata; None if there is no object.

    Raises:
        ClusterError, OvertakenError, RefusedError: as for :func:`read`.
    """
    kept = annotations_of(after)
    metadata = {
        "resourceVersion": before["metadata"]["resourceVersion"],
        "managedFields": after["metadata"].get("managedFields") or [{}],
        "annotations": {name: None for name in annotations_of(before) if name not in kept},
    }
    fields = _changes(before, {**after, "metadata": before["metadata"]})
    query, body = {"fieldManager": FIELD_MANAGER}, {**fields, "metadata": metadata}
    return _sent(client, key_of(before, ""), "PATCH", query=query, body=body, kind="application/merge-patch+json")


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch between two objects."""
    changes: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        earlier = before.get(name)
        if isinstance(value, dict) and isinstance(earlier, dict):
            if inner := _changes(earlier, value):
                changes[name] = inner
        elif value != earlier:
            changes[name] = value
    return changes


def _sent(
    client: Client, key: ObjectKey, method: str, *, query: Mapping[str, str], body: Mapping[str, Any] | None, kind: str
) -> dict[str, Any] | None:
    path = path_of(key)

    def send() -> httpx2.Response:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": kind} if kind else {}
        return transport(client).request(method, path, params=dict(query), content=content, headers=headers)

    answer = ask_server(send, key.name)
    if answer.status_code == 404:
        return None
    if answer.status_code in (409, *BUSY):
        raise OvertakenError(error_words(answer))
    if answer.status_code == 401:
        ask_server(answer.raise_for_status, key.name)
    if not answer.is_success:
        raise RefusedError(error_words(answer))
    return {**parse_json(answer.content), "apiVersion": key.api_version, "kind": key.kind}
