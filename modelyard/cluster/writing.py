"""The writes that undo what was applied: an apply, one that only says who owns what, and a delete of what was made.

The first two name the version of the object that they are about, so that nothing which came in between is lost. They
need the right to ``patch``, as applying does, and no other.
"""

import json
from collections.abc import Mapping
from typing import Any

import httpx2
from lightkube import Client

from modelyard.cluster.connection import ask_server, transport
from modelyard.cluster.live import path_of
from modelyard.kube.state import ObjectKey, annotations_of, key_of

_BUSY = (429, 500, 502, 503, 504)


class OvertakenError(Exception):
    """The object is not what it was when it was read, or the API server was busy: read it and try again."""


class RefusedError(Exception):
    """The API server does not carry a write out: its own words."""


def read(client: Client, key: ObjectKey) -> dict[str, Any] | None:
    """The object as the API server has it, to the letter; None where there is none.

    Raises:
        ClusterError: the API server does not answer, or not to us.
        OvertakenError: the API server is busy.
        RefusedError: it does not show the object.
    """
    return _sent(client, key, "GET", {}, None, "")


def apply(client: Client, body: Mapping[str, Any], manager: str) -> dict[str, Any] | None:
    """The object after a server-side apply that takes over what it asks for; None where there is no object.

    Raises:
        ClusterError, OvertakenError, RefusedError: as for :func:`read`.
    """
    query = {"fieldManager": manager, "force": "true"}
    return _sent(client, key_of(body, ""), "PATCH", query, body, "application/apply-patch+yaml")


def delete(client: Client, live: Mapping[str, Any], *, waits: bool = False) -> None:
    """Deletes this very object, not one that was made anew under its name; what belongs to it goes after it.

    Args:
        client: of the cluster.
        live: the object.
        waits: it stays, marked as deleted, until what belongs to it is gone.

    Raises:
        ClusterError, OvertakenError, RefusedError: as for :func:`read`.
    """
    body = delete_options(live["metadata"]["uid"])
    if waits:
        body["propagationPolicy"] = "Foreground"
    _sent(client, key_of(live, ""), "DELETE", {}, body, "application/json")


def delete_options(uid: str) -> dict[str, Any]:
    """The body of a delete that is about one object and none of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": uid},
    }


def hand_over(
    client: Client, before: Mapping[str, Any], after: Mapping[str, Any], manager: str
) -> dict[str, Any] | None:
    """The object with the owners of ``after``, and without the annotations that ``after`` lacks; None where there is no
    object. Nothing else of it changes.

    Raises:
        ClusterError, OvertakenError, RefusedError: as for :func:`read`.
    """
    kept = annotations_of(after)
    metadata = {
        "resourceVersion": before["metadata"]["resourceVersion"],
        "managedFields": after["metadata"].get("managedFields") or [{}],
        "annotations": {name: None for name in annotations_of(before) if name not in kept},
    }
    query = {"fieldManager": manager}
    return _sent(client, key_of(before, ""), "PATCH", query, {"metadata": metadata}, "application/merge-patch+json")


def _sent(
    client: Client, key: ObjectKey, method: str, query: Mapping[str, str], body: Mapping[str, Any] | None, kind: str
) -> dict[str, Any] | None:
    path = path_of(key)

    def send() -> httpx2.Response:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": kind} if kind else {}
        return transport(client).request(method, path, params=dict(query), content=content, headers=headers)

    answer = ask_server(send, key.name)
    if answer.status_code == 404:
        return None
    if answer.status_code == 409 or answer.status_code in _BUSY:
        raise OvertakenError(_message(answer))
    if answer.status_code == 401:
        ask_server(answer.raise_for_status, key.name)
    if not answer.is_success:
        raise RefusedError(_message(answer))
    return {**answer.json(), "apiVersion": key.api_version, "kind": key.kind}


def _message(answer: httpx2.Response) -> str:
    try:
        return str(answer.json().get("message") or f"the API server answered {answer.status_code}")
    except ValueError:
        return f"the API server answered {answer.status_code}"
