"""Orders the changes of targets by free GPUs, so that no pod waits for a GPU that the other backend still holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from modelyard.catalog.library import Phase
from modelyard.findings import Finding, Severity
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.scheduling.pods import pods_of
from modelyard.kube.scheduling.room import Room
from modelyard.kube.state import ObjectKey
from modelyard.plan.autoscaling import most_replicas
from modelyard.plan.checks.placement import pods_within, second_cluster
from modelyard.plan.drains import moves_route
from modelyard.plan.keda import Scaling, scalings
from modelyard.plan.reach import kind_rank
from modelyard.plan.values import Step, TargetPlan
from modelyard.probes import BackendDrain, described
from modelyard.probes.values import PATIENCE
from modelyard.stack.config import Config
from modelyard.stack.durations import in_words
from modelyard.stack.words import plural
from modelyard.workloads import Workload
from modelyard.workloads.training import WORKER_ROLES, backend_of, is_head
from modelyard.workloads.training.backend import NoJobSource

STOPS_JOBS = "RES102"
"""Code of the finding that running jobs are stopped."""


class Order(NamedTuple):
    """Targets in the order of their changes, the steps, and the pods that the changes would interrupt."""

    targets: tuple[TargetPlan, ...]
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]


class Switch(NamedTuple):
    """Training moves from one backend to the other."""

    short: str
    """How many of the new pods fit beside the old ones; empty if there are GPUs for both training backends at once."""
    wait: int
    """Seconds that running jobs on the old backend get to finish; 0 where nothing runs there."""
    drained: bool
    """Whether the old backend scales down only once it is idle."""
    to: str
    """The backend that gets pods; ``the other backend`` if none does in this plan."""


def order(
    config: Config,
    targets: Iterable[TargetPlan],
    workloads: Iterable[Workload],
    room: Room,
    drains: Sequence[BackendDrain] = (),
    *,
    waits: bool = True,
) -> Order:
    """The order of a plan's changes: route, up, down, as the vendor recommends; without a spare GPU: route, down, up.

    The route changes before both backends; otherwise the old backend would never become idle. A backend's head changes
    before a route that will lead to it. The drain of a backend comes right before the first target whose change stops
    pods that a job may need. KEDA starts to scale pods after they have changed, and stops before another writer sets
    their number. Without ``waits``, it is the same order, but no step waits for jobs.
    """
    every = tuple(targets)
    done = drains if waits else ()
    scaled = scalings(every)
    deleted = [one.scaler for _, one in sorted(scaled.items()) if one.scaler.action == "delete"]
    others = [target for target in every if not (target.action == "delete" and target.key in scaled)]
    # Changed targets come first. A Deployment comes before objects that may share its name, such as its disruption
    # budget, because it has the pods.
    ranked = sorted(others, key=lambda target: (target.action != "none", target.key.kind in WORKLOAD_KINDS))
    by_name = {target.name: target for target in ranked}
    backends = {workload.deployment for workload in workloads if workload.role in WORKER_ROLES}
    heads = [name for drain in drains for name in drain.targets if is_head(by_name[name].role)]
    # Jobs need the Service of a head, and the budget of their pods, until both are gone.
    last = sorted(
        (name for name, one in by_name.items() if one.action == "delete" and one.key.kind not in WORKLOAD_KINDS),
        key=lambda name: (-kind_rank(by_name[name]), name),
    )
    ups = sorted(
        (name for name in by_name.keys() - heads if _phase(by_name[name]) == "up"),
        key=lambda name: (by_name[name].key in scaled, name),
    )
    downs = sorted(
        (name for name in by_name.keys() - {*heads, *last} if _phase(by_name[name]) == "down"),
        key=lambda name: (_down_rank(scaled.get(by_name[name].key)), name),
    )
    routes = sorted(name for name, target in by_name.items() if target.phase == "route")
    switches = _switches(by_name, ups, downs)
    ahead = _ahead(by_name, ups, heads) if switches else ()
    normal = sorted(
        by_name.keys() - {*ups, *downs, *routes, *heads, *last, *ahead},
        key=lambda name: (kind_rank(by_name[name]), name),
    )
    short = ""
    for up in (by_name[name] for name in ups if name in backends and downs):
        wanted = _new_pods(up)
        free = min(
            room.holds(pods_of(up.after.reveal(), up.place), upto=wanted),
            pods_within(up.after.reveal(), up.place, up.key.namespace, room.quotas),
        )
        if free < wanted:
            short = f"{free} of {wanted} new pods {'fits' if free == 1 else 'fit'} beside it"
    switch = None
    if switches:
        longest = _longest_wait([by_name[name] for name in downs], done, scaled)
        switch = Switch(short, *longest, _to_backend(by_name[name] for name in ups))
    sequence = (
        *ahead,
        *routes,
        *normal,
        *_with_heads(downs + ups if short else ups + downs, heads, drains),
        *last,
    )
    steps = tuple(_steps([*deleted, *(by_name[name] for name in sequence)], switch, done, ahead, scaled))
    waiting = {name for drain in done for name in drain.targets}
    at_once = (target for target in by_name.values() if target.name not in waiting)
    killed = _killed(
        config, at_once, backends, "" if waits else "apply without --no-drain (or MODELYARD_NO_DRAIN); or "
    )
    rank = {name: index for index, name in enumerate(sequence)}
    others.sort(key=lambda target: (rank[target.name], kind_rank(target)))
    return Order((*deleted, *others), steps, tuple(killed))


def _down_rank(scaling: Scaling | None) -> int:
    """Sorts KEDA's object before its Deployment, whose pods KEDA stops; after a Deployment that does not exist yet."""
    if scaling is None:
        return 1
    return 2 if scaling.scaled is not None and scaling.scaled.action == "create" else 0


