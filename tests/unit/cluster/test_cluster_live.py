"""Reading a cluster: in parallel, without missing objects, with errors for unreadable ones."""

from typing import Any

import httpx2
import pytest
from lightkube import Client, KubeConfig

from modelyard.cluster.connection import ClusterError
from modelyard.cluster.live import in_other_namespaces, listed, path_of, read, snapshot, state_of
from modelyard.cluster.present import NAMED_BY_PODS, absent
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, Scaler, key_of
from tests.support.mock_cluster import client_of

KUEUE = "kueue.x-k8s.io/v1beta2"


def key(name: str, kind: str = "Deployment", api_version: str = "apps/v1") -> ObjectKey:
    return ObjectKey(api_version, kind, "ml", name)


def deployment(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ml"}, "spec": {"template": {"metadata": {"labels": None}}}}


QUOTA = {"metadata": {"namespace": "ml", "name": "team"}, "spec": {"hard": {"pods": "5"}}}


def missing(name: str) -> httpx2.Response:
    return httpx2.Response(404, json={"kind": "Status", "message": f'deployments.apps "{name}" not found', "code": 404})


def cluster(request: httpx2.Request) -> httpx2.Response:
    """Four Deployments; of any number that is asked for, the others are not there."""
    path = request.url.path
    name = path.rpartition("/")[2]
    pods = [
        {"spec": {"nodeName": "n", "containers": []}, "status": {"phase": phase}, "metadata": {"name": phase}}
        for phase in ("Running", "Succeeded")
    ]
    known: dict[str, Any] = {
        "/version": {"gitVersion": "v1.35.4"},
        "/api/v1/nodes": {"items": [{"metadata": {"name": "n"}}]},
        "/api/v1/pods": {"items": pods},
        "/api/v1/namespaces/kube-system": {"metadata": {"uid": "its-uid"}},
        "/api/v1/namespaces/ml/resourcequotas": {"items": [QUOTA]},
        "/apis/apps/v1/namespaces/ml/deployments": {"items": [deployment(f"d{number}") for number in range(4)]},
        **{f"/apis/apps/v1/namespaces/ml/deployments/d{at}": deployment(f"d{at}") for at in range(4)},
    }
    return httpx2.Response(200, json=known[path]) if path in known else missing(name)


def test_missing_objects_are_left_out() -> None:
    taken = snapshot(client_of(cluster), [key(f"d{number}") for number in range(200)])
    assert [body["metadata"]["name"] for body in taken.objects.reveal()] == ["d0", "d1", "d2", "d3"]
    assert taken.objects.reveal()[0] == {**deployment("d0"), "apiVersion": "apps/v1", "kind": "Deployment"}
    assert (taken.identity, taken.version) == ("its-uid", "v1.35.4")
    assert taken.nodes.reveal() == ({"apiVersion": "v1", "metadata": {"name": "n"}},)
    assert taken.quotas.reveal() == (QUOTA,)
    assert taken.pods.reveal() == ({"node": "n", "namespace": "", "owner": "Running", "requests": {}},)


def test_forbidden_quotas_are_named() -> None:
    def forbidding(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/resourcequotas"):
            return httpx2.Response(403, json={"kind": "Status", "message": "no", "code": 403})
        return cluster(request)

    taken = snapshot(client_of(forbidding), [key("d0")])
    assert (taken.quotas.reveal(), taken.unread) == ((), (f"resourcequotas of {key('d0').namespace}",))
    # The part of another stack in the same cluster does not need them.
    assert taken.part({key("d0")}).unread == taken.unread
    assert taken.part({key("d0")._replace(namespace="other")}).unread == ()


def test_a_target_is_found_in_other_namespaces_by_its_name() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/apis/apps/v1/deployments"
        found = {"metadata.name=d0": ["team-a", "team-b"]}.get(request.url.params["fieldSelector"], [])
        items = [{"metadata": {"name": "d0", "namespace": name}} for name in found]
        return httpx2.Response(200, json={"items": items})

    wanted = [key("d0"), key("d9")]
    found = in_other_namespaces(client_of(answer), wanted)
    assert found == {key("d0")._replace(namespace=name) for name in ("team-a", "team-b")}


@pytest.mark.parametrize(("status", "lasting"), [(401, True), (403, True), (429, False), (500, False), (503, False)])
def test_only_rejected_credentials_are_not_retried(status: int, lasting: bool) -> None:
    client = client_of(lambda _request: httpx2.Response(status, text="no"))
    with pytest.raises(ClusterError) as error:
        read(client, key("d0"))
    assert error.value.lasting is lasting


def test_forbidden_namespaces_are_left_out() -> None:
    denied = httpx2.Response(403, json={"kind": "Status", "message": "no", "code": 403})
    served = httpx2.Response(200, json={"resources": []})
    client = client_of(lambda request: denied if request.url.path.endswith("/deployments") else served)
    assert in_other_namespaces(client, [key("d0")]) == frozenset()


HPA = {
    "metadata": {"namespace": "ml", "name": "mine", "uid": "1"},
    "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d0"}, "maxReplicas": 4},
}
SCALED = {
    "metadata": {"namespace": "ml", "name": "theirs", "annotations": {"autoscaling.keda.sh/paused": "true", "a": "b"}},
    "spec": {"scaleTargetRef": {"name": "d1"}, "triggers": [{"metadata": {"password": "hunter2"}}]},
}


