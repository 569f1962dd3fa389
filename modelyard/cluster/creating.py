"""Making new objects, or asking whether the API server would: nothing that is there is changed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
from lightkube import Client

from modelyard.cluster.answer import Refusal
from modelyard.cluster.connection import ClusterError, ask_server, transport
from modelyard.cluster.dryrun import taken
from modelyard.cluster.live import path_of
from modelyard.cluster.retries import busy, patiently
from modelyard.cluster.writing import delete
from modelyard.hiding import hidden_words
from modelyard.kube.state import key_of


def create(client: Client, body: Mapping[str, Any], manager: str, *, dry: bool) -> dict[str, Any] | Refusal:
    """The object as the API server made it, or would; or why it does not.

    A real create is sent once: asked again after an answer that was lost, it would find its own object there.

    Args:
        client: of the cluster.
        body: with a name that is not taken.
        manager: whose fields they are.
        dry: only ask; the rest of a request's way (admission, quotas, validation) is the real one.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    key = key_of(body, "")
    path = path_of(key._replace(name="")).rstrip("/")

    def send() -> httpx2.Response:
        params = {"fieldManager": manager, "fieldValidation": "Strict", **({"dryRun": "All"} if dry else {})}
        headers = {"Content-Type": "application/json"}
        return transport(client).post(path, params=params, content=json.dumps(body).encode(), headers=headers)

    answer = ask_server(lambda: patiently(send, busy) if dry else send(), key.name)
    if answer.status_code == 401 or busy(answer):
        ask_server(answer.raise_for_status, key.name)
    return taken(body, answer)


def create_all(
    client: Client, bodies: Sequence[Mapping[str, Any]], manager: str, *, dry: bool, apart: bool = False
) -> tuple[dict[str, Any], ...] | Refusal:
    """The objects as the API server made them, or would: all or none. The first owns the others, which go with it.

    With ``apart`` each stands for itself: one that has ended goes, and the others run on.
    All are asked for by dry run before the first is made. Where one is refused all the same, what was made is deleted.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    made: list[dict[str, Any]] = []
    for asking in (True,) if dry else (True, False):
        made.clear()
        for body in bodies:
            owned = body if asking or apart or not made else _owned(body, made[0])
            try:
                answer = create(client, owned, manager, dry=asking)
            except ClusterError:
                _undo(client, made, asking)
                raise
            if isinstance(answer, Refusal):
                _undo(client, made, asking)
                said = hidden_words(answer.message, body)
                return answer._replace(message=f"{body['kind']} {body['metadata']['name']}: {said}")
            made.append({**answer, "apiVersion": body["apiVersion"], "kind": body["kind"]})
    return tuple(made)


def _undo(client: Client, made: Sequence[Mapping[str, Any]], asking: bool) -> None:
    for body in () if asking else made:
        delete(client, body)


def _owned(body: Mapping[str, Any], owner: Mapping[str, Any]) -> dict[str, Any]:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return {**body, "metadata": {**body["metadata"], "ownerReferences": [reference]}}
