"""Lists in pages: complete, started again after they expire, and forbidden ones reported."""

from collections.abc import Callable

import httpx2
import pytest

from modelyard.cluster.connection import ClusterError
from modelyard.cluster.lists import PAGE, paged, pool_objects, run_objects
from tests.support.mock_cluster import client_of


def page(names: range, more: str = "") -> httpx2.Response:
    items = [{"metadata": {"name": f"n{number}"}} for number in names]
    return httpx2.Response(200, json={"metadata": {"continue": more} if more else {}, "items": items})


def test_all_pages_are_read() -> None:
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(dict(request.url.params))
        return {"": page(range(2), "a"), "a": page(range(2, 4), "b"), "b": page(range(4, 5))}[
            request.url.params.get("continue", "")
        ]

    found = paged(client_of(answer), "/api/v1/nodes", {"labelSelector": "x"})
    assert [one["metadata"]["name"] for one in found] == ["n0", "n1", "n2", "n3", "n4"]
    assert [one.get("continue") for one in asked] == [None, "a", "b"]
    assert {(one["limit"], one["labelSelector"]) for one in asked} == {(str(PAGE), "x")}


def test_a_list_that_has_grown_too_old_is_read_anew_in_one_answer() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if "continue" in request.url.params:
            return httpx2.Response(
                410, json={"kind": "Status", "message": "the continue token is too old", "code": 410}
            )
        return page(range(2), "a") if "limit" in request.url.params else page(range(5))

    assert len(paged(client_of(answer), "/api/v1/nodes")) == 5


def test_reading_pages_has_a_limit() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(410, json={"kind": "Status", "message": "gone", "code": 410})

    with pytest.raises(ClusterError, match="gone"):
        paged(client_of(answer), "/api/v1/nodes")


def test_a_missing_kueue_differs_from_missing_rights() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if "kueue" not in request.url.path:
            return page(range(1))
        if request.url.path.endswith("workloads"):
            return httpx2.Response(403, json={"kind": "Status", "message": "no", "code": 403})
        return httpx2.Response(404, text="404 page not found")

    found = pool_objects(client_of(answer))
    assert (found.kueue, found.unread, len(found.nodes)) == (True, ("workloads",), 1)

    def none(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(404, text="404 page not found") if "kueue" in request.url.path else page(range(1))

    assert pool_objects(client_of(none)).kueue is False


def answers(brought: tuple[str, ...], forbidden: tuple[str, ...] = ()) -> Callable[[httpx2.Request], httpx2.Response]:
    """An API server with Jobs and what operators brought, of which some may not be listed, whether there or not."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if any(path.endswith(f"/{plural}") for plural in forbidden):
            return httpx2.Response(403, json={"kind": "Status", "message": "no", "code": 403})
        if not any(path.startswith(f"/apis/{group}/") for group in ("batch", *brought)):
            return httpx2.Response(404, text="404 page not found")
        return page(range(1)) if path.endswith("s") else httpx2.Response(200, json={})

    return answer


def test_spark_applications_are_runs_if_the_cluster_has_them() -> None:
    found = run_objects(client_of(answers(("sparkoperator.k8s.io",))), ("vision",))
    assert [(body["apiVersion"], body["kind"]) for body in found.spark_applications] == [
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
    ]
    assert (found.ray_jobs, found.unread) == ((), ())


@pytest.mark.parametrize(
    ("brought", "unread"), [((), ()), (("sparkoperator.k8s.io",), ("sparkapplications of vision",))]
)
def test_forbidden_lists_are_reported_only_if_the_kind_exists(
    brought: tuple[str, ...], unread: tuple[str, ...]
) -> None:
    found = run_objects(client_of(answers(brought, ("sparkapplications", "rayjobs"))), ("vision",))
    assert (len(found.jobs), found.spark_applications, found.unread) == (1, (), unread)
