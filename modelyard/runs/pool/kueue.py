"""The state of Kueue's objects: the owner of each queue, the use of each quota, and what waits at which place."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from modelyard.cluster.pool_objects import RUN, STAGE, WAITING_QUEUE, PoolObjects
from modelyard.kube.state import amounts, annotations_of
from modelyard.names import is_gpu
from modelyard.runs.pool.objects import (
    NOTHING,
    PodSet,
    asks_for,
    condition,
    is_true,
    made_by,
    pod_sets_of,
    spec_of,
    status_of,
    written_at,
)
from modelyard.runs.pool.values import QueueUse, QuotaUse
from modelyard.stack.config import Config
from modelyard.workloads.facts.pool import namespace_of

REPLACES: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
"""Annotation of a Workload that asks for more workers: the Workload with the run's quota (Kueue 0.19.2)."""


class Work(NamedTuple):
    """A Workload: what Kueue queues for one Job, RayJob, SparkApplication or pod group."""

    body: Mapping[str, Any]
    name: str
    namespace: str
    uids: tuple[str, ...]
    """UIDs of the objects that the Workload stands for."""
    local_queue: str
    queue: str | None
    """The ClusterQueue; None if the local queue leads nowhere."""
    reserved: bool
    """Whether the Workload has its quota."""
    admitted: bool
    """Whether the Workload also passed its queue's admission checks, so that it may start."""
    over: bool
    """Whether the Workload is finished, or deactivated so that it is never admitted."""
    gpus: tuple[tuple[str, int], ...]
    """GPUs that the Workload requests, by resource; the GPUs that it got, if these are fewer."""
    flavors: tuple[tuple[str, str], ...]
    """The flavor of each GPU resource for which the Workload has quota."""
    priority: int
    order: str
    """The time that decides the Workload's place in its queue."""
    since: str
    """The time since which the Workload waits, or waited."""

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        """The quota that the Workload was assigned, one item per pod set."""
        return list(_admission(self.body).get("podSetAssignments") or ())

    @property
    def total(self) -> int:
        """GPUs of all resources together."""
        return sum(count for _, count in self.gpus)

    @property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """The pods that the Workload asks for."""
        return pod_sets_of(self.body)