def _ahead(by_name: Mapping[str, TargetPlan], ups: Iterable[str], waiting: Sequence[str]) -> tuple[str, ...]:
    """The heads to change before a switch to their backend: no job needs them yet.

    A head that starts later would lose requests.
    """
    starting = {backend_of(by_name[name].role) for name in ups} - {None}
    return tuple(
        sorted(
            name
            for name, target in by_name.items()
            if is_head(target.role)
            and backend_of(target.role) in starting
            and target.action in ("create", "update")
            and name not in waiting
        )
    )


def _longest_wait(
    downs: Iterable[TargetPlan], drains: Sequence[BackendDrain], scaled: Mapping[ObjectKey, Scaling]
) -> tuple[int, bool]:
    """Seconds until the old backend's GPUs are free at the latest, and whether the plan drains all of it."""
    limits = {name: drain.limit for drain in drains for name in drain.targets}
    # For a Deployment that KEDA scales to zero, the wait is at KEDA's object.
    for one in scaled.values():
        if one.scaler.name in limits and one.scaled is not None:
            limits.setdefault(one.scaled.name, limits[one.scaler.name])
    running = [target for target in downs if target.replicas[0]]
    waits = [limits.get(target.name, target.grace_period) for target in running]
    return max(waits, default=0), bool(running) and all(target.name in limits for target in running)


def _with_heads(names: Sequence[str], heads: Sequence[str], drains: Sequence[BackendDrain]) -> tuple[str, ...]:
    """The training targets with each waiting head right before its backend's first target."""
    if not heads:
        return tuple(names)
    theirs = {name for drain in drains if set(heads) & set(drain.targets) for name in drain.targets}
    at = next((index for index, name in enumerate(names) if name in theirs), len(names))
    return (*names[:at], *heads, *names[at:])