def autoscaling(request: httpx2.Request) -> httpx2.Response:
    found = {"horizontalpodautoscalers": HPA, "scaledobjects": SCALED}.get(request.url.path.rpartition("/")[2])
    return httpx2.Response(200, json={"items": [found]}) if found else cluster(request)


def test_only_the_target_of_an_autoscaler_is_kept() -> None:
    taken = snapshot(client_of(autoscaling), [key("d0")])
    assert taken.scalers.reveal() == (
        {
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"namespace": "ml", "name": "mine"},
            "spec": {"scaleTargetRef": HPA["spec"]["scaleTargetRef"]},
        },
        {
            "kind": "ScaledObject",
            "metadata": {
                "namespace": "ml",
                "name": "theirs",
                "annotations": {"autoscaling.keda.sh/paused": "true"},
            },
            "spec": {"scaleTargetRef": {"name": "d1"}},
        },
    )
    # A paused one writes nothing.
    assert state_of(taken).scalers == (Scaler("HorizontalPodAutoscaler", "mine", key("d0")),)
    running = {**taken.scalers.reveal()[1], "metadata": {"namespace": "ml", "name": "theirs"}}
    (found,) = state_of(taken._replace(scalers=Confidential((running,)))).scalers
    assert (found.target, found.wakes) == (key("d1"), True)


FORBIDDEN = httpx2.Response(403, json={"kind": "Status", "message": "no", "code": 403})
UNKNOWN = httpx2.Response(404, text="404 page not found\n")


@pytest.mark.parametrize(
    ("answer", "group", "unread"),
    [
        (UNKNOWN, UNKNOWN, ()),
        # Access is refused before the API server looks for the kind.
        (FORBIDDEN, UNKNOWN, ("horizontalpodautoscalers of ml",)),
        (FORBIDDEN, httpx2.Response(200, json={}), ("horizontalpodautoscalers of ml", "scaledobjects of ml")),
    ],
)
def test_forbidden_autoscalers_are_named_if_the_cluster_has_any(
    answer: httpx2.Response, group: httpx2.Response, unread: tuple[str, ...]
) -> None:
    def without(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith(("autoscalers", "scaledobjects")):
            return answer
        groups = {"/apis/keda.sh/v1alpha1": group, "/apis/autoscaling/v2": httpx2.Response(200, json={})}
        return groups.get(request.url.path) or cluster(request)

    taken = snapshot(client_of(without), [key("d0")])
    assert (taken.scalers.reveal(), taken.unread) == ((), unread)


def test_objects_of_a_list_get_kind_and_version() -> None:
    found = listed(client_of(cluster), "apps/v1", "Deployment", "ml")
    assert found == [{**deployment(f"d{at}"), "apiVersion": "apps/v1", "kind": "Deployment"} for at in range(4)]


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        (key("a"), "/apis/apps/v1/namespaces/ml/deployments/a"),
        (key("a", "Service", "v1"), "/api/v1/namespaces/ml/services/a"),
        (key("a", "PodDisruptionBudget", "policy/v1"), "/apis/policy/v1/namespaces/ml/poddisruptionbudgets/a"),
        (key("a", "LocalQueue", KUEUE), f"/apis/{KUEUE}/namespaces/ml/localqueues/a"),
        (ObjectKey(KUEUE, "ClusterQueue", "", "a"), f"/apis/{KUEUE}/clusterqueues/a"),
    ],
)
def test_every_kind_has_its_place(wanted: ObjectKey, path: str) -> None:
    assert path_of(wanted) == path


