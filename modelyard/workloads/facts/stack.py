"""Facts of a stack: the table of all of them, and their values as one nested dictionary.

A patch's ``meta.yaml`` names facts by dotted path (``rayWorker.memory``), to fill its parameters and to say when it
applies. The paths are those of the stack file where it has the value, and each fact states its source there, so a
rendered value leads back to the line that set it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from modelyard.hardware.limits import RAY_PREVIEW
from modelyard.stack.config import (
    RAY_KINDS,
    ROLES,
    TARGET_KINDS,
    Allocation,
    AutoscalingMode,
    Config,
    Mode,
    Stack,
    StackPath,
)
from modelyard.stack.words import did_you_mean, listed
from modelyard.workloads.facts.fact import FLAG, Fact, OtherSource, flag, tree_of, values_of, written
from modelyard.workloads.facts.jobs import RESOURCES, resource_pods, sized_resources
from modelyard.workloads.facts.notebooks import NOTEBOOKS, notebook_parts
from modelyard.workloads.facts.pool import NODE_POOLS, PARTITIONS, POOL
from modelyard.workloads.facts.remote import REMOTE
from modelyard.workloads.pods import Workload
from modelyard.workloads.training import BACKENDS, WORKER_ROLES, Backend
from modelyard.workloads.training.backend import BackendQueries
from modelyard.workloads.training.ray import RAY

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized

Facts = Mapping[str, Any]


class Given(NamedTuple):
    """What the platform's own facts are computed from."""

    config: Config
    workloads: tuple[Workload, ...]
    name: str
    """Name of the stack."""
    context: str
    """Kubeconfig context of its cluster; empty if the stack names none."""
    queries: Mapping[str, BackendQueries]
    """Those of each training backend."""


def _queries(backend: Backend) -> tuple[Fact[Given], ...]:
    """Returns the facts about a training backend's queries."""

    def asked(given: Given) -> str:
        queries = given.queries[backend.name]
        return queries.vendor if given.config.autoscaling.queries == "vendor" else queries.valid

    return (
        Fact(
            f"autoscaling.{backend.name}Queries",
            asked,
            ("autoscaling", "queries"),
            meaning=f"Queries for the workers of {backend.title}, as the platform's autoscaler reads them.",
        ),
        Fact(
            f"autoscaling.{backend.name}Triggers",
            lambda given: [given.queries[backend.name].keda],
            ("autoscaling", "mode"),
            meaning=f"List of KEDA's queries for the workers of {backend.title}.",
        ),
    )


PLATFORM: Final[tuple[Fact[Given], ...]] = (
    written("training", lambda given: given.config.training, tuple(BACKENDS)),
    written("platform.release", lambda given: given.config.platform.release, str),
    written("platform.mode", lambda given: given.config.platform.mode, get_args(Mode)),
    written("platform.namespace", lambda given: given.config.platform.namespace),
    written("gpu.model", lambda given: given.config.gpu.model),
    written("gpu.perWorker", lambda given: given.config.gpu.per_worker),
    written("gpu.allocation", lambda given: given.config.gpu.allocation, get_args(Allocation)),
    # A task may choose multi_gpu whatever the default is, so the pod must support it.
    flag(
        "gpu.several",
        lambda given: given.config.gpu.per_worker >= 2,
        ("gpu", "perWorker"),
        "Whether a Ray worker pod has several GPUs.",
    ),
    Fact(
        "gpu.products",
        lambda given: next((list(one.products) for one in given.workloads if one.products), []),
        ("gpu", "model"),
        meaning="List of the values of the label nvidia.com/gpu.product on nodes with the GPU.",
    ),
    Fact(
        "ray.available",
        lambda given: RAY.available(given.config),
        ("platform", "release"),
        other_sources=(
            OtherSource(
                ("platform", "without"),
                lambda config: RAY.worker in config.platform.without,
                f"if that lists {RAY.worker}",
            ),
        ),
        meaning="Whether the platform has Ray.",
        values=FLAG,
    ),
    Fact(
        "ray.since",
        lambda _: "{}.{:02}".format(*RAY_PREVIEW),
        (),
        "the platform's releases decide it",
        meaning="The first release with Ray.",
        values=str,
    ),
    written("autoscaling.mode", lambda given: given.config.autoscaling.mode, get_args(AutoscalingMode)),
    written("autoscaling.maxReplicas", lambda given: given.config.autoscaling.max_replicas),
    *(fact for backend in BACKENDS.values() for fact in _queries(backend)),
    written("autoscaling.prometheus", lambda given: given.config.autoscaling.prometheus or ""),
    written("autoscaling.pollingInterval", lambda given: given.config.autoscaling.polling_interval),
    written("autoscaling.cooldownPeriod", lambda given: given.config.autoscaling.cooldown_period),
    written("autoscaling.scrapeInterval", lambda given: given.config.autoscaling.scrape_interval),
    flag(
        "targets.deployments",
        lambda given: all(one.kind == "Deployment" for one in given.workloads),
        ("targets",),
        "Whether all workloads are Deployments.",
    ),
    Fact("stack.name", lambda given: given.name, (), "the name of the stack file", meaning="Name of the stack."),
    Fact(
        "stack.context",
        lambda given: given.context,
        (),
        "kubernetes:context of the stack file sets it",
        meaning="Kubeconfig context of the stack's cluster; empty if the stack names none.",
    ),
)
"""The facts of the platform as a whole, and of the stack's cluster."""