def _steps(
    targets: Sequence[TargetPlan],
    switch: Switch | None,
    drains: Sequence[BackendDrain],
    ahead: Sequence[str],
    scaled: Mapping[ObjectKey, Scaling],
) -> Iterator[Step]:
    """Each changed target's step, with the drain before the first target that waits for a backend."""
    reported: set[BackendDrain] = set()
    waits = {name: drain for drain in drains for name in drain.targets}
    for target in targets:
        if target.action == "none":
            continue
        drain = waits.get(target.name)
        if drain is not None and drain not in reported:
            reported.add(drain)
            yield Step(target.name, "drain", _why_drain(drain))
        scaling = scaled.get(target.key)
        why = _why(target, switch, drain) if scaling is None else _why_scaling(scaling, drain)
        if target.upgrades:
            why = f"{why}; meanwhile a second RayCluster runs beside the old one: {second_cluster(target)} more"
        if target.name in ahead:
            why = f"{why}; requests go to it only afterwards"
        yield Step(target.name, _phase(target), why)


def _why_drain(drain: BackendDrain) -> str:
    idle = f"until {drain.name} has no running or queued job"
    if isinstance(drain.source, NoJobSource):
        return f"waits {idle}; no source is configured that shows this, so an apply is refused"
    limit = (
        f"after {in_words(drain.limit)}, or {in_words(PATIENCE)} without an answer, the apply fails: {drain.name} is "
        "unchanged, earlier changes stay applied"
    )
    return f"waits {idle} (checks {described(drain.source)}); {limit}"


def _phase(target: TargetPlan) -> Phase:
    """The phase of a target; ``up`` and ``down`` follow the actual number of pods if it is known."""
    before, after = target.replicas
    if target.phase in ("up", "down") and before is not None and after is not None:
        return "up" if after > before else "down" if after < before else target.phase
    return target.phase


def _new_pods(target: TargetPlan) -> int:
    before, after = target.replicas
    return max((after or 0) - (0 if target.upgrades else before or 0), 1 if after is None else 0)


def _fewer_pods(target: TargetPlan) -> int:
    before, after = target.replicas
    return 0 if before is None or after is None else max(before - after, 0)


def _switches(by_name: Mapping[str, TargetPlan], ups: list[str], downs: list[str]) -> bool:
    """Whether training moves from one backend to the other: the route's own field changes, and a backend with it."""
    changes = any(by_name[name].action != "none" for name in (*ups, *downs))
    return changes and moves_route(by_name.values())


def _to_backend(ups: Iterable[TargetPlan]) -> str:
    backends = (backend_of(target.role) for target in ups if target.action != "none")
    titles = {one.title for one in backends if one is not None}
    return titles.pop() if len(titles) == 1 else "the other backend"


def _why(target: TargetPlan, switch: Switch | None, drain: BackendDrain | None) -> str:
    phase = _phase(target)
    if target.action == "delete":
        return _why_delete(target, drain)
    if switch is not None:
        match phase:
            case "route":
                return _why_route(switch)
            case "up":
                return _why_up(target, switch)
            case "down":
                return _why_down(target, switch, drain)
    if target.replaces_pods and drain is not None:
        return f"replaces {plural(target.replaces_pods, 'running pod')} once {drain.name} is idle"
    if drain is not None and (stopped := _fewer_pods(target)):
        return f"stops {plural(stopped, 'pod')} once {drain.name} is idle"
    if drain is not None:
        return f"replaces the pods that an autoscaler may have started, once {drain.name} is idle"
    if target.replaces_pods:
        whose = "its" if target.replaces_pods == 1 else "their"
        jobs = f"; {whose} jobs get {in_words(target.grace_period)} to finish" if target.gpus[0] else ""
        return f"replaces {plural(target.replaces_pods, 'running pod')}{jobs}"
    # An object that the stack owns and that belongs to no workload has no pods.
    return "" if target.managed and not target.role else "no running pod is replaced"


