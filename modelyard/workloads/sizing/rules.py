"""Checks the jobs and resources of a stack."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from modelyard import quantity
from modelyard.findings import Finding, Severity
from modelyard.hardware import near_gpus, not_one_gpu, resolve
from modelyard.quantity import GI
from modelyard.stack.config import Stack
from modelyard.stack.jobs import Job, JobType, Model, Resource
from modelyard.stack.names import instead, named_twice
from modelyard.stack.shape import field_of
from modelyard.stack.words import listed, plural
from modelyard.workloads.sizing.formulas import MOST_GPUS
from modelyard.workloads.sizing.partitions import slice_findings
from modelyard.workloads.sizing.resources import Sized
from modelyard.workloads.sizing.sources import amount

_LONGEST = 63 - len("keda-hpa-")
"""Maximum length of a ScaledObject's name: KEDA puts this prefix before it, and uses the whole as a label."""
_LONGEST_SERVICE = 63
"""Maximum length of a Service's name, which is a DNS label."""
_ONLY_RUNS = "has only jobs with a command, which run in separate pods"
_SERVE = ("serving", "llm-serving")
"""Types whose pods answer requests: a pod that stops leaves its requests to the others."""


def check_jobs(stack: Stack, everything: Sequence[Sized]) -> Iterator[Finding]:
    """Yields findings about jobs, resources (as ``sized`` returns them), and which job is on which resource."""
    config = stack.config
    for section in ("resources", "jobs"):
        yield from named_twice(stack, "RES207", section)
    resources = {one.name: one for one in config.resources}
    # Thousands of jobs are checked one by one, so none may look at all others.
    shared = {one.resource for one in config.jobs if one.trials is None}
    teams, priorities = ({one.name for one in named} for named in (config.teams, config.priorities))
    own = iter([one for one in everything if one.own])
    # Other findings report what remote jobs cannot have.
    home = (one for one in everything if not one.own and one.resource.remote is None)
    workers = {one.resource.name: one.size.workers for one in home}
    for index, job in enumerate(config.jobs):
        on = resources.get(job.resource or "")
        if job.resource is None:
            yield _on_its_own(stack, index, job, next(own))
        elif (unfit := unfit_resource(stack, index, job, on)) is not None:
            yield unfit
        if on is None or on.remote is None:
            # A remote job can have neither, which another finding says.
            yield from _refers(stack, "jobs", index, one=job, key="team", name=job.team, known=teams)
            yield from _refers(stack, "jobs", index, one=job, key="priority", name=job.priority, known=priorities)
        yield from _fits_together(stack, index, job, resource=on, most=workers.get(job.resource or ""), shared=shared)
        yield from _unread(stack, index, job)
    for index, (resource, one) in enumerate(zip(config.resources, everything, strict=False)):
        yield from _judged(stack, index, one)
        yield from _known_gpu(stack, index, resource)
        yield from _refers(stack, "resources", index, one=resource, key="team", name=resource.team, known=teams)
        yield from slice_findings(stack, index, one)
        yield from _idle(stack, index, one)
        yield from _scaled(stack, index, one)
        yield from _answering(stack, index, one)


def unfit_resource(stack: Stack, index: int, job: Job, resource: Resource | None) -> Finding | None:
    """Why a job cannot use the resource that it names: it has another type, or is not defined (None).

    None if several resources have this name, which another finding reports.
    """
    wanted = job.resource
    if wanted is None or (resource is not None and resource.type == job.type):
        return None
    others = {one.name: one for one in stack.config.resources}
    if sum(one.name == wanted for one in stack.config.resources) > 1:
        return None
    if resource is None:
        return stack.finding(
            "RES201",
            Severity.ERROR,
            ("jobs", index, "resource"),
            f"job {job.name} uses resource {wanted}, which is not defined",
            instead(wanted, others, "resources"),
        )
    fitting = [one.name for one in others.values() if one.type == job.type][:3]
    return stack.finding(
        "RES202",
        Severity.ERROR,
        ("jobs", index, "resource"),
        f"job {job.name} is of type {job.type}, but resource {resource.name} is for {resource.type} jobs",
        f"use {' or '.join(fitting)}, or correct one of the types"
        if fitting
        else f"add a resource of type {job.type}, or correct one of the types",
    )


