"""Creates new objects, or asks whether the API server would create them; changes no existing object."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
from lightkube import Client

from modelyard.cluster.answer import Created, Deletion, Refusal
from modelyard.cluster.connection import ClusterError, ask_server, transport
from modelyard.cluster.dryrun import taken
from modelyard.cluster.live import path_of
from modelyard.cluster.requests import busy, patiently
from modelyard.cluster.writing import delete
from modelyard.hiding import Confidential, hidden_words
from modelyard.kube.state import key_of
from modelyard.names import FIELD_MANAGER


def _create(client: Client, wanted: Confidential[Mapping[str, Any]], *, dry: bool) -> Created | Refusal:
    """Creates an object, or returns why the API server does not.

    Sends a real create only once: after a lost answer, a second create would find the object of the first.

    Args:
        client: connection to the cluster.
        wanted: the object, with a name that is not taken.
        dry: whether to send only a dry run, for which admission, quotas and validation are real.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    body = wanted.reveal()
    key = key_of(body, "")
    # Secrets are created and never read.
    secret = key[:2] == ("v1", "Secret")
    path = f"/api/v1/namespaces/{key.namespace}/secrets" if secret else path_of(key._replace(name="")).rstrip("/")

    def send() -> httpx2.Response:
        params = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict", **({"dryRun": "All"} if dry else {})}
        headers = {"Content-Type": "application/json"}
        return transport(client).post(path, params=params, content=json.dumps(body).encode(), headers=headers)

    answer = ask_server(lambda: patiently(send, busy) if dry else send(), key.name)
    if answer.status_code == 401 or busy(answer):
        ask_server(answer.raise_for_status, key.name)
    created = taken(body, answer)
    if isinstance(created, Refusal):
        return created._replace(message=hidden_words(created.message, body))
    metadata, spec = created["metadata"], created.get("spec") or {}
    return Created(key, metadata.get("uid", ""), metadata.get("labels") or {}, bool(spec.get("suspend")))


def create_all(
    client: Client, bodies: Confidential[Sequence[Mapping[str, Any]]], *, dry: bool, apart: bool = False
) -> tuple[Created, ...] | Refusal:
    """Creates all objects or none; the first owns the others, which are deleted with it.

    With ``apart``, no object owns another: if one has ended and is deleted, the others continue. A dry run of all
    objects comes before the first create. If a create is rejected after that, the created objects are deleted.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    made: list[Created] = []
    for asking in (True,) if dry else (True, False):
        made.clear()
        for body in bodies.reveal():
            owned = body if asking or apart or not made else _owned(body, made[0])
            try:
                answer = _create(client, Confidential(owned), dry=asking)
            except ClusterError:
                _undo(client, made, asking)
                raise
            if isinstance(answer, Refusal):
                _undo(client, made, asking)
                return answer._replace(message=f"{body['kind']} {body['metadata']['name']}: {answer.message}")
            made.append(answer)
    return tuple(made)


def _undo(client: Client, made: Sequence[Created], asking: bool) -> None:
    for one in () if asking else made:
        delete(client, Deletion(one.key, one.uid))


def _owned(body: Mapping[str, Any], owner: Created) -> dict[str, Any]:
    key = owner.key
    reference = {"apiVersion": key.api_version, "kind": key.kind, "name": key.name, "uid": owner.uid}
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [reference]}}