def _why_scaling(scaling: Scaling, drain: BackendDrain | None) -> str:
    name = scaling.scaled.name if scaling.scaled is not None else "its target"
    before, after = scaling.most
    if scaling.scaler.action == "delete":
        return f"KEDA stops scaling {name}, whose pods stay as they are"
    if scaling.pauses and drain is not None:
        return f"KEDA {_to(after)} of {name}, which is idle by then"
    if scaling.pauses:
        now = scaling.scaled
        jobs = f"; jobs that still run get {in_words(now.grace_period)} to finish" if now and now.replicas[0] else ""
        return f"KEDA {_to(after)} of {name}{jobs}"
    if not after:
        return f"KEDA keeps {name} at 0 pods"
    if before == after:
        return f"KEDA keeps scaling {name}, with the new settings"
    return f"KEDA may start up to {plural(after, 'pod')} of {name} from this step on, as work and capacity allow"


def _to(most: int | None) -> str:
    return f"scales down to {plural(most, 'pod')}" if most else "stops the pods"


def _why_delete(target: TargetPlan, drain: BackendDrain | None) -> str:
    if drain is not None:
        return f"is deleted once {drain.name} is idle"
    if target.gpus[0]:
        return f"is deleted; jobs that still run get {in_words(target.grace_period)} to finish"
    return "is deleted"


def _why_route(switch: Switch) -> str:
    moved = f"new training requests go to {switch.to} from this step on"
    if not (switch.short and switch.wait):
        return f"{moved} and wait in its queue until its pods are up"
    longest = f"at most {in_words(switch.wait)}"
    free = f"the drain takes {longest}" if switch.drained else f"jobs that still run there get {longest} to finish"
    until = f"until the old backend's GPUs are free; {free}"
    return f"{moved} and wait in its queue {until}"


def _why_up(target: TargetPlan, switch: Switch) -> str:
    if target.replicas[1] is None:
        room = ", as the old backend's GPUs become free" if switch.short else ""
        most = most_replicas(target.after.reveal())
        if most is None:
            return "KEDA sets the number of its pods"
        return f"the autoscaler may start up to {plural(most, 'pod')} here from this step on{room}"
    if switch.short:
        return "starts on the GPUs that are free by then"
    return "starts beside the old backend: the nodes have GPUs for both"


def _why_down(target: TargetPlan, switch: Switch, drain: BackendDrain | None) -> str:
    jobs = "it has no pods"
    if drain is not None:
        # After "the autoscaler stops its pods" or a sentence about KEDA, "it" would be ambiguous.
        jobs = f"{drain.name if target.replicas[1] is None else 'it'} is idle by then"
    elif target.replicas[0]:
        jobs = (
            f"jobs that still run get {in_words(target.grace_period)} to finish, "
            "and queued jobs stay in the old backend's queue until training switches back"
        )
    if target.replicas[1] is None:
        keda = most_replicas(target.after.reveal()) is None
        return f"KEDA sets the number of its pods; {jobs}" if keda else f"the autoscaler stops its pods; {jobs}"
    return f"scales down first ({switch.short}); {jobs}" if switch.short else f"scales down; {jobs}"


def _killed(config: Config, targets: Iterable[TargetPlan], workloads: Set[str], wait: str) -> Iterator[Finding]:
    """Running GPU pods that this change stops before the longest job of their backend could end.

    The remedy begins with ``wait``, unless the stack itself turns drains off.
    """
    if not config.drain.enabled:
        wait = "drop drain.enabled, so that the apply waits for jobs; or "
    for target in targets:
        backend = backend_of(target.role)
        trains = target.role in WORKER_ROLES and (target.dropped or target.name in workloads)
        if (
            backend is None
            or not trains
            or target.key.kind not in WORKLOAD_KINDS
            or target.action in ("none", "create")
        ):
            continue
        stopped = target.replaces_pods or _fewer_pods(target)
        longest = backend.longest_job(config)
        if stopped and target.grace_period < longest:
            yield Finding(
                STOPS_JOBS,
                Severity.WARNING,
                f"{plural(stopped, 'running pod')} of {target.name} will be stopped; "
                f"a job in it has {in_words(target.grace_period)} to finish",
                target=target.name,
                field=f"{target.role}.gracePeriod",
                detail=f"jobs may take up to {in_words(longest)}; running pods keep their current grace period",
                remedy=f"{wait}apply while no training job runs on this backend",
            )