def _on_its_own(stack: Stack, index: int, job: Job, own: Sized) -> Finding:
    """Returns the finding with the size of a job that names no resource; it never has a GPU."""
    if own.need.on_gpus:
        return stack.finding(
            "RES205",
            Severity.WARNING if _any_model(own) else Severity.ERROR,
            ("jobs", index),
            f"job {job.name} needs {_gpus(own)}, but a job without a resource gets none",
            f"add a resource of type {job.type} with gpus, and set it in the job",
        )
    size = own.size
    return stack.finding(
        "RES203",
        Severity.ADVICE,
        ("jobs", index),
        f"job {job.name} has no resource, so it gets a separate one: "
        f"{size.workers} × {quantity.cpu(size.cpu)} cores, {quantity.memory(size.memory)}, no GPU",
        f"add a resource of type {job.type}, and set it in the job; sharing a resource costs less",
    )


def _scaled(stack: Stack, index: int, one: Sized) -> Iterator[Finding]:
    """Checks that the pods of a resource can scale with their load."""
    scale, name = one.resource.scale, one.resource.name
    if scale is None:
        return
    scaling = stack.config.autoscaling
    problems = {
        "most": (
            f"may have {plural(scale.most, 'pod')} at most, but has at least {one.size.workers}",
            f"set most to {one.size.workers + 1} or more, or lower workers",
            scale.most < one.size.workers,
        ),
        "cpu": (
            "uses a GPU, so CPU use does not show its load",
            "set query and each, such as the number of running requests",
            bool(one.size.gpus) and scale.query is None and scale.cpu is None,
        ),
        "query": (
            "is scaled by a query, but no Prometheus server is set",
            "set autoscaling.prometheus: http://prometheus.monitoring.svc:9090",
            scale.query is not None and scaling.prometheus is None,
        ),
        "": (
            f"needs a ScaledObject named resource-{name}, which is longer than KEDA allows",
            f"use a name of at most {_LONGEST - len('resource-')} characters",
            len(f"resource-{name}") > _LONGEST,
        ),
        "each": (
            "has a target load of 0 for each pod",
            "set each to more than 0",
            scale.each is not None and quantity.parse(scale.each) <= 0,
        ),
    }
    if one.resource.type not in _SERVE:
        summary = f"is of type {one.resource.type}, whose pods lose their work when they are scaled down"
        problems = {"": (summary, f"drop scale; it is for {' and '.join(_SERVE)}", True)}
    elif one.resource.remote is not None:
        problems = {"": ("is remote, but only pods in the home cluster are scaled", "drop scale, or remote", True)}
    elif _only_runs(one):
        problems = {"": (f"{_ONLY_RUNS}, which are not scaled", "drop scale, or the command of a job", True)}
    for key, (summary, remedy, wrong) in problems.items():
        if wrong:
            path = ("resources", index, "scale", key) if key and getattr(scale, key) is not None else None
            where = path or ("resources", index, "scale")
            yield stack.finding("RES217", Severity.ERROR, where, f"resource {name} {summary}", remedy)


def _only_runs(one: Sized) -> bool:
    """Whether a resource has no pods besides the runs of its jobs."""
    return bool(one.jobs) and all(job.command for job, _ in one.jobs)


