"""What a stack asks for, before any patch or cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from modelyard import quantity
from modelyard.catalog import Selected
from modelyard.catalog.select import hidden_params
from modelyard.hardware import GpuModel, resolve, verdict
from modelyard.hardware.rules.gpu import training_use
from modelyard.hiding import hidden_at
from modelyard.kube.scheduling.pods import pods_words
from modelyard.names import GPU_RESOURCE
from modelyard.report.json import record
from modelyard.report.size import memory_text
from modelyard.report.style import PLAIN, Style, facts_text, table
from modelyard.stack import Config, Stack
from modelyard.stack.environments import Environment, Files
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.pool import Partition, TeamQuota
from modelyard.stack.remote import RemoteQuota
from modelyard.stack.shape import plain
from modelyard.stack.words import listed, plural
from modelyard.workloads import Workload
from modelyard.workloads.facts.notebooks import namespace_of_server
from modelyard.workloads.facts.pool import namespace_of, node_labels
from modelyard.workloads.facts.remote import ReachedCluster, quota_of, remote_clusters
from modelyard.workloads.sizing import Sized, sizes_by_job
from modelyard.workloads.sizing import sized as resources
from modelyard.workloads.training import active, training_words


def stack_text(stack: Stack, sized: Iterable[Workload], chosen: Iterable[Selected], style: Style = PLAIN) -> list[str]:
    """GPU, workloads and patches of a stack, then its pool and its jobs if it has any."""
    config = stack.config
    facts = (
        ("GPU", _gpu(stack)),
        ("allocation", _allocation(config)),
        ("platform", f"mode {config.platform.mode}, namespace {config.platform.namespace}"),
        ("labels", _pairs(config.labels)),
    )
    patches = ", ".join(one.patch.id for one in chosen) or "none"
    rows = [
        (
            pods_words(workload.deployment, workload.place),
            _replicas(workload),
            workload.cpu or "-",
            workload.memory or "-",
            str(workload.gpus) if workload.gpus else "-",
            workload.volume or "-",
        )
        for workload in sized
    ]
    return [
        style.bold(f"{stack.name}  {training_words(config)}, release {config.platform.release}"),
        "",
        *facts_text(facts, 14, style),
        "",
        *table(rows, ("WORKLOAD", "REPLICAS", "CPU", "MEMORY", "GPUS", "VOLUME"), style, indent=2),
        "",
        *facts_text([("patches", patches)], 14, style),
        *asked_text(config, resources(config), style),
    ]


def stack_document(stack: Stack, sized: Iterable[Workload], chosen: Iterable[Selected]) -> dict[str, Any]:
    """The stack as JSON, with the GPU as the stack file states it."""
    gpu = {key: value for key, value in record(stack.config.gpu).items() if key != "seen"}
    return {
        "formatVersion": 1,
        "stack": stack.name,
        "file": stack.file,
        "labels": dict(stack.config.labels),
        "training": stack.config.training,
        "gpu": {**gpu, "serves": list(active(stack.config).allocations(stack.config))},
        "workloads": [{**record(workload), "products": list(workload.products)} for workload in sized],
        **asked_document(stack.config, resources(stack.config)),
        "patches": [{"id": one.patch.id, "params": hidden_params(one)} for one in chosen],
    }


def _gpu(stack: Stack) -> str:
    config = stack.config
    gpu = resolve(config.gpu.model)
    if not isinstance(gpu, GpuModel):
        return f"{config.gpu.model} (not in the table)"
    found = verdict(gpu, training_use(config))
    backend = active(config)
    return f"{backend.gpus(config)} × {gpu.name} per {backend.unit}: {found.reason}"


def _allocation(config: Config) -> str:
    """How training tasks get GPUs, and the other modes that a task may choose."""
    others = [mode for mode in active(config).allocations(config) if mode != config.gpu.allocation]
    return config.gpu.allocation + (f"; a task may also choose {listed(others, 'or')}" if others else "")


def _replicas(workload: Workload) -> str:
    if workload.replicas is not None:
        return str(workload.replicas)
    return "unchanged" if workload.role == "apiServer" else "autoscaled"


# What a stack asks for in addition to the platform's workloads: its pool, its jobs and what they run in and on.
_OF_A_RESOURCE: Final = ("quota", "readSecret", "writeSecret")
"""Keys of a remote cluster that each resource on it repeats."""
_Table = tuple[tuple[str, ...], Iterable[tuple[str, ...]]]


def asked_text(config: Config, sizes: Sequence[Sized], style: Style = PLAIN) -> list[str]:
    """A table for each section that a stack has, with an empty line before each.

    Args:
        config: the stack's configuration.
        sizes: its resources, from ``sizing.sized``.
        style: colours and width.
    """
    lines = []
    for head, rows in _tables(config, sizes):
        if made := list(rows):
            lines += ["", *table(made, head, style, indent=2)]
    return lines


def asked_document(config: Config, sizes: Sequence[Sized]) -> dict[str, Any]:
    """The sections as JSON: lists of named things with the keys of the stack file, defaults included."""
    sized = {one.resource.name: one for one in sizes if not one.own}
    servers = config.notebooks.servers
    return {
        "nodePools": [*map(_entry, config.node_pools)],
        "flavors": [*map(_entry, config.flavors)],
        "partitions": [*map(_entry, config.partitions)],
        "workerClusters": [*map(_entry, config.worker_clusters)],
        "teams": [{**_entry(one), "namespace": namespace_of(one)} for one in config.teams],
        "priorities": [*map(_entry, config.priorities)],
        "providers": [*map(_entry, config.providers)],
        "buckets": [*map(_entry, config.buckets)],
        "remoteClusters": [
            {
                "name": one.name,
                **{key: entry for key, entry in _entry(one.cluster).items() if key not in _OF_A_RESOURCE},
                "resources": [resource.name for resource in one.resources],
                "quotas": [
                    {"resource": resource.name, **plain(quota)}
                    for resource in one.resources
                    if (quota := quota_of(resource)) is not None
                ],
            }
            for one in remote_clusters(config)
        ],
        "environments": [{**_entry(one._replace(files=None)), "locked": _locked(one)} for one in config.environments],
        "notebookServers": [
            {**_entry(one), "namespace": namespace_of_server(config, one)} for one in (servers.users if servers else ())
        ],
        "resources": [
            {**_entry(one), "size": _size(sized[one.name]) if one.name in sized else None} for one in config.resources
        ],
        "jobs": [*map(_entry, config.jobs)],
        "pipelines": [*map(_entry, config.pipelines)],
    }


def _entry(value: Any) -> dict[str, Any]:
    """A part of a stack file as its keys."""
    entry: dict[str, Any] = _secretless("", plain(value))
    return entry


def _secretless(name: str, value: Any) -> Any:
    """A value without what looks like a secret; the name of a Secret is none."""
    if isinstance(value, dict):
        return {key: _secretless(key, part) for key, part in value.items()}
    return value if name.endswith(("Secret", "secret")) else hidden_at(name, value)


def _locked(environment: Environment) -> int | None:
    """Packages of the lock; None without a matching lock."""
    files = environment.files or Files()
    return len(files.lock.packages) if files.lock is not None and files.digest else None


def _size(one: Sized) -> dict[str, Any]:
    return {
        "workers": one.size.workers,
        "cpu": quantity.cpu(one.size.cpu),
        "memory": memory_text(one.size.memory),
        "gpus": one.size.gpus,
        "gpuResource": one.part.resource if one.part is not None else GPU_RESOURCE,
    }


def _tables(config: Config, sizes: Sequence[Sized]) -> Iterator[_Table]:
    """Head and rows of each section, the pool first, then what runs in it."""
    clusters, servers = remote_clusters(config), config.notebooks.servers
    places = {resource.name: one.name for one in clusters for resource in one.resources}
    on = {job: one.resource for job, one in sizes_by_job(sizes).items()}
    yield (
        ("NODE POOL", "GPU", "GPUS", "CAPACITY", "NODE CLASS"),
        ((one.name, one.gpu, f"0–{one.gpus}", one.capacity, one.node_class) for one in config.node_pools),
    )
    yield (
        ("FLAVOR", "GPU", "NODE LABELS"),
        ((one.name, one.gpu or "-", _pairs(node_labels(one)) or "-") for one in config.flavors),
    )
    yield (
        ("PARTITION", "GPU", "MODE", "OF ONE GPU"),
        ((one.name, one.gpu or one.flavor or config.gpu.model, one.mode, _parts(one)) for one in config.partitions),
    )
    yield (
        ("TEAM", "NAMESPACE", "COHORT", "CLUSTERS", "QUOTAS"),
        (
            (one.name, namespace_of(one), one.cohort or "-", _names(one.clusters), "; ".join(map(_quota, one.quotas)))
            for one in config.teams
        ),
    )
    yield ("PRIORITY", "VALUE"), ((one.name, str(one.value)) for one in config.priorities)
    yield (
        ("WORKER CLUSTER", "KUBECONFIG IN SECRET", "CONTEXT"),
        ((one.name, one.secret, one.context or "-") for one in config.worker_clusters),
    )
    yield ("PROVIDER", "KIND", "LAUNCHED BY"), ((one.name, one.kind, one.launched_by) for one in config.providers)
    yield ("BUCKET", "URL", "REACHED BY"), ((one.name, one.url, _names(one.reached_by)) for one in config.buckets)
    yield ("REMOTE CLUSTER", "NAMESPACE", "CONTEXT", "QUOTAS", "RESOURCES"), map(_remote, clusters)
    yield (
        ("ENVIRONMENT", "PYTHON", "IMAGE", "LOCKED"),
        (
            (one.name, one.python, one.image or config.runtime.image or "-", _lock_words(one))
            for one in config.environments
        ),
    )
    yield (
        ("NOTEBOOK SERVER", "NAMESPACE", "CPU", "MEMORY"),
        (
            ((one.name, namespace_of_server(config, one) or "-", servers.cpu, servers.memory) for one in servers.users)
            if servers is not None
            else ()
        ),
    )
    yield (
        ("RESOURCE", "TYPE", "PODS", "CPU", "MEMORY", "GPUS", "TEAM", "WHERE"),
        (_resource(one, places) for one in sizes if not one.own),
    )
    yield (
        ("JOB", "TYPE", "RESOURCE", "TEAM", "RUNS"),
        (
            (job.name, job.type, job.resource or "its own", _team(job, resource), _runs(job, resource))
            for job in config.jobs
            for resource in (on.get(id(job)),)
        ),
    )
    yield (
        ("PIPELINE", "STAGES"),
        ((one.name, ", ".join(stage.name for stage in one.stages)) for one in config.pipelines),
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "-"


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _parts(one: Partition) -> str:
    if one.layout:
        return ", ".join(f"{number} × {profile}" for profile, number in one.layout.items())
    return plural(one.replicas or 1, "pod")


def _quota(one: TeamQuota) -> str:
    gpus = plural(one.gpus, "GPU") if one.resource == GPU_RESOURCE else f"{one.gpus} × {one.resource}"
    limits = [f"{word} {most}" for word, most in (("borrow", one.borrow), ("lend", one.lend)) if most is not None]
    sizes = [f"{one.cpu} CPU", one.memory or "-"] if one.cpu is not None else []
    return f"{one.flavor}: {', '.join((gpus, *sizes, *limits))}"


def _remote(one: ReachedCluster) -> tuple[str, ...]:
    quotas = [_at_once(quota_of(each)) for each in one.resources]
    return (
        one.name,
        one.cluster.namespace,
        one.cluster.context or "-",
        "; ".join(quotas),
        _names(each.name for each in one.resources),
    )


def _at_once(quota: RemoteQuota | None) -> str:
    """What the jobs of one resource may use in the remote cluster at once."""
    return f"{plural(quota.gpus, 'GPU')}, {quota.cpu} CPU, {quota.memory}" if quota is not None else "no limit"


def _lock_words(environment: Environment) -> str:
    packages = _locked(environment)
    return "no" if packages is None else plural(packages, "package")


def _resource(one: Sized, clusters: Mapping[str, str]) -> tuple[str, ...]:
    resource, size = one.resource, one.size
    gpus = f"{size.gpus} × {one.part.resource}" if one.part is not None else str(size.gpus or "-")
    pods = str(size.workers) if resource.scale is None else f"{size.workers}–{resource.scale.most}"
    sizes = quantity.cpu(size.cpu), memory_text(size.memory)
    return resource.name, resource.type, pods, *sizes, gpus, resource.team or "-", _where(resource, clusters)


def _where(resource: Resource, clusters: Mapping[str, str]) -> str:
    if resource.remote is None:
        return "home cluster"
    if resource.remote.cluster is None:
        return f"provider {resource.remote.provider}"
    return f"remote cluster {clusters[resource.name]}"


def _team(job: Job, resource: Resource | None) -> str:
    return job.team or (resource.team if resource is not None else None) or "-"


def _runs(job: Job, resource: Resource | None) -> str:
    """What starts the job: its command on each submission, or the pods or the machine of its resource."""
    remote = resource.remote if resource is not None else None
    rented = remote is not None and remote.cluster is None
    command = remote.command if remote is not None and rented else job.command
    if command:
        return " ".join(hidden_at("command", list(command)))
    if rented:
        return "on a separate machine"
    return "in the pods of its resource" if remote is None else "never: jobs in a remote cluster need a command"
