"""Reads lists of a live cluster page by page, so that a pool of thousands of nodes needs no huge answer."""

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal

import httpx2
from lightkube import Client

from modelyard.cluster.connection import AT_ONCE, ClusterError, ask_server, message, transport
from modelyard.cluster.pool_objects import JOB_NAME, RUN, STACK, PoolObjects, RunObjects
from modelyard.cluster.requests import busy, patiently
from modelyard.files import parse_json
from modelyard.kube.kinds import KUEUE, RAY, SPARK
from modelyard.kube.state import Node, node_of

PAGE: Final = 500
"""Objects per answer, as in kubectl."""
_KUEUE: Final = f"/apis/{KUEUE}"
_LIVING: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector of the pods that have not ended: they hold or wait for what they request."""
_QUOTAS: Final = ("clusterqueues", "resourceflavors", "cohorts")
"""Kueue's lists of what there is to use."""
_QUEUED: Final = ("workloads", "localqueues")
"""Kueue's lists that determine the order of its queues."""
_Listed = list[dict[str, Any]] | Literal["unread"] | None
"""The objects of a list; None if the cluster lacks the kind, ``"unread"`` if these credentials may not read it."""


def pool_objects(client: Client, namespaces: Collection[str] = (), *, dispatched: bool = False) -> PoolObjects:
    """Reads nodes and pods, and with Kueue its queues and workloads, all lists at once.

    Args:
        client: connection to the cluster.
        namespaces: where to read workloads and local queues if reading them for the whole cluster is not allowed.
        dispatched: whether to read the clusters that Kueue sends jobs to.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    whole = (*_QUOTAS, *(("multikueueclusters",) if dispatched else ()))
    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        asked = {
            "nodes": threads.submit(_allowed, client, "/api/v1/nodes"),
            "pods": threads.submit(_allowed, client, "/api/v1/pods", {"fieldSelector": _LIVING}),
            **{name: threads.submit(_allowed, client, f"{_KUEUE}/{name}") for name in whole},
            **{name: threads.submit(_in_parts, client, name, namespaces) for name in _QUEUED},
        }
        return _pool({name: one.result() for name, one in asked.items()})


def _pool(found: Mapping[str, _Listed]) -> PoolObjects:
    """What was read of a pool, by the plural names of the lists."""
    have = {name: () if one == "unread" else tuple(one or ()) for name, one in found.items()}
    return PoolObjects(
        nodes=have.get("nodes", ()),
        pods=have.get("pods", ()),
        workloads=have["workloads"],
        queues=have.get("clusterqueues", ()),
        local_queues=have["localqueues"],
        flavors=have.get("resourceflavors", ()),
        cohorts=have.get("cohorts", ()),
        kueue=any(found.get(name) is not None for name in (*_QUOTAS, *_QUEUED)),
        unread=tuple(name for name, one in found.items() if one == "unread"),
        worker_clusters=have.get("multikueueclusters", ()),
    )


def nodes_with(client: Client, labels: Mapping[str, Collection[str]]) -> tuple[Node, ...] | None:
    """The nodes that have each label with one of its values; None if these credentials may not read nodes.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    selector = ",".join(f"{key} in ({','.join(values)})" for key, values in labels.items())
    found = _allowed(client, "/api/v1/nodes", {"labelSelector": selector} if selector else None)
    return None if found == "unread" else tuple(map(node_of, found or ()))