def _answering(stack: Stack, index: int, one: Sized) -> Iterator[Finding]:
    """Checks that the pods of a resource with a port get requests there."""
    name = one.resource.name
    if one.resource.port is None:
        return
    if one.resource.remote is not None:
        summary = "is remote, so no Service of the home cluster reaches it"
        rents = one.resource.remote.cluster is None and one.resource.type == "llm-serving"
        remedy = "set remote.port instead" if rents else "drop port"
    elif one.resource.type not in _SERVE:
        summary = f"is of type {one.resource.type}, whose pods serve no requests"
        remedy = f"drop port; it is for {' and '.join(_SERVE)}"
    elif _only_runs(one):
        summary, remedy = f"{_ONLY_RUNS}, without a Service", "drop port, or the command of a job"
    elif len(f"resource-{name}") > _LONGEST_SERVICE:
        summary = f"needs a Service named resource-{name}, which is longer than Kubernetes allows"
        remedy = f"use a name of at most {_LONGEST_SERVICE - len('resource-')} characters"
    else:
        return
    where = ("resources", index, "port")
    yield stack.finding("RES219", Severity.ERROR, where, f"resource {name} {summary}", remedy)


def _judged(stack: Stack, index: int, one: Sized) -> Iterator[Finding]:
    """Checks that the resource is used, and large enough."""
    name = one.resource.name
    if not one.jobs:
        yield stack.finding(
            "RES206",
            Severity.ADVICE,
            ("resources", index),
            f"no job uses resource {name}",
            "drop it, or use it in a job",
        )
        return
    jobs = ", ".join(job.name for job, _ in one.jobs)
    on_gpus = ", ".join(job.name for job, found in one.jobs if found.need.on_gpus)
    assumed = any(found.assumptions for _, found in one.jobs)
    for key, needed in one.below.items():
        if key == "gpus" and (one.part is not None or not one.size.gpus):
            continue  # Slices are not added up; a separate finding reports a slice that is too small.
        given, wanted = getattr(one.resource, key), _written(key, needed)
        each = f" on each of {one.among} workers" if key != "workers" and one.among > 1 else ""
        remedy = f"set {key} to {wanted}, or waive this finding if you have measured a lower need"
        if key == "gpus" and needed > MOST_GPUS:
            remedy = _too_many_gpus(one)
        yield stack.finding(
            "RES204",
            Severity.ADVICE if assumed else Severity.WARNING,
            ("resources", index, key),
            f"{key} of resource {name} is {given}, but its jobs need an estimated {wanted}{each}",
            remedy,
            detail=f"jobs: {on_gpus if key == 'gpus' else jobs}; modelyard size {stack.name} {name} shows the "
            f"calculation{' and what it assumes' if assumed else ''}",
        )
    if one.need.on_gpus and not one.size.gpus:
        wanted_gpus = one.needed.get("gpus")
        remedy = "set gpus of the resource" + (f" to {_written('gpus', wanted_gpus)}" if wanted_gpus else "")
        yield stack.finding(
            "RES205",
            Severity.WARNING if _any_model(one) else Severity.ERROR,
            ("resources", index),
            f"resource {name} has no GPU, but its jobs need {_gpus(one)}",
            _too_many_gpus(one) if wanted_gpus and wanted_gpus > MOST_GPUS else remedy,
            detail=f"jobs: {on_gpus}",
        )


def _too_many_gpus(one: Sized) -> str:
    """What to do if a worker needs more GPUs than a machine has."""
    # Training divides its model among workers; a rented machine is one of them.
    divided = one.resource.type == "training" and one.resource.remote is None
    others = "give it more workers" if divided else "use a smaller model"
    return f"a machine has at most {MOST_GPUS} GPUs: use a GPU with more memory, or {others}"


def lacks_gpus(sizing: Sized) -> bool:
    """Whether the jobs of a resource certainly need GPUs and it has none, which is an error."""
    return sizing.need.on_gpus and not sizing.size.gpus and not _any_model(sizing)


def _any_model(one: Sized) -> bool:
    """Whether only jobs of unknown models need GPUs: that of an assumed model is no proof."""
    on_gpus = (found for _, found in one.jobs if found.need.on_gpus)
    return all(any(one.key == "model.parameters" for one in found.assumptions) for found in on_gpus)


