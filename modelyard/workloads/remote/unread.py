"""Finds settings without effect for remote jobs, which you would otherwise expect to work."""

from collections.abc import Iterator
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.hardware import resolve
from modelyard.hardware.instances import machine_of
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.remote import StaticCluster
from modelyard.workloads.remote.copies import image_of_copy
from modelyard.workloads.remote.places import writes
from modelyard.workloads.sizing import Sized

_MACHINE: Final = {
    "command": "remote.command of its resource",
    "image": "remote.image of its resource",
    "timeLimit": "remote.timeLimit of its resource",
    "env": "the image",
}
"""Job settings that a rented machine gets in another way. Some have a default, so the file's own text counts."""
_CLUSTER: Final = ("instanceType", "regionPrefix", "timeLimit", "command")
"""Settings of a rented machine."""


def check_unread(stack: Stack, index: int, sized: Sized) -> Iterator[Finding]:
    """Yields findings about the remote resource at ``index`` and about its jobs."""
    resource = sized.resource
    if resource.remote is None:
        return
    where: StackPath = ("resources", index)
    yield from _workers(stack, where, sized)
    if resource.team is not None:
        why, remedy = _waits(resource)
        yield _finding(stack, (*where, "team"), f"resource {resource.name}", key="team", why=why, remedy=remedy)
    yield from _resource(stack, where, resource)
    for number, job in enumerate(stack.config.jobs):
        if job.resource == resource.name:
            yield from _job(stack, ("jobs", number), job, resource)


def _workers(stack: Stack, where: StackPath, one: Sized) -> Iterator[Finding]:
    """Checks that its jobs have one worker: remote workers could not find each other."""
    remote = one.resource.remote
    if one.size.workers > 1 and remote is not None:
        what = "one pod" if remote.cluster is not None else "one machine"
        yield stack.finding(
            "REM006",
            Severity.ERROR,
            (*where, "workers") if one.resource.workers is not None else (*where, "remote"),
            f"resource {one.resource.name} gets {one.size.workers} workers, but a remote job has {what}",
            f"set workers to 1, and make the {what.removeprefix('one ')} large enough",
        )


def _resource(stack: Stack, where: StackPath, resource: Resource) -> Iterator[Finding]:
    """Checks settings of the resource itself."""
    remote, who = resource.remote, f"resource {resource.name}"
    assert remote is not None
    if remote.cluster is None:
        if resource.image is not None:
            why = "a rented machine runs remote.image"
            yield _finding(stack, (*where, "image"), who, key="image", why=why, remedy="set remote.image")
        yield from _gpu(stack, where, resource)
    else:
        for key in _CLUSTER:
            if (*where, "remote", key) in stack.positions:
                remedy = f"remove it, or set it in {key} of its jobs" if key in ("timeLimit", "command") else "drop it"
                why = "it uses a cluster and rents no machine"
                yield _finding(stack, (*where, "remote", key), who, key=f"remote.{key}", why=why, remedy=remedy)
        yield from _shared(stack, where, resource, remote.cluster)
    yield from _copies(stack, where, resource)
    if remote.port is not None and (remote.cluster is not None or resource.type != "llm-serving"):
        why = "only llm-serving jobs have a port"
        if remote.cluster is not None:
            why = "kubectl port-forward reaches any port of a pod"
        yield _finding(stack, (*where, "remote", "port"), who, key="remote.port", why=why, remedy="drop it")


def _shared(stack: Stack, where: StackPath, resource: Resource, cluster: StaticCluster) -> Iterator[Finding]:
    """Checks settings of a cluster that its first resource sets for all of them."""
    remotes = ((one.name, one.remote.cluster) for one in stack.config.resources if one.remote is not None)
    name, first = next((name, known) for name, known in remotes if known is not None and known.place == cluster.place)
    values = {
        "createNamespace": (cluster.create_namespace, first.create_namespace),
        "credentialsSecret": (cluster.credentials_secret, first.credentials_secret),
    }
    for key, (own, theirs) in values.items():
        at = (*where, "remote", "cluster", key)
        if own != theirs and at in stack.positions:
            why = f"all resources of a remote cluster use the value of the first, {name}"
            yield _finding(
                stack, at, f"resource {resource.name}", key=f"another {key}", why=why, remedy=f"set it in {name}"
            )