def test_a_cluster_scoped_kind_has_no_namespace() -> None:
    body = {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "a"}}
    assert key_of(body, "ml") == ObjectKey(KUEUE, "ClusterQueue", "", "a")
    assert key_of({**body, "kind": "LocalQueue"}, "ml") == key("a", "LocalQueue", KUEUE)


def test_an_unread_kind_is_an_error() -> None:
    with pytest.raises(ClusterError, match="modelyard does not read Secret v1"):
        read(client_of(cluster), key("a", "Secret", "v1"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx2.Response(403, json={"kind": "Status", "message": "no"}), "these credentials may not read a: no"),
        (httpx2.Response(500, json={"kind": "Status", "message": "etcd"}), "did not return a: etcd"),
        (httpx2.Response(404, text="no such page"), "answered 404 for a"),
        (httpx2.Response(200, text="hello"), "not from a Kubernetes API server"),
        (httpx2.Response(200, json=["hello"]), "not from a Kubernetes API server"),
    ],
)
def test_a_malformed_answer_is_an_error(answer: httpx2.Response, said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        read(client_of(lambda _request: answer), key("a"))


def test_a_new_kind_is_discovered_again(waits: list[float]) -> None:
    starting = {"kind": "Status", "code": 429, "message": "storage is (re)initializing"}
    rest = [httpx2.Response(429, json=starting, headers={"Retry-After": "1"})] * 2

    def answer(request: httpx2.Request) -> httpx2.Response:
        return rest.pop() if rest and request.url.path.endswith("resourcequotas") else cluster(request)

    assert snapshot(client_of(answer), [key("d0")]).quotas.reveal() == (QUOTA,)
    assert waits == [1.0, 1.0]


def test_a_server_that_cannot_be_reached_is_named_without_credentials() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("[Errno 111] Connection refused", request=request)

    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://ada:HUSH@cluster.example:6443/k8s?token=HUSH"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "HUSH"}}],
        "current-context": "c",
    }
    client = Client(config=KubeConfig.from_dict(config).get(), transport=httpx2.MockTransport(refuse), trust_env=False)
    with pytest.raises(ClusterError) as caught:
        read(client, key("d0"))
    words = "the API server cannot be reached: Connection refused (https://cluster.example:6443)"
    assert caught.value.summary == words


def test_a_handshake_that_fails_is_tried_once_more() -> None:
    tries = []

    def flaky(request: httpx2.Request) -> httpx2.Response:
        tries.append(request)
        if len(tries) == 1:
            raise httpx2.ConnectError("alert decode error")
        return cluster(request)

    assert read(client_of(flaky), key("d0")) is not None
    assert len(tries) == 2


def test_a_lost_connection_is_an_error_after_the_second_try() -> None:
    tries = []

    def gone(request: httpx2.Request) -> httpx2.Response:
        tries.append(request)
        raise httpx2.ConnectError("refused")

    with pytest.raises(ClusterError) as error:
        read(client_of(gone), key("d0"))
    assert isinstance(error.value.__cause__, httpx2.ConnectError)
    assert len(tries) == 2


def test_references_of_pods_are_absent_only_if_surely_missing() -> None:
    accepts = set()

    def answer(request: httpx2.Request) -> httpx2.Response:
        accepts.add(request.headers["accept"])
        status = {"there": 200, "forbidden": 403}.get(request.url.path.rpartition("/")[2], 404)
        return httpx2.Response(status, json={"kind": "Status" if status > 200 else "PartialObjectMetadata"})

    client = client_of(answer)
    keys = [key(name, kind, "v1") for name in ("there", "gone", "forbidden") for kind in NAMED_BY_PODS]
    assert set(absent(client, keys)) == {key("gone", kind, "v1") for kind in NAMED_BY_PODS}
    assert accepts == {"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    with pytest.raises(ClusterError):
        absent(client_of(lambda _: httpx2.Response(401, json={"kind": "Status"})), keys)