def _known_gpu(stack: Stack, index: int, resource: Resource) -> Iterator[Finding]:
    if resource.gpu is not None and resolve(resource.gpu) is None:
        yield stack.finding(
            "RES208",
            Severity.ERROR,
            ("resources", index, "gpu"),
            f"resource {resource.name}: {not_one_gpu(resource.gpu)}",
            near_gpus(resource.gpu),
        )


_PLURALS = {"team": "teams", "priority": "priorities"}


def _refers(
    stack: Stack, section: str, index: int, *, one: Job | Resource, key: str, name: str | None, known: Collection[str]
) -> Iterator[Finding]:
    """Checks that the named team or priority is defined."""
    if name is not None and name not in known:
        yield stack.finding(
            "RES210",
            Severity.ERROR,
            (section, index, key),
            f"{section[:-1]} {one.name} uses {key} {name}, which is not defined",
            instead(name, known, _PLURALS[key]),
        )


def _fits_together(
    stack: Stack, index: int, job: Job, *, resource: Resource | None, most: int | None, shared: Collection[str | None]
) -> Iterator[Finding]:
    """Checks that a job's run settings work together on its resource.

    ``most`` is the number of the resource's workers, estimates included, None for a remote one; ``shared`` are the
    names of the resources that jobs without trials use.
    """
    if resource is not None and resource.remote is not None:
        return  # Other findings report that remote jobs can have none of these.
    team = job.team or (resource.team if resource is not None else None)
    workers = resource.workers if resource is not None else None
    # Another finding reports an unknown resource.
    free = team is None and (job.resource is None or resource is not None)
    least = job.least_workers
    # Kueue rejects a plain Job that may start with all of its pods (job_webhook.go of version 0.19.2).
    limit = most - 1 if most is not None and job.engine == "job" else most
    fewer = ", and it must be less" if job.engine == "job" else ""
    clashes = (
        (
            "trials",
            job.trials is not None and job.engine != "job",
            f"trials run as plain pods, but its engine is {job.engine}",
            "drop trials or engine",
        ),
        (
            "trials",
            # A search may share a resource with jobs that use all its workers.
            job.trials is not None and (workers or 1) > 1 and job.resource not in shared,
            f"trials need a resource with 1 worker, and {job.resource} has {workers}",
            f"set workers of {job.resource} to 1",
        ),
        (
            "leastWorkers",
            job.least_workers is not None and job.engine == "spark",
            "Spark has leastExecutors",
            "set spark.leastExecutors instead",
        ),
        (
            "leastWorkers",
            job.least_workers is not None and job.trials is not None,
            "each trial has one worker and starts separately",
            "drop leastWorkers or trials",
        ),
        (
            "leastWorkers",
            job.trials is None and least is not None and limit is not None and least > limit,
            f"it is {least}, but {job.resource} has {plural(most or 1, 'worker')}" + fewer,
            (f"lower leastWorkers to {limit}" if limit else "drop leastWorkers")
            + f", or raise workers of {job.resource}",
        ),
        (
            "leastWorkers",
            job.grows and job.together is not None,
            "workers that Ray adds later are placed on any node",
            "drop leastWorkers or together",
        ),
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for key, clash, why, remedy in clashes:
        if clash:
            found.setdefault(key, []).append((why, remedy))
    rows = [
        ([key], "; ".join(why for why, _ in reasons), reasons[0][1] if len(reasons) == 1 else f"drop {key}")
        for key, reasons in found.items()
    ]
    given = {
        "leastWorkers": least is not None and job.engine != "ray",
        "priority": job.priority is not None,
        "together": job.together is not None,
    }
    if free and (queued := [key for key, is_given in given.items() if is_given and key not in found]):
        it = "it" if len(queued) == 1 else "them"
        rows.append((queued, f"only a team's queue reads {it}", f"drop {it}, or name a team"))
    for keys, why, remedy in rows:
        yield stack.finding(
            "RES211",
            Severity.ERROR,
            ("jobs", index, keys[0]),
            f"job {job.name} cannot have {listed(keys, 'and')}: {why}",
            remedy,
        )


def _unread(stack: Stack, index: int, job: Job) -> Iterator[Finding]:
    """Finds sizes of a job that have no effect."""
    if not (keys := unread(job)):
        return
    known = read(job)
    kind = f"{job.type} job" + (" of a model with parameters" if "model.activation" in known else "")
    kind = f"an {kind}" if kind.startswith("llm") else f"a {kind}"
    by = f"by {listed(known, 'and')}" if known else "by its resource alone"
    yield stack.finding(
        "RES225",
        Severity.ADVICE,
        ("jobs", index, *keys[0].split(".")),
        f"job {job.name} ignores {listed(keys, 'and')}, because it is {kind}",
        f"drop {'it' if len(keys) == 1 else 'them'}, or correct the type: {kind} is sized {by}",
    )


def _idle(stack: Stack, index: int, one: Sized) -> Iterator[Finding]:
    """Checks that a resource with work gets pods."""
    waiting = [job.name for job, _ in one.jobs if not job.command]
    if waiting and one.resource.remote is None and not (one.resource.image or stack.config.runtime.image):
        yield stack.finding(
            "RES209",
            Severity.ADVICE,
            ("resources", index),
            f"resource {one.resource.name} is sized but not deployed, because it has no image",
            "set image of the resource or of modelyard:runtime, or give its jobs a command to run once",
            detail=f"jobs without a command: {', '.join(waiting)}",
        )


def _gpus(one: Sized) -> str:
    """Describes the GPUs that are needed."""
    memory = f"{amount(one.need.gpu_memory)} of GPU memory" if one.need.gpu_memory else ""
    if not one.need.gpus:
        return memory
    number = plural(one.need.gpus, "GPU")
    return f"{number} ({memory})" if memory else number


def _written(key: str, value: Fraction) -> str:
    """Returns a value as a resource writes it: whole Gi, whole numbers."""
    return f"{math.ceil(value / GI)}Gi" if key == "memory" else str(math.ceil(value))


# The sizes that a job's estimate uses, and those that nothing reads.
SIZES: Final = ("rows", "columns", "requestRate", "requestTime", "within", "batch", "sequence")
"""Sizes that a job can set, by key in the stack file, besides those of its model."""
MODEL: Final = ("parameters", "precision", "size", "layers", "keyValueHeads", "headSize", "activation")
_READ: Final[Mapping[JobType, tuple[str, ...]]] = {
    "data-sink": ("rows", "columns"),
    "dataset": ("rows", "columns"),
    "training": ("rows", "columns"),
    "batch-prediction": ("rows", "columns", "requestTime", "within", "batch"),
    "serving": ("requestRate", "requestTime"),
    "llm-serving": ("requestRate", "requestTime", "sequence", "model.layers", "model.keyValueHeads", "model.headSize"),
    "runtime": (),
}
_SERVES: Final = ("batch-prediction", "serving", "llm-serving")
"""Types whose pods hold the weights of a model."""


def read(job: Job) -> tuple[str, ...]:
    """Returns the keys that size a job of its type, in the stack file's spelling; other keys have no effect."""
    if job.type == "training" and job.model.parameters is not None:
        return ("batch", "model.parameters", "model.activation")
    if job.type not in _SERVES:
        return _READ[job.type]
    # The size of a model file does not depend on its content.
    weights = ("model.size",) if job.model.size is not None else ("model.parameters", "model.precision")
    return (*_READ[job.type], *weights)


def unread(job: Job) -> tuple[str, ...]:
    """Returns the keys of sizes that a job sets but that do not size it."""
    names = [key for key in SIZES if _is_set(job, key)]
    names += [f"model.{key}" for key in MODEL if _is_set(job.model, key)]
    known = read(job)
    return tuple(key for key in names if key not in known)


def _is_set(one: Job | Model, key: str) -> bool:
    """Whether the value differs from the value for unset."""
    field = field_of(key)
    return bool(getattr(one, field) != one._field_defaults[field])