class Queues:
    """Kueue's queues in a cluster, and the workloads in them."""

    def __init__(self, objects: PoolObjects, config: Config) -> None:
        self.installed = objects.kueue
        self._cohorts = {body["metadata"]["name"] for body in objects.cohorts}
        self._unread = "localqueues" in objects.unread
        self.teams = {f"team-{team.name}": team for team in config.teams}
        self.bodies = {str(body["metadata"]["name"]): body for body in objects.queues}
        self.local = {
            (str(body["metadata"]["namespace"]), str(body["metadata"]["name"])): body for body in objects.local_queues
        }
        self.flavors = {str(body["metadata"]["name"]): spec_of(body) for body in objects.flavors}
        self._shared = Counter[tuple[str | None, str, str]]()
        """Quotas of a cohort's queues together, by cohort, flavor and resource."""
        for name, body in self.bodies.items():
            for flavor, one in _gpu_quotas(body):
                self._shared[self._cohort_name(name), flavor, one["name"]] += _count(one.get("nominalQuota"))
        self._namespaces: dict[str, set[str]] = {}
        for team in config.teams:
            self._namespaces.setdefault(namespace_of(team), set()).add(team.name)
        # A pipeline's stage that waits for other stages asks for no quota yet.
        asking = (body for body in objects.workloads if spec_of(body).get("queueName") != WAITING_QUEUE)
        self.works = tuple(map(self._work, _differences(asking)))
        # A run that grows has several: that with its quota, one that asks for more, and those that it has outgrown.
        best = sorted(self.works, key=lambda work: (not work.over, work.reserved))
        self.by_uid = {uid: work for work in best for uid in work.uids}
        held = {uid for work in self.works if work.reserved and not work.over for uid in work.uids}
        asks = [work for work in self.works if not (work.reserved or work.over)]
        self.more = {uid: work for work in asks for uid in work.uids if uid in held}
        """The workload that requests more workers, by the UID of the run's object that has quota."""
        self.by_run = {
            (work.namespace, run): work for work in best for pods in work.pod_sets if (run := pods.labels.get(RUN))
        }
        """Workloads by namespace and run, because the workload's object does not create the pods of a Ray cluster."""

    def queue_of(self, namespace: str, local: str) -> str | None:
        """The ClusterQueue that a local queue leads to."""
        body = self.local.get((namespace, local))
        if body is not None:
            return str(body["spec"].get("clusterQueue") or "") or None
        # Without the right to read local queues, the stack's own are still known.
        return f"team-{local}" if self._unread and f"team-{local}" in self.teams else None

    def team_of(self, queue: str | None) -> str | None:
        """The team of a queue: the stack's team, or else the name of the queue."""
        if queue is None:
            return None
        return self.teams[queue].name if queue in self.teams else queue

    def team_in(self, namespace: str) -> str | None:
        """The team of a namespace; None if the namespace has no team, or several."""
        teams = self._namespaces.get(namespace, set())
        return next(iter(teams)) if len(teams) == 1 else None

    def adds(self, work: Work) -> bool:
        """Whether a workload requests more workers for a run that has quota."""
        return any(uid in self.more for uid in work.uids)

    def waiting(self, queue: str) -> list[Work]:
        """The workloads that wait in a ClusterQueue for quota, in the order in which Kueue looks at them."""
        found = [work for work in self.works if work.queue == queue and not (work.reserved or work.over)]
        return sorted(found, key=lambda work: (-work.priority, work.order, work.namespace, work.name))

    def places(self) -> list[tuple[Work, int]]:
        """The workloads that wait in any ClusterQueue, each with its place there, from 1."""
        queues = sorted({work.queue for work in self.works if work.queue is not None})
        return [(work, place) for queue in queues for place, work in enumerate(self.waiting(queue), 1)]

    def holding(self, queues: Iterable[str]) -> list[Work]:
        """The workloads that have quota in any of the ClusterQueues and have not ended."""
        names = set(queues)
        return [work for work in self.works if work.reserved and not work.over and work.queue in names]

    def cohort(self, queue: str) -> list[str]:
        """The ClusterQueues that share quota with a queue, itself included."""
        name = self._cohort_name(queue)
        if name is None:
            return [queue]
        return sorted(other for other in self.bodies if self._cohort_name(other) == name)

    def nested(self, queue: str) -> bool:
        """Whether the queue's cohort has quotas or a parent, in which case the cohort is an object."""
        return self._cohort_name(queue) in self._cohorts

    def stopped(self, queue: str) -> str:
        """Why a ClusterQueue admits nothing; empty if it admits."""
        body = self.bodies.get(queue)
        if body is None:
            return "the ClusterQueue does not exist"
        active = condition(body, "Active")
        return str(active.get("message") or active.get("reason") or "") if active.get("status") == "False" else ""

    def quotas(self, queue: str) -> tuple[QuotaUse, ...]:
        """A ClusterQueue's quotas of GPUs, in the order in which its flavors are tried.

        Kueue requires every flavor to list every resource; leaves out entries with which the queue can never have a
        GPU.
        """
        body = self.bodies.get(queue)
        if body is None:
            return ()
        used = {
            (flavor["name"], one["name"]): one
            for flavor in status_of(body).get("flavorsReservation") or ()
            for one in flavor.get("resources") or ()
        }
        cohort = self._cohort_name(queue)
        found = []
        for flavor, one in _gpu_quotas(body):
            state = used.get((flavor, one["name"]), NOTHING)
            limit = one.get("borrowingLimit")
            use = QuotaUse(
                flavor=flavor,
                resource=one["name"],
                nominal=_count(one.get("nominalQuota")),
                used=_count(state.get("total")),
                borrowed=_count(state.get("borrowed")),
                borrow=0 if cohort is None else None if limit is None else _count(limit),
            )
            shared = self._shared[cohort, flavor, use.resource] if use.borrow != 0 else 0
            if use.nominal or use.used or shared or self.nested(queue):
                found.append(use)
        return tuple(found)

    def on_flavor(self, spec: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """A pod's spec with what Kueue adds for a flavor."""
        flavor = self.flavors.get(name, NOTHING)
        return {
            **spec,
            "nodeSelector": {**(spec.get("nodeSelector") or {}), **(flavor.get("nodeLabels") or {})},
            "tolerations": [*(spec.get("tolerations") or ()), *(flavor.get("tolerations") or ())],
        }

    def with_flavors(self, spec: Mapping[str, Any], work: Work) -> list[Mapping[str, Any]]:
        """A pod's spec with each flavor of its queue that has a quota of GPUs; unchanged without any."""
        names = dict.fromkeys(quota.flavor for quota in self.quotas(work.queue or ""))
        return [self.on_flavor(spec, name) for name in names] or [spec]

    def use(self, queue: str) -> QueueUse:
        """The current state of a ClusterQueue."""
        waiting = self.waiting(queue)
        return QueueUse(
            name=queue,
            team=self.team_of(queue) if queue in self.teams else None,
            cohort=self._cohort_name(queue),
            stopped=self.stopped(queue),
            quotas=self.quotas(queue),
            waiting=len(waiting),
            waiting_gpus=sum(work.total for work in waiting),
        )

    def _cohort_name(self, queue: str) -> str | None:
        return str((self.bodies.get(queue) or {"spec": {}})["spec"].get("cohortName") or "") or None

    def _work(self, body: Mapping[str, Any]) -> Work:
        metadata, spec, admission = body["metadata"], spec_of(body), _admission(body)
        namespace, local = metadata["namespace"], spec.get("queueName") or ""
        reserved = is_true(body, "QuotaReserved")
        gpus, flavors = _got(admission) if reserved else (_asked(body), {})
        uids = tuple(str(one["uid"]) for one in metadata.get("ownerReferences") or () if "uid" in one)
        return Work(
            body=body,
            name=str(metadata["name"]),
            namespace=namespace,
            uids=uids,
            local_queue=local,
            queue=str(admission.get("clusterQueue") or "") or self.queue_of(namespace, local),
            reserved=reserved,
            admitted=is_true(body, "Admitted"),
            over=is_true(body, "Finished") or spec.get("active") is False,
            gpus=tuple(sorted(gpus.items())),
            flavors=tuple(sorted(flavors.items())),
            priority=int(spec.get("priority") or 0),
            order=_order(body),
            since=_since(body),
        )


def _differences(bodies: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The Workloads; one that requests more workers for a run has only the pods that it adds."""
    bodies = tuple(bodies)
    known = {f"{body['metadata']['namespace']}/{body['metadata']['name']}": body for body in bodies}
    for body in bodies:
        earlier = known.get(annotations_of(body).get(REPLACES, ""), NOTHING)
        if is_true(body, "QuotaReserved") or not is_true(earlier, "QuotaReserved") or is_true(earlier, "Finished"):
            yield body
            continue
        had = {part.get("name"): int(part.get("count", 1)) for part in earlier["spec"]["podSets"]}
        parts = body["spec"]["podSets"]
        more = [{**part, "count": int(part.get("count", 1)) - had.get(part.get("name"), 0)} for part in parts]
        yield {**body, "spec": {**body["spec"], "podSets": [part for part in more if part["count"] > 0]}}


def _gpu_quotas(queue: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A ClusterQueue's lines about GPUs, each with the name of its flavor."""
    for group in queue["spec"].get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for one in flavor.get("resources") or ():
                if is_gpu(one["name"]):
                    yield str(flavor["name"]), one


def owner_name(work: Work) -> str:
    """Name of the object that a workload stands for, as the object's creator knows it."""
    return str(made_by(work.body).get("name") or work.name)


def reason_of(work: Work) -> str:
    """Why a Workload has no quota, in Kueue's words; empty if Kueue has not reported a reason yet."""
    return str(condition(work.body, "QuotaReserved").get("message") or "")


def next_try(work: Work) -> str:
    """The time before which Kueue does not retry a Workload, as after a start that took too long; empty if none."""
    return str((status_of(work.body).get("requeueState") or NOTHING).get("requeueAt") or "")


def least_gpus(work: Work) -> Mapping[str, int]:
    """The GPUs of each resource that a workload needs to start: fewer than it requests, if fewer pods are enough."""
    return _asked(work.body, least=True)


def _asked(body: Mapping[str, Any], *, least: bool = False) -> Mapping[str, int]:
    total = Counter[str]()
    for pods in pod_sets_of(body):
        for name, count in asks_for(pods.spec).items():
            total[name] += count * (pods.least if least else pods.number)
    return total


def _admission(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a Workload was assigned; empty if it has no quota."""
    return status_of(body).get("admission") or NOTHING


def _got(admission: Mapping[str, Any]) -> tuple[Mapping[str, int], dict[str, str]]:
    total = Counter[str]()
    flavors: dict[str, str] = {}
    for part in admission.get("podSetAssignments") or ():
        for name, value in amounts(part.get("resourceUsage") or {}).items():
            if is_gpu(name):
                total[name] += int(value)
        flavors |= {name: flavor for name, flavor in (part.get("flavors") or {}).items() if is_gpu(name)}
    return total, flavors


def _order(body: Mapping[str, Any]) -> str:
    """The time that decides a Workload's place: its creation, or when it was put back because it did not start."""
    evicted = condition(body, "Evicted")
    if evicted.get("status") == "True" and evicted.get("reason") in ("PodsReadyTimeout", "AdmissionCheck"):
        return str(evicted.get("lastTransitionTime"))
    return str(body["metadata"].get("creationTimestamp") or "")


def _since(body: Mapping[str, Any]) -> str:
    """The time since which a Workload waits: its creation, its stage's turn, or the loss of its quota.

    Kueue creates a stage's Workload together with the run, and at the stage's turn no condition of the Workload
    changes. But the name of its queue changes, and the API server records when Kueue wrote that name.
    """
    evicted = condition(body, "Evicted")
    staged = any(STAGE in pods.labels for pods in pod_sets_of(body))
    return max(
        str(body["metadata"].get("creationTimestamp") or ""),
        written_at(body, "spec", "queueName") if staged else "",
        str(evicted.get("lastTransitionTime") or "") if evicted.get("status") == "True" else "",
    )


def quota_of(body: Mapping[str, Any]) -> int:
    """The GPUs for which a Workload has quota: none before it gets some, and none after its end."""
    lasts = is_true(body, "QuotaReserved") and not is_true(body, "Finished")
    return sum(_got(_admission(body))[0].values()) if lasts else 0


def _count(value: str | int | None) -> int:
    return int(amounts({"": value}).get("", Fraction(0))) if value is not None else 0
