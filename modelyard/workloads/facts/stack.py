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
from modelyard.workloads.pods import Workload, ray_available

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized

Facts = Mapping[str, Any]

VENDOR_QUERIES = {
    "ray": 'max_over_time(clamp_min(sum(ray_tasks{State!~"FINISHED|FAILED"}[15s]), 0)[30m]) or vector(0)',
    "celery": (
        'max_over_time(rabbitmq_queue_messages_unacked{queue="%(queue)s"}[30m])'
        '&max_over_time(rabbitmq_queue_messages_ready{queue="%(queue)s"}[30m])'
    ),
}
"""Queries as the platform's documentation prints them. Neither is valid PromQL: see finding AUT001."""

VALID_QUERIES = {
    "ray": 'max_over_time(clamp_min(sum(ray_tasks{State!~"FINISHED|FAILED"}), 0)[30m:15s]) or vector(0)',
    "celery": (
        '(sum(max_over_time(rabbitmq_queue_messages_ready{queue="%(queue)s"}[30m])) or vector(0))'
        ' + (sum(max_over_time(rabbitmq_queue_messages_unacked{queue="%(queue)s"}[30m])) or vector(0))'
    ),
}
"""Both queries as valid PromQL expressions that each give one number, even if no series exists."""

KEDA_QUERIES = {
    "ray": VALID_QUERIES["ray"],
    "celery": (
        'max_over_time(((sum(rabbitmq_queue_messages_ready{queue="%(queue)s"}) or vector(0))'
        ' + (sum(rabbitmq_queue_messages_unacked{queue="%(queue)s"}) or vector(0)))[30m:15s])'
    ),
}
"""Both queries for an autoscaler that starts as many pods as the number says: a message that is taken from the queue
within the window counts once, not as both waiting and in progress."""


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
    queries = VENDOR_QUERIES if config.autoscaling.queries == "vendor" else VALID_QUERIES
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
        "ray": {"available": ray_available(config), "since": "{}.{:02}".format(*RAY_PREVIEW)},
        "autoscaling": {
            "mode": config.autoscaling.mode,
            "rayQueries": queries["ray"],
            "celeryQueries": queries["celery"] % {"queue": config.celery.queue},
            "maxReplicas": config.autoscaling.max_replicas,
            "rayTriggers": [KEDA_QUERIES["ray"]],
            "celeryTriggers": [KEDA_QUERIES["celery"] % {"queue": config.celery.queue}],
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
