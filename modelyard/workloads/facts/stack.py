"""Facts of a stack: one nested dictionary in the stack file's own spelling.

A patch's ``meta.yaml`` names facts by dotted path (``rayWorker.memory``), to fill its parameters and to say when it
applies. The paths are those of the stack file, so a rendered value leads back to the line that set it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from modelyard.hardware.limits import RAY_PREVIEW
from modelyard.stack.config import Config, Path, Stack
from modelyard.workloads.facts.jobs import resource_facts, sized_resources
from modelyard.workloads.facts.nodepools import node_pool_facts
from modelyard.workloads.facts.notebooks import notebook_facts
from modelyard.workloads.facts.partitions import partition_facts
from modelyard.workloads.facts.pool import pool_facts
from modelyard.workloads.pods import Workload
from modelyard.workloads.training import BACKENDS
from modelyard.workloads.training.ray import RAY

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized

Facts = Mapping[str, Any]


def stack_facts(stack: Stack, workloads: tuple[Workload, ...], everything: "Sequence[Sized] | None" = None) -> Facts:
    """Returns all facts of a stack: its config, its name, and its name for its cluster.

    The arguments are those of :func:`facts`.
    """
    return {**facts(stack.config, workloads, everything), "stack": {"name": stack.name, "context": stack.context or ""}}


def facts(config: Config, workloads: tuple[Workload, ...], everything: "Sequence[Sized] | None" = None) -> Facts:
    """Returns all facts of a config, as plain JSON-like values.

    Args:
        config: a stack's config.
        workloads: the platform's workloads.
        everything: the resources, as ``sized_resources`` returns them, if you have them already.
    """
    vendor = config.autoscaling.queries == "vendor"
    queries = {backend.name: backend.queries_of(config) for backend in BACKENDS.values()}
    known: dict[str, Any] = {
        "training": config.training,
        "platform": {
            "release": config.platform.release,
            "mode": config.platform.mode,
            "namespace": config.platform.namespace,
        },
        "gpu": {
            "model": config.gpu.model,
            "perWorker": config.gpu.per_worker,
            "allocation": config.gpu.allocation,
            # A task may choose multi_gpu whatever the default is, so the pod must support it.
            "several": config.gpu.per_worker >= 2,
            "products": [],
        },
        "ray": {"available": RAY.available(config), "since": "{}.{:02}".format(*RAY_PREVIEW)},
        "autoscaling": {
            "mode": config.autoscaling.mode,
            **{f"{name}Queries": asked.vendor if vendor else asked.valid for name, asked in queries.items()},
            **{f"{name}Triggers": [asked.keda] for name, asked in queries.items()},
            "maxReplicas": config.autoscaling.max_replicas,
            "prometheus": config.autoscaling.prometheus or "",
            "pollingInterval": config.autoscaling.polling_interval,
            "cooldownPeriod": config.autoscaling.cooldown_period,
        },
        **pool_facts(config),
        **node_pool_facts(config),
        **partition_facts(config),
        **resource_facts(config, sized_resources(config) if everything is None else everything),
        **notebook_facts(config),
    }
    for workload in workloads:
        known[workload.role] = {
            "deployment": workload.deployment,
            "container": workload.container,
            "replicas": workload.replicas,
            "cpu": workload.cpu,
            "memory": workload.memory,
            "gpus": workload.gpus,
            "volume": workload.volume,
            "gracePeriod": workload.grace_period,
            "image": workload.image,
            "active": workload.active,
            "maxReplicas": config.autoscaling.max_replicas if workload.active else 0,
        }
        if workload.products:
            known["gpu"]["products"] = list(workload.products)
    return known


def fact_at(known: Facts, path: str) -> Any:
    """Returns the fact at a dotted path.

    Raises:
        KeyError: the fact does not exist; the message is the path.
    """
    value: Any = known
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise KeyError(path)
        value = value[part]
    return value


_SOURCES: dict[str, Path] = {
    "active": ("training",),
    "gpus": ("gpu", "perWorker"),
    "several": ("gpu", "perWorker"),
    "products": ("gpu", "model"),
    "rayQueries": ("autoscaling", "queries"),
    "celeryQueries": ("autoscaling", "queries"),
    "rayTriggers": ("autoscaling", "mode"),
    "celeryTriggers": ("autoscaling", "mode"),
    "maxReplicas": ("autoscaling", "maxReplicas"),
    "pods": ("resources",),
    "pools": ("nodePools",),
    "spaces": ("notebooks", "servers", "users"),
}


def source_of(path: str, known: Facts) -> Path:
    """Returns the path in the stack file from which the fact at a dotted path comes."""
    head, _, last = path.rpartition(".")
    if last in ("deployment", "container"):
        return ("targets", head, last)
    if last in ("replicas", "maxReplicas") and head in known and known[head].get("active") is False:
        # The training flag sets the idle backend to zero.
        return ("training",)
    if path == "celery.gpus":
        return ()  # always one: no line of the stack file sets it
    if head == "stack":
        return ()  # from the file's name, and from a key of the engine
    return _SOURCES.get(last) or tuple(path.split("."))
