"""Asking what an apply would do: what is sent, how answers are read, and when the question is put again.

The transport is a fake whose answers were taken from a real API server; the lab tests ask one.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest
from lightkube import Client, KubeConfig

from modelyard.cluster.answer import Answer, Claim, Deletion, Refusal
from modelyard.cluster.connection import ClusterError, transport
from modelyard.cluster.dryrun import claims_of, dry_run
from modelyard.cluster.live import listed, read
from modelyard.cluster.requests import PAUSES, Counter
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, key_of

Handler = Callable[[httpx2.Request], httpx2.Response]


def client_of(handler: Handler) -> Client:
    one = {"name": "c", "cluster": {"server": "http://cluster.example", "insecure-skip-tls-verify": True}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    config = KubeConfig.from_dict({"clusters": [one], "contexts": [context], "users": users, "current-context": "c"})
    return Client(config=config.get(), transport=httpx2.MockTransport(handler), trust_env=False)


def deployment(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 2}}


def query(request: httpx2.Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}


def forced(request: httpx2.Request) -> bool:
    return query(request)["force"] == "true"


def failed(code: int, message: str, causes: list[dict[str, str]] | None = None, retry: str = "") -> httpx2.Response:
    details = {"causes": causes} if causes else {}
    return httpx2.Response(
        code, json={"kind": "Status", "message": message, "details": details}, headers={"Retry-After": retry}
    )


def conflict(*causes: tuple[str, str]) -> httpx2.Response:
    found = [{"reason": "FieldManagerConflict", "message": message, "field": field} for message, field in causes]
    return failed(409, f"Apply failed with {len(found)} conflicts", found)


def test_an_apply_is_asked_with_and_without_force_and_changes_nothing() -> None:
    seen: list[tuple[str, str, dict[str, str], Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.method, request.url.path, query(request), json.loads(request.content)))
        assert request.headers["Content-Type"] == "application/apply-patch+yaml"
        return httpx2.Response(200, json={**deployment("head"), "status": {}})

    (found,) = dry_run(client_of(answer), [deployment("head")])
    assert found == Answer(Confidential({**deployment("head"), "status": {}}), (), None)
    path = "/apis/apps/v1/namespaces/ml/deployments/head"
    asked = [
        ("PATCH", path, {"fieldManager": "modelyard", "dryRun": "All", "force": force}, deployment("head"))
        for force in ("false", "true")
    ]
    assert sorted(seen, key=lambda each: each[2]["force"]) == asked


@pytest.mark.parametrize(
    ("code", "why"), [(200, None), (404, None), (403, "rights"), (422, "admission"), (409, "invalid")]
)
def test_a_delete_is_asked_about_this_very_object(code: int, why: str | None) -> None:
    said = {
        403: 'deployments.apps "head" is forbidden: User "viewer" cannot delete resource "deployments"',
        422: "ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: it stays",
        409: "the UID in the precondition does not match the UID in record",
    }
    seen: list[tuple[str, str, dict[str, str], Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.method, request.url.path, query(request), json.loads(request.content)))
        return httpx2.Response(200, json=deployment("head")) if code == 200 else failed(code, said.get(code, "gone"))

    key = ObjectKey("apps/v1", "Deployment", "ml", "head")
    (found,) = dry_run(client_of(answer), [Deletion(key, "one")])
    assert (found.object.reveal(), found.claims, found.refusal and found.refusal.why) == (None, (), why)
    method, path, asked, body = seen[0]
    assert (method, path, asked) == ("DELETE", "/apis/apps/v1/namespaces/ml/deployments/head", {})
    # In the query it would count for nothing: the object would be gone.
    assert (body["preconditions"], body["dryRun"]) == ({"uid": "one"}, ["All"])


def test_a_kind_of_the_core_group_has_its_own_root() -> None:
    paths: set[str] = set()

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.add(request.url.path)
        return httpx2.Response(200, json={})

    dry_run(client_of(answer), [{**deployment("it"), "apiVersion": "v1", "kind": "Service"}])
    assert paths == {"/api/v1/namespaces/ml/services/it"}


def test_every_owner_of_every_contested_field_is_read() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if forced(request):
            return httpx2.Response(200, json=deployment("head"))
        return conflict(
            ('conflict with "kubectl-client-side-apply" using apps/v1', ".spec.template.spec.terminationGracePeriod"),
            ('conflict with "keda" with subresource "scale" using autoscaling/v1', ".spec.replicas"),
            ('conflict with "helm"', ".spec.replicas"),
            (r'conflict with "a \"quoted\" name" using apps/v1', '.spec.containers[name="x"].image'),
        )

    (found,) = dry_run(client_of(answer), [deployment("head")])
    assert found.claims == (
        Claim('.spec.containers[name="x"].image', 'a "quoted" name', "Update"),
        Claim(".spec.replicas", "helm", "Apply"),
        Claim(".spec.replicas", "keda", "Update", "scale"),
        Claim(".spec.template.spec.terminationGracePeriod", "kubectl-client-side-apply", "Update"),
    )
    assert found.object.reveal() == deployment("head")


_HEAD = 'deployments.apps "head" is forbidden: '


@pytest.mark.parametrize(
    ("code", "message", "why"),
    [
        (403, _HEAD + 'User "viewer" cannot patch resource "deployments" in API group "apps"', "rights"),
        (
            403,
            _HEAD + "exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=5",
            "quota",
        ),
        (422, _HEAD + "ValidatingAdmissionPolicy 'small' with binding 'small' denied request: at most 3", "admission"),
        (403, 'admission webhook "wh.example.com" denied the request: no', "admission"),
        (500, 'Internal error occurred: failed calling webhook "wh.example.com": connection refused', "admission"),
        (422, 'Deployment.apps "head" is invalid: spec.replicas: Invalid value: -1: must be at least 0', "invalid"),
        (400, "the namespace of the provided object does not match the namespace sent on the request", "invalid"),
        (404, 'namespaces "ml" not found', "missing"),
    ],
)
def test_a_refusal_has_the_message_of_the_server(code: int, message: str, why: str, waits: list[float]) -> None:
    (found,) = dry_run(client_of(lambda _request: failed(code, message)), [deployment("head")])
    assert found == Answer(Confidential(None), (), Refusal(why, message))
    assert waits == []


def test_one_refused_request_leaves_the_others_their_answers() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        name = request.url.path.rpartition("/")[2]
        return failed(422, "no") if name == "b" else httpx2.Response(200, json=deployment(name))

    found = dry_run(client_of(answer), [deployment(name) for name in "abc"])
    assert [body and body["metadata"]["name"] for one in found for body in (one.object.reveal(),)] == ["a", None, "c"]


def flaky(*answers: httpx2.Response) -> Handler:
    """Answers the unforced question with these, one after the other, and any other with an object."""
    rest: Iterator[httpx2.Response] = iter(answers)
    return lambda request: httpx2.Response(200, json=deployment("head")) if forced(request) else next(rest)


def test_a_busy_server_is_retried_after_its_delay(waits: list[float]) -> None:
    handler = flaky(
        failed(429, "too many requests", retry="2"),
        failed(500, "etcdserver: request timed out"),
        conflict(('conflict with "helm"', ".spec.replicas")),
    )
    (found,) = dry_run(client_of(handler), [deployment("head")])
    assert found.claims == (Claim(".spec.replicas", "helm", "Apply"),)
    assert waits == [2.0, PAUSES[1]]


def test_a_conflicting_change_is_read_again(waits: list[float]) -> None:
    handler = flaky(failed(409, "the object has been modified"), httpx2.Response(200, json={}))
    assert claims_of(client_of(handler), deployment("head")) == ()
    assert len(waits) == 1


@pytest.mark.parametrize(
    ("answer", "attempts", "said"),
    [
        (failed(429, "too many requests", retry="1"), 1 + len(PAUSES), "apply to head would do: too many requests"),
        (failed(429, "too many requests", retry="600"), 1, "too many requests"),
        (failed(500, "etcdserver: leader changed"), 1 + len(PAUSES), "etcdserver: leader changed"),
        (httpx2.Response(503, text="no backend"), 1 + len(PAUSES), "answered 503"),
        (failed(401, "Unauthorized"), 1, "does not accept these credentials"),
    ],
)
def test_a_server_that_does_not_answer_is_out_of_reach(answer: httpx2.Response, attempts: int, said: str) -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(answer.status_code, content=answer.content, headers=dict(answer.headers))

    with pytest.raises(ClusterError, match=said):
        claims_of(client_of(handler), deployment("head"))
    assert len(seen) == attempts


def test_a_connection_that_breaks_is_out_of_reach() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("too slow", request=request)

    with pytest.raises(ClusterError, match=": too slow") as error:
        dry_run(client_of(handler), [deployment("head")])
    assert isinstance(error.value.__cause__, httpx2.ReadTimeout)


def test_all_questions_are_under_way_together_and_are_counted() -> None:
    """Nobody is answered before all twelve have asked."""
    barrier = threading.Barrier(12, timeout=30)

    def handler(_request: httpx2.Request) -> httpx2.Response:
        barrier.wait()
        return httpx2.Response(200, json={})

    client = client_of(handler)
    counter = Counter(transport(client))
    dry_run(client, [deployment(f"d{number}") for number in range(6)])
    assert counter.total()[:2] == (12, 12)


def test_a_missing_operator_is_named() -> None:
    client = client_of(lambda _: httpx2.Response(404, text="404 page not found\n"))
    body = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "ray", "namespace": "ml"}}
    (answer,) = dry_run(client, [body])
    assert answer.refusal is not None
    assert answer.refusal.why == "missing"
    assert re.search(r"ScaledObject in keda\.sh/v1alpha1: KEDA ", answer.refusal.message)
    assert read(client, key_of(body, "")) is None
    assert listed(client, "keda.sh/v1alpha1", "ScaledObject", "ml") == []
    with pytest.raises(ClusterError, match="answered 404"):
        read(client, key_of(deployment("a"), ""))
