"""Facts of jobs and of the resources that they run on."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from shlex import join
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from modelyard import quantity
from modelyard.hardware import products, resolve
from modelyard.hardware.rules.shared import gpu_of
from modelyard.stack.config import Config
from modelyard.stack.jobs import Job, Resource
from modelyard.workloads.facts.environments import image_with, run_environment
from modelyard.workloads.facts.fact import Fact, flag
from modelyard.workloads.facts.pool import gpu_facts, is_dispatched, namespace_of, takes_any_place
from modelyard.workloads.facts.spark import driver_of, spark_facts

CPU_PERCENT = 70
"""CPU utilization at which pods scale up; it leaves enough room until the new pods are ready."""

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized

RAY_HEAD: Final[Mapping[str, str]] = {"cpu": "2", "memory": "16Gi"}
"""Size of the head of a job's own Ray cluster, which runs no task: a convention of modelyard."""


def sized_resources(config: Config) -> "tuple[Sized, ...]":
    """Returns the result of ``sizing.sized``. Estimates of thousands of jobs are slow, so pass the result on."""
    if not (config.jobs or config.resources):
        return ()  # Most stacks have no jobs, and importing the formulas is slow.
    from modelyard.workloads.sizing import sized

    return sized(config)


def resource_pods(config: Config, everything: "Sequence[Sized]") -> list[dict[str, Any]]:
    """Returns the pods of the resources that have an image and work to do, as plain JSON-like values."""
    deployed = [_pods(config, one) for one in everything if is_deployed(config, one)]
    return [{**pods, "anyPlace": _takes_any_place(config, pods["queue"], pods)} for pods in deployed]


RESOURCES: Final[tuple[Fact[list[dict[str, Any]]], ...]] = (
    flag("resources.deployed", bool, ("resources",), "Whether any resource has pods for jobs without a command."),
    Fact(
        "resources.pods",
        list,
        ("resources",),
        meaning="List of the resources with pods for jobs without a command: their images, sizes, queues and "
        "namespaces.",
    ),
)
"""The facts of resources, computed from their pods (``resource_pods``)."""


def job_facts(config: Config, job: Job, sizing: "Sized", name: str, stack: str) -> dict[str, Any]:
    """Returns a run of a job as plain JSON-like values.

    Args:
        config: the stack's config.
        job: one of its jobs, with a command.
        sizing: the job's resource, sized.
        name: name of the run, unique in the job's namespace.
        stack: name of the stack.
    """
    pods = _pods(config, sizing)
    team = job.team or sizing.resource.team
    environment = job.environment or sizing.resource.environment
    run = {
        **{key: pods[key] for key in ("cpu", "memory", "gpus", "gpuResource", "nodes", "products")},
        "name": name,
        "job": job.name,
        "stack": stack,
        "namespace": namespace_of_job(config, job, sizing.resource),
        "queue": team,
        "dispatched": sizing.resource.remote is None and is_dispatched(config, team),
        "priority": job.priority,
        "image": image_with(config, environment, job.image or pods["image"]),
        "environment": run_environment(config, environment),
        "command": list(job.command),
        "entrypoint": join(job.command),
        "env": dict(job.env),
        "workers": 1 if job.trials is not None else pods["workers"],
        "leastWorkers": job.least_workers,
        "together": job.together,
        "anyPlace": job.together is None and _takes_any_place(config, team, pods),
        "head": dict(RAY_HEAD) if job.engine == "ray" else None,
        "trials": job.trials,
        "timeLimit": job.time_limit,
        "retries": job.retries,
        "keep": job.keep,
    }
    if job.engine != "spark":
        return {"run": run}
    size = sizing.size
    return {"run": run, "spark": spark_facts(job, size.workers, size.cpu, size.memory, size.gpus)}


def is_deployed(config: Config, sizing: "Sized") -> bool:
    """Whether a resource has its own pods in the home cluster: it has an image, and work that no command runs once.

    The pods of a remote resource are not in the home cluster.
    """
    image = sizing.resource.image or config.runtime.image
    return image is not None and sizing.resource.remote is None and any(not job.command for job, _ in sizing.jobs)


def namespace_of_job(config: Config, job: Job, resource: Resource) -> str:
    """Returns the namespace of a job's runs."""
    return _namespace(config, job.team or resource.team)


