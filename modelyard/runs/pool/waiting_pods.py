"""The pods that wait for whole GPUs: the scheduler finds no node for them, or Kueue has no quota for them yet."""

from collections.abc import Iterator, Mapping
from typing import Any

from modelyard.cluster.pool_objects import PoolObjects
from modelyard.hiding import Confidential
from modelyard.kube.state import Waiting
from modelyard.names import GPU_RESOURCE
from modelyard.runs.pool.kueue import Queues, Work, owner_name
from modelyard.runs.pool.objects import NOTHING, asks_for, condition, made_by, workload_name
from modelyard.stack.config import Config


def waiting_pods(objects: PoolObjects, config: Config) -> tuple[Waiting, ...] | None:
    """The pods that wait for whole GPUs, of any owner; None if these credentials may not read them.

    A suspended run has no pods: its Workload stands for them, on the nodes of each flavor of its queue.
    """
    if objects.unread:
        return None
    pods = {(pod["metadata"]["namespace"], pod["metadata"]["name"]): pod for pod in objects.pods}
    queues = Queues(objects, config)
    return (
        *(
            Waiting(name, namespace, workload_name(pod), _placed(pod["spec"]))
            for (namespace, name), pod in pods.items()
            if condition(pod, "PodScheduled").get("reason") == "Unschedulable" and GPU_RESOURCE in asks_for(pod["spec"])
        ),
        *(one for work in queues.works if not (work.reserved or work.over) for one in _queued(work, queues, pods)),
    )


def _queued(work: Work, queues: Queues, pods: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[Waiting]:
    """One pod of each pod set of a Workload for each flavor of its queue; none if the queue admits nothing."""
    if work.queue is None or queues.stopped(work.queue):
        return
    maker = pods.get((work.namespace, owner_name(work))) if made_by(work.body).get("kind") == "Pod" else None
    owner = workload_name(maker) if maker is not None else owner_name(work)
    for pods_wanted in work.pod_sets:
        if GPU_RESOURCE not in asks_for(pods_wanted.spec):
            continue
        for quota in queues.quotas(work.queue):
            if quota.resource == GPU_RESOURCE:
                spec = _placed(queues.on_flavor(pods_wanted.spec, quota.flavor))
                yield Waiting(owner_name(work), work.namespace, owner, spec)


def _placed(spec: Mapping[str, Any]) -> Confidential[Mapping[str, Any]]:
    """The parts of a pod's spec that decide on which nodes it fits."""
    parts = ("nodeSelector", "tolerations", "overhead")
    affinity = (spec.get("affinity") or NOTHING).get("nodeAffinity")
    containers = {
        name: [{key: one[key] for key in ("name", "resources", "restartPolicy") if key in one} for one in spec[name]]
        for name in ("containers", "initContainers")
        if spec.get(name)
    }
    placed = {name: spec[name] for name in parts if spec.get(name)}
    return Confidential(placed | containers | ({"affinity": {"nodeAffinity": affinity}} if affinity else {}))
