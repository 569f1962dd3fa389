"""Which changes must wait until a training backend is idle, and which source reports its jobs."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from modelyard.findings import Finding, Severity
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.scheduling.pods import RAY_CLUSTERS, grace_of, pod_places, replicas_of, rolls
from modelyard.kube.state import Scaler
from modelyard.plan.autoscaling import most_replicas, scalers_of, wakes
from modelyard.plan.keda import Scaling, scalings
from modelyard.plan.values import Plan, TargetPlan
from modelyard.probes import BackendDrain
from modelyard.stack.config import Config, Stack
from modelyard.stack.durations import text
from modelyard.workloads.training import BACKENDS, backend_of, is_head
from modelyard.workloads.training.backend import HeadService, JobSource, NoJobSource

UNKNOWN_JOBS = "RES105"
"""Code of the finding that nothing reports whether a backend runs a job."""


def drains(stack: Stack, targets: Sequence[TargetPlan], scalers: Iterable[Scaler] = ()) -> tuple[BackendDrain, ...]:
    """The drains of a plan: one for each training backend, for all targets of the backend whose change stops a pod that
    a job may need.

    ``scalers`` are the cluster's autoscalers.
    """
    waking = [one for one in scalers if one.wakes]
    scaled = scalings(targets)
    awake = {target.name for target in targets if _has_pods(target) or scalers_of(target, waking)}
    awake |= {one.scaled.name for one in scaled.values() if one.scaled is not None and one.most[0]}
    config = stack.config
    if not config.drain.enabled:
        return ()
    found = []
    for backend in BACKENDS.values():
        trained = (config.training == backend.name) != moves_route(targets)
        waiting = [
            target
            for target in targets
            if target.role in backend.roles
            and (_stops(target, targets, awake, trained) or _stops_by_keda(scaled.get(target.key), awake))
        ]
        # Objects that the stack no longer asks for may belong to another Ray cluster than its current ones.
        asked: dict[JobSource, list[TargetPlan]] = {}
        for target in sorted(waiting, key=lambda one: not is_head(one.role)):
            asked.setdefault(_source_of(target, targets, backend.source(stack)), []).append(target)
        for source, those in asked.items():
            names = tuple(target.name for target in those)
            found.append(BackendDrain(backend.name, names, config.drain.timeout, _quiet(config, targets), source))
    return tuple(found)


def _source_of(target: TargetPlan, targets: Iterable[TargetPlan], source: JobSource) -> JobSource:
    """The source of a target's jobs: for a target that the stack no longer asks for, its former Ray head."""
    if not (target.dropped and isinstance(source, HeadService)):
        return source
    if target.key.kind in RAY_CLUSTERS:
        return source._replace(namespace=target.key.namespace, deployment=target.key.name, kind=target.key.kind)
    heads = [
        (one.key.name, one.key.kind)
        for one in targets
        if one.dropped
        and is_head(one.role)
        and one.key.kind in WORKLOAD_KINDS
        and one.key.namespace == target.key.namespace
    ]
    name, kind = (*heads, (source.deployment, source.kind))[0]
    return source._replace(namespace=target.key.namespace, deployment=name, kind=kind)


def moves_route(targets: Iterable[TargetPlan]) -> bool:
    """Whether new training requests go to the other backend from now on: the route's own field changes."""
    return any(
        target.phase == "route" and any(change.patch is not None and not change.reorders for change in target.changes)
        for target in targets
    )