def queued_objects(client: Client, namespaces: Collection[str]) -> PoolObjects:
    """Reads only the objects that determine the order of Kueue's queues: workloads and local queues.

    Args:
        client: connection to the cluster.
        namespaces: where to read the objects if reading them in the whole cluster is not allowed.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    return _pool({name: _in_parts(client, name, namespaces) for name in _QUEUED})


def workloads_in(client: Client, namespaces: Collection[str]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Kueue's workloads in some namespaces, and the namespaces in which these credentials may not read them.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    found = {name: _allowed(client, f"{_KUEUE}/namespaces/{name}/workloads") for name in sorted(namespaces)}
    unread = tuple(_list_in("workloads", name) for name, one in found.items() if one == "unread")
    return [body for one in found.values() if one is not None and one != "unread" for body in one], unread


def unread_lists(*unread: str, namespaces: Collection[str]) -> tuple[str, ...]:
    """Lists that could not be read, each once: a list of the whole cluster covers those of its namespaces."""
    covered = {_list_in(plural, namespace) for plural in unread for namespace in namespaces}
    return tuple(one for one in dict.fromkeys(unread) if one not in covered)


def _list_in(plural: str, namespace: str) -> str:
    return f"{plural} of {namespace}"


def run_objects(client: Client, namespaces: Collection[str]) -> RunObjects:
    """Reads every object that a submission created, in the whole cluster or, if that is not allowed, by namespace.

    Args:
        client: connection to the cluster.
        namespaces: where the stack's runs are created.

    Raises:
        ClusterError: the API server does not answer, or allows listing Jobs in none of the namespaces.
    """
    query = {"labelSelector": STACK}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        jobs = pool.submit(_wherever, client, "/apis/batch/v1", "jobs", namespaces, query)
        ray = pool.submit(_wherever, client, f"/apis/{RAY}", "rayjobs", namespaces, query)
        spark = pool.submit(_wherever, client, f"/apis/{SPARK}", "sparkapplications", namespaces, query)
        found, unread = jobs.result()
        if found is None:
            raise ClusterError(
                f"these credentials may not list jobs in {', '.join(sorted(namespaces)) or 'any namespace'}",
                "ask for the right to get and list jobs.batch there",
            )
        rays, unread_ray = ray.result()
        applications, unread_spark = spark.result()
        return RunObjects(
            tuple({**body, "apiVersion": "batch/v1", "kind": "Job"} for body in found),
            tuple({**body, "apiVersion": RAY, "kind": "RayJob"} for body in rays or ()),
            tuple({**body, "apiVersion": SPARK, "kind": "SparkApplication"} for body in applications or ()),
            (*unread, *unread_ray, *unread_spark),
        )


def pods_of_run(client: Client, namespace: str, run: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """The pods of a run, including ended ones, by name.

    Args:
        client: connection to the cluster.
        namespace: the run's namespace.
        run: name of the run, which its pods have as a label.
        names: the run's Jobs, RayJobs and SparkApplications; pods are also found by the label of their Job, because
            some lack the label of the run.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    path = f"/api/v1/namespaces/{namespace}/pods"
    jobs = tuple(names)
    selectors = (f"{RUN} in ({','.join({run: 0, **dict.fromkeys(jobs)})})", f"{JOB_NAME} in ({','.join(jobs)})")
    found = [pod for selector in selectors for pod in paged(client, path, {"labelSelector": selector})]
    return sorted({pod["metadata"]["uid"]: pod for pod in found}.values(), key=lambda pod: str(pod["metadata"]["name"]))


def paged(client: Client, path: str, query: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """All objects of a list, read page by page.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    return ask_server(lambda: _pages(client, path, query or {}), path.rpartition("/")[2])


def _pages(client: Client, path: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    params = {"limit": str(PAGE), **query}
    again = True
    while True:
        answer = patiently(lambda: transport(client).get(path, params=params), busy)  # noqa: B023 - sent at once
        if answer.status_code == 410 and "continue" in params and again:
            # The API server no longer keeps this list: start again, in one answer.
            found, again = [], False
            params = dict(query)
            continue
        answer.raise_for_status()
        body = parse_json(answer.content)
        found += body["items"] or ()
        more = (body.get("metadata") or {}).get("continue")
        if not more:
            return found
        params["continue"] = more


def _in_parts(client: Client, plural: str, namespaces: Collection[str]) -> _Listed:
    """Kueue's objects of a kind: in the whole cluster, or in the namespaces that these credentials may read."""
    everywhere = _allowed(client, f"{_KUEUE}/{plural}")
    if everywhere != "unread":
        return everywhere
    found = [_allowed(client, f"{_KUEUE}/namespaces/{namespace}/{plural}") for namespace in sorted(namespaces)]
    read = [one for one in found if one is not None and one != "unread"]
    return [body for one in read for body in one] if read else "unread"


def pods_of_job(client: Client, namespace: str, job: str) -> list[dict[str, Any]]:
    """The pods of one Job; none if these credentials may not read pods.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    found = _allowed(client, f"/api/v1/namespaces/{namespace}/pods", {"labelSelector": f"{JOB_NAME}={job}"})
    return [] if found == "unread" else found or []


def _allowed(client: Client, path: str, query: Mapping[str, str] | None = None) -> _Listed:
    def get() -> _Listed:
        try:
            return _pages(client, path, query or {})
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == 404:
                return None
            if error.response.status_code == 403 and message(error.response):
                return "unread"
            raise

    return ask_server(get, path.rpartition("/")[2])


def _wherever(
    client: Client, group: str, plural: str, namespaces: Collection[str], query: Mapping[str, str]
) -> tuple[list[dict[str, Any]] | None, tuple[str, ...]]:
    """The objects of a kind, and which lists could not be read; None if no list could be read.

    Both results are empty if the cluster lacks the kind, even without the right to read it: the API server denies
    access before it looks for the kind.
    """
    everywhere = _allowed(client, f"{group}/{plural}", query)
    if everywhere != "unread":
        return everywhere or [], ()
    if "." in group and _is_missing(client, group):
        return [], ()
    found: list[dict[str, Any]] = []
    unread = []
    for namespace in sorted(namespaces):
        theirs = _allowed(client, f"{group}/namespaces/{namespace}/{plural}", query)
        if theirs == "unread":
            unread.append(_list_in(plural, namespace))
        else:
            found += theirs or ()
    return (None if len(unread) == len(namespaces) else found), tuple(unread)


def _is_missing(client: Client, group: str) -> bool:
    """Whether the API server lacks a group and version, which every user may read."""
    return ask_server(lambda: patiently(lambda: transport(client).get(group), busy), group).status_code == 404
