"""Computes the size of each pod from the stack's config."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from modelyard import quantity
from modelyard.hardware import products
from modelyard.hardware.rules.shared import gpu_of
from modelyard.stack.config import Config
from modelyard.workloads.training import BACKENDS, Backend

Nodes = Literal["any", "cpu", "gpu"]


ROLES: tuple[str, ...] = ("apiServer", "modelService", *(role for one in BACKENDS.values() for role in one.roles))
"""The platform's workloads by what they do."""


class Workload(NamedTuple):
    """One Deployment of the platform, as this stack wants it. Sizes are those of one pod."""

    role: str
    """Also the section of the stack file with its sizes, if it has one."""
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


def workloads(config: Config) -> tuple[Workload, ...]:
    """Returns the stack's workloads in a fixed order: route, inference, then the training backends, heads first.

    Memory of a GPU workload is the config's value times the GPUs of the pod, always from the config and never from the
    cluster, so that a second run does not multiply again.
    """
    service = config.model_service
    return (
        Workload("apiServer", *config.targets.api_server),
        Workload(
            "modelService",
            *config.targets.model_service,
            replicas=service.replicas,
            cpu=service.cpu,
            memory=service.memory,
            volume=service.volume,
            image=service.image,
            nodes="cpu",
        ),
        *(workload for backend in BACKENDS.values() for workload in _training(config, backend)),
    )


def _training(config: Config, backend: Backend) -> Iterator[Workload]:
    if backend.head is not None:
        head = backend.head.sizes(config)
        yield Workload(
            backend.head.role,
            *backend.head.target(config),
            replicas=head.replicas,
            cpu=head.cpu,
            memory=head.memory,
            image=head.image,
            nodes="cpu",
        )
    gpu, sizes, gpus = gpu_of(config), backend.sizes(config), backend.gpus(config)
    seen = config.gpu.seen.labels if config.gpu.seen is not None else ()
    active = backend.name == config.training
    scaled = config.autoscaling.mode != "none"
    yield Workload(
        backend.worker,
        *backend.target(config),
        replicas=None if scaled else sizes.replicas if active else 0,
        cpu=sizes.cpu,
        memory=quantity.times(sizes.memory, gpus),
        gpus=gpus,
        grace_period=sizes.grace_period,
        image=sizes.image,
        nodes="gpu",
        products=products(gpu) if gpu is not None else seen,
        active=active,
    )