def _stops(target: TargetPlan, targets: Iterable[TargetPlan], awake: Collection[str], trained: bool) -> bool:
    """Whether a change stops pods that a job may need when the change is applied.

    An apply may change the target minutes or hours after the plan, and an autoscaler starts a backend's pods in
    seconds.

    Args:
        target: the target that changes.
        targets: all targets of the plan.
        awake: names of the targets that have pods at that time.
        trained: whether the target's backend has received the training requests so far.
    """
    if target.key.kind not in WORKLOAD_KINDS or target.action in ("none", "create"):
        return False
    if target.action == "delete":
        return target.name in awake
    if is_head(target.role):
        # The head keeps the list of jobs and runs their drivers, including jobs that have no worker yet.
        backend = backend_of(target.role)
        workers = [other for other in targets if backend is not None and other.role == backend.worker]
        return bool(target.replaces_pods) and (
            trained or not workers or any(worker.name in awake for worker in workers)
        )
    before, after = target.before.reveal(), target.after.reveal()
    replaces = rolls(before, after, (change.path for change in target.changes))
    if target.name not in awake:
        # The head of a Ray cluster keeps its jobs even while it has no workers.
        return replaces and trained and target.key.kind in RAY_CLUSTERS
    counts = ((replicas_of(before, one), replicas_of(after, one)) for one in pod_places(after))
    fewer = (
        target.phase == "down" if target.replicas[1] is None else any((old or 0) > (new or 0) for old, new in counts)
    )
    return fewer or replaces


def _stops_by_keda(scaling: Scaling | None, awake: Collection[str]) -> bool:
    """Whether a change of KEDA's object stops pods that a job may need when the change is applied."""
    return scaling is not None and scaling.scaled is not None and scaling.pauses and scaling.scaled.name in awake


def _has_pods(target: TargetPlan) -> bool:
    """Whether a training target has pods, or the platform's autoscaler may give it some."""
    if target.replicas[0]:
        return True
    before = target.before.reveal() or {}
    return wakes(before) and most_replicas(before) != 0


def _quiet(config: Config, targets: Iterable[TargetPlan]) -> int:
    """Seconds without a job: from the stack file, or as long as the pods that send requests may take to stop."""
    if config.drain.quiet is not None:
        return config.drain.quiet
    route = config.targets.api_server.name
    return max((target.grace_period for target in targets if target.name == route), default=grace_of(None))


def check_drains(config: Config, wanted: Iterable[BackendDrain]) -> Iterator[Finding]:
    """Findings about drains that cannot succeed."""
    for drain in wanted:
        if isinstance(drain.source, NoJobSource):
            yield unanswerable(drain, drain.source.why, drain.source.remedy)
        longest = BACKENDS[drain.backend].longest_job(config)
        if drain.limit < longest:
            yield Finding(
                "RES106",
                Severity.WARNING,
                f"an apply waits at most {text(drain.limit)} for {drain.name}, but a job may take {text(longest)}",
                target=drain.targets[0],
                field="drain.timeout",
                detail="at the limit the apply fails and leaves the backend unchanged; queued jobs take longer still",
                remedy=f"set drain.timeout to {text(longest)} or more",
            )


def unanswerable(drain: BackendDrain, why: str, remedy: str) -> Finding:
    """The finding that nothing can report whether a backend is idle."""
    return Finding(
        UNKNOWN_JOBS,
        Severity.WARNING,
        f"cannot tell whether {drain.name} runs a job: {why}",
        target=drain.targets[0],
        field=f"drain.{drain.backend}",
        detail="an apply is refused: the steps before its wait would stay applied",
        remedy=f"{remedy}; or run apply --no-drain while no job runs",
    )


def refused(plan: Plan) -> Plan:
    """The plan for an apply: that nothing reports jobs is an error, because the steps before a wait stay applied."""
    findings = tuple(
        one._replace(code=UNKNOWN_JOBS, severity=Severity.ERROR) if one.code == UNKNOWN_JOBS else one
        for one in plan.findings
    )
    return plan._replace(findings=findings)


def left_behind(stack: Stack, plan: Plan) -> tuple[BackendDrain, ...]:
    """The backends that get no new requests after this plan, and have no pods for requests left in their queue.

    This happens if a switch is reverted before it ends. No drain waits for these requests, so a finding reports them.
    """
    config = stack.config
    if not config.drain.enabled or not any(step.phase == "route" for step in plan.steps):
        return ()
    found = []
    for backend in BACKENDS.values():
        asleep = [one.name for one in plan.targets if one.role == backend.worker and one.replicas[1] == 0]
        if asleep and backend.name not in {config.training, *(drain.backend for drain in plan.drains)}:
            found.append(BackendDrain(backend.name, tuple(asleep), config.drain.timeout, 0, backend.source(stack)))
    return tuple(found)