_MEANINGS: Final[Mapping[str, str]] = {
    "deployment": "Name of the object, whatever its kind.",
    "kind": "Kind of the object.",
    "group": "Worker group in a RayCluster or RayService; empty for its head, and for other kinds.",
    "container": "Name of the container that patches change.",
    "replicas": "Number of pods; not set if an autoscaler or the platform sets it.",
    "cpu": "CPU of one pod.",
    "memory": "Memory of one pod, for all of its GPUs.",
    "gpus": "GPUs of one pod.",
    "volume": "Size of the local volume of one pod.",
    "gracePeriod": "Seconds that a pod may continue after it is asked to stop.",
    "image": "Image of the container, for mode managed.",
    "active": "Whether new training jobs go to this workload; true for workloads that do not train.",
    "maxReplicas": "Value of autoscaling.maxReplicas; 0 for an idle training backend.",
}
"""The meanings of the facts that every workload has."""
_SIZED = ("replicas", "cpu", "memory", "image")
_SET: Final[Mapping[str, tuple[str, ...]]] = {
    "apiServer": (),
    "modelService": (*_SIZED, "volume"),
    **{one.head.role: _SIZED for one in BACKENDS.values() if one.head is not None},
    **{one.worker: (*_SIZED, "gracePeriod") for one in BACKENDS.values()},
}
"""The facts of each workload that its section of the stack file has keys for."""
_GPUS: Final[Mapping[str, tuple[StackPath, str]]] = {
    one.worker: (one.gpus_set_by, "" if one.gpus_set_by else f"a {one.title} pod always has one GPU")
    for one in BACKENDS.values()
}
"""Where the GPUs of a training backend's pods come from, or why no line decides them."""


class _Sized(NamedTuple):
    """What the facts of one workload are computed from."""

    workload: Workload
    config: Config


def _is_idle(backend: Backend, config: Config) -> bool:
    return backend.name != config.training


def _is_of_kind(role: str, kind: str, config: Config) -> bool:
    return config.targets[ROLES.index(role)].kind == kind


def _of_config(value: Callable[[Config], Any]) -> Callable[[_Sized], Any]:
    return lambda given: value(given.config)


def _workload_table(role: str) -> tuple[Fact[_Sized], ...]:
    """Returns the facts of one workload."""
    trains = role in WORKER_ROLES
    switch: StackPath = ("training",) if trains else ()
    idle = tuple(
        OtherSource(switch, partial(_is_idle, one), "if the stack trains on the other backend")
        for one in BACKENDS.values()
        if one.worker == role
    )
    gpus, without_gpus = _GPUS.get(role, ((), "it has no GPU"))
    # A backend may decide its target itself.
    named = TARGET_KINDS.items() if role in ROLES else ()
    kinds = {key: kind for key, kind in named if role in RAY.roles or key not in RAY_KINDS}

    def fact(
        name: str,
        value: Callable[[_Sized], Any],
        source: StackPath = (),
        *,
        why: str = "",
        other_sources: tuple[OtherSource, ...] = (),
        values: tuple[Any, ...] | type = object,
    ) -> Fact[_Sized]:
        return Fact(
            f"{role}.{name}",
            value,
            source,
            why=why,
            other_sources=other_sources,
            meaning=_MEANINGS[name],
            values=values,
        )

    def own(name: str, value: Callable[[_Sized], Any], other_sources: tuple[OtherSource, ...] = ()) -> Fact[_Sized]:
        here = name in _SET[role]
        return fact(
            name,
            value,
            (role, name) if here else (),
            why="" if here else "the platform decides it",
            other_sources=other_sources,
        )

    more: tuple[Fact[Any], ...] = next((one.facts for one in BACKENDS.values() if one.worker == role), ())
    return (
        *(one._replace(value=_of_config(one.value)) for one in more),
        fact(
            "deployment",
            lambda given: given.workload.deployment,
            ("targets", role, "deployment"),
            other_sources=tuple(
                OtherSource(("targets", role, key), partial(_is_of_kind, role, kind), f"for a {kind}")
                for key, kind in kinds.items()
                if key != "deployment"
            ),
        ),
        fact("kind", lambda given: given.workload.kind, ("targets", role), values=tuple(kinds.values()) or object),
        fact("group", lambda given: given.workload.group, ("targets", role)),
        fact("container", lambda given: given.workload.container, ("targets", role, "container")),
        own("replicas", lambda given: given.workload.replicas, idle),
        own("cpu", lambda given: given.workload.cpu),
        own("memory", lambda given: given.workload.memory),
        fact("gpus", lambda given: given.workload.gpus, gpus, why=without_gpus),
        own("volume", lambda given: given.workload.volume),
        own("gracePeriod", lambda given: given.workload.grace_period),
        own("image", lambda given: given.workload.image),
        fact(
            "active",
            lambda given: given.workload.active,
            switch,
            why="" if trains else "it is always active",
            values=FLAG,
        ),
        fact(
            "maxReplicas",
            lambda given: given.config.autoscaling.max_replicas if given.workload.active else 0,
            ("autoscaling", "maxReplicas"),
            other_sources=idle,
        ),
    )


