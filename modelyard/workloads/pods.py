"""Computes the size of each pod from the stack's config."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from modelyard import quantity
from modelyard.hardware import products
from modelyard.hardware.rules.shared import gpu_of
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.merge.path import Path
from modelyard.kube.scheduling.pods import ONE_TEMPLATE, RAY_CLUSTERS, ray_pods
from modelyard.kube.state import ObjectKey
from modelyard.stack.config import Config, Target
from modelyard.workloads.training import BACKENDS, WORKER_ROLES, Backend

Nodes = Literal["any", "cpu", "gpu"]


class Workload(NamedTuple):
    """One workload of the platform, as this stack wants it. Sizes are those of one pod."""

    role: str
    """Also the section of the stack file with its sizes, if it has one."""
    deployment: str
    """Name of its object, whatever its kind."""
    container: str
    kind: str = "Deployment"
    group: str = ""
    """Name of the worker group in a RayCluster or RayService; empty for its head, and for other kinds."""
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

    def key(self, namespace: str) -> ObjectKey:
        """The key of its object in a namespace."""
        return ObjectKey(WORKLOAD_KINDS[self.kind], self.kind, namespace, self.deployment)

    @property
    def place(self) -> Path:
        """Where its object has its pods."""
        return ray_pods(self.kind, self.group) if self.kind in RAY_CLUSTERS else ONE_TEMPLATE


def workloads(config: Config) -> tuple[Workload, ...]:
    """Returns the workloads that the platform has, in the order of :func:`every_workload`."""
    return present(every_workload(config), config)


def present(every: Iterable[Workload], config: Config) -> tuple[Workload, ...]:
    """Returns those workloads that the platform has."""
    return tuple(one for one in every if one.role not in config.platform.without)


def by_object(sized: Iterable[Workload]) -> dict[str, tuple[Workload, ...]]:
    """Returns workloads by the name of their object, training workers first; KubeRay's have head and workers."""
    found: dict[str, list[Workload]] = {}
    for one in sized:
        found.setdefault(one.deployment, []).append(one)
    return {name: tuple(sorted(those, key=lambda one: one.role not in WORKER_ROLES)) for name, those in found.items()}


def every_workload(config: Config) -> tuple[Workload, ...]:
    """Returns all workloads in a fixed order: route, inference, then the training backends, heads first.

    Those that the platform does not have are among them, because a patch of the others may have facts of theirs.

    Memory of a GPU workload is the config's value times the GPUs of the pod, always from the config and never from the
    cluster, so that a second run does not multiply again.
    """
    service = config.model_service
    return (
        _workload("apiServer", config.targets.api_server),
        _workload(
            "modelService",
            config.targets.model_service,
            replicas=service.replicas,
            cpu=service.cpu,
            memory=service.memory,
            volume=service.volume,
            image=service.image,
            nodes="cpu",
        ),
        *(workload for backend in BACKENDS.values() for workload in _training(config, backend)),
    )


def _workload(role: str, target: Target, **sizes: Any) -> Workload:
    return Workload(
        role=role, deployment=target.name, container=target.container, kind=target.kind, group=target.group, **sizes
    )


def _training(config: Config, backend: Backend) -> Iterator[Workload]:
    if backend.head is not None:
        head = backend.head.sizes(config)
        yield _workload(
            backend.head.role,
            backend.head.target(config),
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
    yield _workload(
        backend.worker,
        backend.target(config),
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