def namespace_of_resource(config: Config, sizing: "Sized") -> str:
    """Returns the namespace of a resource's pods."""
    return _namespace(config, team_of_resource(sizing))


def deployment_of(sizing: "Sized") -> str:
    """Returns the name of the Deployment of a resource's pods."""
    return f"{_kind(sizing)}-{sizing.resource.name}"


def places_of_deployments(config: Config) -> dict[str, tuple[str, int]]:
    """Maps Deployment names to the resource in the stack file, or to the job that has its own pods."""
    # Only from the names: estimating what all of them need is most of a large plan's work.
    own = {f"job-{job.name}": ("jobs", at) for at, job in enumerate(config.jobs) if job.resource is None}
    return own | {f"resource-{one.name}": ("resources", at) for at, one in enumerate(config.resources)}


def team_of_resource(sizing: "Sized") -> str | None:
    """Returns the team whose quota the pods of a resource use."""
    return sizing.resource.team or (sizing.jobs[0][0].team if sizing.own else None)


def _kind(one: "Sized") -> str:
    return "job" if one.own else "resource"


def _pods(config: Config, one: "Sized") -> dict[str, Any]:
    resource, size = one.resource, one.size
    team = team_of_resource(one)
    return {
        "kind": _kind(one),
        "name": resource.name,
        "type": resource.type,
        "namespace": _namespace(config, team),
        "queue": team,
        "image": resource.image or config.runtime.image,
        "workers": size.workers,
        "scale": _scale(config, one),
        "port": resource.port,
        "cpu": quantity.cpu(size.cpu),
        "memory": quantity.memory(size.memory),
        "gpus": size.gpus,
        **gpu_facts(one.part),
        # The product label of nodes with slices can differ from that of nodes with whole GPUs.
        "products": list(products_for(config, resource.gpu)) if size.gpus and one.part is None else [],
        "jobs": [job.name for job, _ in one.jobs if not job.command],
    }


def _takes_any_place(config: Config, team: str | None, pods: Mapping[str, Any]) -> bool:
    found = next((one for one in config.teams if one.name == team), None)
    return found is not None and takes_any_place(config, found, pods["gpus"], pods["products"], pods["gpuResource"])


def _scale(config: Config, one: "Sized") -> dict[str, Any] | None:
    """Returns the limits and the trigger for the number of pods, None if the number is fixed."""
    scale = one.resource.scale
    if scale is None:
        return None
    asked = scale.query is not None and scale.each is not None
    if not asked and scale.cpu is None and one.size.gpus:
        return None  # Nothing says when to scale up; a finding asks for it.
    return {
        "most": scale.most,
        "cpu": scale.cpu if asked or scale.cpu is not None else CPU_PERCENT,
        "query": scale.query if asked else None,
        "each": quantity.cpu(quantity.parse(scale.each)) if asked and scale.each is not None else None,
        "server": config.autoscaling.prometheus or "",
        "polling": config.autoscaling.polling_interval,
    }


def products_for(config: Config, named: str | None) -> tuple[str, ...]:
    """Returns the product labels of nodes for pods with a named GPU; None: the stack's GPU."""
    gpu = resolve(named) if named is not None else gpu_of(config)
    return products(gpu) if gpu is not None else ()


def _namespace(config: Config, team: str | None) -> str:
    """Returns the namespace of a team's jobs; without a known team, the platform's namespace."""
    return next((namespace_of(one) for one in config.teams if one.name == team), config.platform.namespace)


_AUTOSCALER: Final = {"cpu": Fraction(1, 2), "memory": Fraction(512 * 2**20)}
"""What KubeRay 1.5.1 adds to the head for Ray's autoscaler (BuildAutoscalerContainer), as Kueue counts it too."""


class HeadSize(NamedTuple):
    """The kind of head and its requests."""

    what: Literal["head", "driver"]
    """``head`` of Ray, or ``driver`` of Spark."""
    requests: tuple[tuple[str, Fraction], ...]
    """Cores and bytes, by ``cpu`` and ``memory``."""


def head_of(job: Job) -> HeadSize | None:
    """Returns the head of a job's run; None if the run has only workers."""
    if job.engine == "ray":
        more = _AUTOSCALER if job.grows else {}
        return HeadSize(
            "head", tuple((key, quantity.parse(value) + more.get(key, 0)) for key, value in RAY_HEAD.items())
        )
    return HeadSize("driver", tuple(driver_of(job.spark).items())) if job.engine == "spark" else None