def _copies(stack: Stack, where: StackPath, resource: Resource) -> Iterator[Finding]:
    """Checks for something to copy out of the platform and back, and an image that copies."""
    remote = resource.remote
    assert remote is not None
    for key, copying, copied, why, remedy in (
        (
            "exportFrom",
            remote.export_from,
            remote.data.transfer is not None,
            "its data is not exported",
            "drop it, or set data.transfer",
        ),
        (
            "importTo",
            remote.import_to,
            writes(resource),
            "it writes no model",
            "drop it" if resource.type == "llm-serving" else "drop it, or set model",
        ),
    ):
        if copying is None:
            continue
        at, who = (*where, "remote", key), f"resource {resource.name}"
        if not copied:
            yield _finding(stack, at, who, key=f"remote.{key}", why=why, remedy=remedy)
        elif image_of_copy(stack.config, resource, copying) is None:
            yield _finding(
                stack,
                at,
                who,
                key=f"remote.{key}",
                why="no image is set for the pods that copy data",
                remedy="set its image",
            )


def _gpu(stack: Stack, where: StackPath, resource: Resource) -> Iterator[Finding]:
    """Checks that the resource names the GPU of the machine that it rents."""
    machine, wanted = machine_of(stack.config, resource), resolve(resource.gpu or "")
    if machine is None or machine.gpu is None or wanted is None or machine.gpu_id in (wanted.members or (wanted.id,)):
        return
    why = f"{machine.type} has the {machine.gpu.short}"
    remedy = "drop it, or rent a machine with that GPU"
    yield _finding(
        stack, (*where, "gpu"), f"resource {resource.name}", key=f"gpu {resource.gpu}", why=why, remedy=remedy
    )


def _job(stack: Stack, where: StackPath, job: Job, resource: Resource) -> Iterator[Finding]:
    """Checks settings of one of its jobs."""
    who, remote = f"job {job.name}", resource.remote
    assert remote is not None
    # Settings of a team's queue, which is in the platform's cluster.
    queued = {
        "team": job.team,
        "priority": job.priority,
        "leastWorkers": job.least_workers,
        "together": job.together,
    }
    why, remedy = _waits(resource)
    for key, value in queued.items():
        if value is not None:
            yield _finding(stack, (*where, key), who, key=key, why=why, remedy=remedy)
    if job.engine != "job":
        why = f"a remote job has one worker, but {job.engine} needs several"
        yield _finding(stack, (*where, "engine"), who, key=f"engine {job.engine}", why=why, remedy="drop engine")
    if job.trials is not None:
        yield _finding(
            stack, (*where, "trials"), who, key="trials", why="a remote job is one run", remedy="drop trials"
        )
    if remote.cluster is not None:
        return
    for key, place in _MACHINE.items():
        if (*where, key) in stack.positions:
            why = f"a rented machine uses {place}"
            yield _finding(stack, (*where, key), who, key=key, why=why, remedy=f"drop it, and set {place}")
    for key in ("retries", "keep"):
        if (*where, key) in stack.positions:
            why = "a rented machine runs its job once, then ends"
            yield _finding(
                stack, (*where, key), who, key=key, why=why, remedy="drop it; to run it again, launch it again"
            )


def _waits(resource: Resource) -> tuple[str, str]:
    """Returns why a team's queue has no effect there, and what to do."""
    assert resource.remote is not None
    if resource.remote.cluster is None:
        return "jobs on rented machines do not queue with a team", "drop it"
    return (
        "its remote cluster does not have the home cluster's teams",
        "drop it and limit its jobs with quota of its cluster; or drop remote and give the team clusters",
    )


def _finding(stack: Stack, path: StackPath, who: str, *, key: str, why: str, remedy: str) -> Finding:
    return stack.finding("REM016", Severity.ERROR, path, f"{who} is remote and cannot have {key}: {why}", remedy)
