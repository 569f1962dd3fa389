"""Computes the size of each pod from the stack's config."""

from typing import Literal, NamedTuple

from modelyard import quantity
from modelyard.hardware import Card, products, resolve
from modelyard.hardware.limits import CELERY_GPUS, RAY_PREVIEW
from modelyard.stack.config import Config, Target

Role = Literal["apiServer", "modelService", "rayHead", "rayWorker", "celery"]
Nodes = Literal["any", "cpu", "gpu"]

GPU_ROLES: tuple[Role, ...] = ("rayWorker", "celery")
"""The two training backends; one is active."""


class Workload(NamedTuple):
    """One Deployment of the platform, as this stack wants it. Sizes are those of one pod."""

    role: Role
    deployment: str
    container: str
    replicas: int | None = None
    """None if an autoscaler or the platform sets the number."""
    cpu: str | None = None
    memory: str | None = None
    gpus: int = 0
    volume: str | None = None
    grace_period: int | None = None
    """Seconds."""
    image: str | None = None
    nodes: Nodes = "any"
    products: tuple[str, ...] = ()
    """Values of the nodes' ``nvidia.com/gpu.product`` label that may hold the pod; empty for CPU workloads."""
    active: bool = True
    """Whether new training jobs go here; always true for workloads that do not train."""


def ray_available(config: Config) -> bool:
    """Whether the platform's release supports Ray training."""
    year, month = config.platform.release.split(".")
    return (int(year), int(month)) >= RAY_PREVIEW


def workloads(config: Config) -> tuple[Workload, ...]:
    """Returns the stack's workloads in a fixed order: route, inference, then both training backends.

    Memory of a GPU workload is the config's value times the GPUs of the pod, always from the config and never from the
    cluster, so that a second run does not multiply again.
    """
    names = config.targets
    card = resolve(config.gpu.model)
    labels = products(card) if isinstance(card, Card) else ()

    def training(role: Literal["rayWorker", "celery"], target: Target, active: bool) -> Workload:
        size, gpus = (config.ray_worker, config.gpu.per_worker) if role == "rayWorker" else (config.celery, CELERY_GPUS)
        scaled = config.autoscaling.mode != "none"
        return Workload(
            role,
            *target,
            replicas=None if scaled else size.replicas if active else 0,
            cpu=size.cpu,
            memory=quantity.times(size.memory, gpus),
            gpus=gpus,
            grace_period=size.grace_period,
            image=size.image,
            nodes="gpu",
            products=labels,
            active=active,
        )

    service, head = config.model_service, config.ray_head
    return (
        Workload("apiServer", *names.api_server),
        Workload(
            "modelService",
            *names.model_service,
            replicas=service.replicas,
            cpu=service.cpu,
            memory=service.memory,
            volume=service.volume,
            image=service.image,
            nodes="cpu",
        ),
        Workload(
            "rayHead",
            *names.ray_head,
            replicas=head.replicas,
            cpu=head.cpu,
            memory=head.memory,
            image=head.image,
            nodes="cpu",
        ),
        training("rayWorker", names.ray_worker, config.training == "ray"),
        training("celery", names.celery, config.training == "celery"),
    )
