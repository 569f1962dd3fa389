"""The write that restores fields: owners, annotations, and maps that become empty again."""

import json
from typing import Any

import httpx2
import pytest

from modelyard.cluster.writing import hand_over
from tests.support.mock_cluster import client_of

NAMES = {"name": "trainer", "namespace": "ml", "resourceVersion": "7"}


def cluster(spec: dict[str, Any], annotations: dict[str, str], manager: str) -> dict[str, Any]:
    metadata = {**NAMES, "annotations": annotations, "managedFields": [{"manager": manager}]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec, "status": {"a": 1}}


@pytest.mark.parametrize(
    ("before", "after", "sent"),
    [
        ({"map": {"a": "1"}}, {"map": {"a": "1"}}, None),
        ({"map": {"a": "1"}, "b": 2}, {"map": {}, "b": 2}, {"map": {"a": None}}),
        ({"deep": {"map": {"a": {"b": 1}}, "c": 3}}, {"deep": {"map": {}, "c": 3}}, {"deep": {"map": {"a": None}}}),
        # A merge patch knows lists only as a whole.
        (
            {"items": [{"name": "x", "env": [1]}]},
            {"items": [{"name": "x", "env": []}]},
            {"items": [{"name": "x", "env": []}]},
        ),
    ],
)
def test_only_what_differs_is_sent(before: Any, after: Any, sent: Any) -> None:
    seen: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        assert request.headers["Content-Type"] == "application/merge-patch+json"
        assert request.url.params["fieldManager"] == "modelyard"
        return httpx2.Response(200, json=cluster(after, {}, "helm"))

    was, now = cluster(before, {"note": "x", "theirs": "y"}, "modelyard"), cluster(after, {"theirs": "y"}, "helm")
    hand_over(client_of(answer), was, now)
    metadata = {"resourceVersion": "7", "managedFields": [{"manager": "helm"}], "annotations": {"note": None}}
    assert seen == [{"metadata": metadata, **({} if sent is None else {"spec": sent})}]