WORKLOADS: Final[Mapping[str, tuple[Fact[_Sized], ...]]] = {role: _workload_table(role) for role in _SET}
"""The facts of each workload of the platform, by its role."""
_TABLES: Final[tuple[tuple[Fact[Any], ...], ...]] = (
    *(PLATFORM, POOL, NODE_POOLS, PARTITIONS, RESOURCES, NOTEBOOKS),
    *WORKLOADS.values(),
)
FACTS: Final[Mapping[str, Fact[Any]]] = {fact.path: fact for table in _TABLES for fact in table}
"""Every fact of a stack, by its path."""
_PLATFORM: Final = tree_of(PLATFORM)
_CONFIG: Final = tree_of((*POOL, *NODE_POOLS, *PARTITIONS))
_RESOURCES: Final = tree_of(RESOURCES)
_NOTEBOOKS: Final = tree_of(NOTEBOOKS)
_WORKLOADS: Final = {role: tree_of(table) for role, table in WORKLOADS.items()}
_EVERYWHERE: Final = {**FACTS, **{fact.path: fact for fact in REMOTE}}


def stack_facts(stack: Stack, workloads: tuple[Workload, ...], everything: "Sequence[Sized] | None" = None) -> Facts:
    """Returns all facts of a stack, as plain JSON-like values.

    Args:
        stack: the stack; its config, name and context count.
        workloads: the platform's workloads.
        everything: the resources, as ``sized_resources`` returns them, if you have them already.
    """
    config = stack.config
    queries = {backend.name: backend.queries_of(config) for backend in BACKENDS.values()}
    known = {
        **values_of(_PLATFORM, Given(config, workloads, stack.name, stack.context or "", queries)),
        **values_of(_CONFIG, config),
        **values_of(_RESOURCES, resource_pods(config, sized_resources(config) if everything is None else everything)),
        **values_of(_NOTEBOOKS, notebook_parts(config)),
    }
    for workload in workloads:
        known |= values_of(_WORKLOADS[workload.role], _Sized(workload, config))
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


_KINDS: Mapping[type, str] = {
    bool: "write true or false, without quotes",
    int: "write a whole number, without quotes",
    str: "write text, in quotes",
    list: "use another fact: this one is a list",
    dict: "use one of the facts whose paths begin with it",
}
"""What to write instead of a value of another type than the fact, by the fact's type."""


def instead_of(path: str, value: Any, other: Any = None) -> str:
    """Returns what to write instead of a value that the fact at a dotted path never has; empty if it can have it.

    ``other`` is the fact's value in some stack: it has the type of a fact that does not state its values.
    """
    fact = _EVERYWHERE.get(path)
    if fact is not None and not fact.can_be(value):
        if isinstance(fact.values, type):
            return _KINDS[fact.values]
        if fact.values == FLAG:
            return _KINDS[bool]
        return did_you_mean(str(value), fact.values) or f"write {listed(fact.values, 'or')}"
    return _KINDS.get(type(other), "") if type(value) in _KINDS and type(value) is not type(other) else ""


def source_of(path: str, config: Config) -> StackPath:
    """Returns the path in the stack file from which the fact at a dotted path comes, in a stack with this config.

    Several facts together, such as ``autoscaling``, come from the section of that name. Facts of a submission are in no
    table, and no stack file has their paths.
    """
    fact = _EVERYWHERE.get(path)
    return tuple(path.split(".")) if fact is None else fact.source_in(config)
