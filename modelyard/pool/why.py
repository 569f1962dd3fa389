"""Why a run waits, or why it failed: quota, queue, nodes, pods, in this order, and what would help."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

from modelyard.cluster.gathered import PoolObjects
from modelyard.names import GPU_RESOURCE
from modelyard.pool.dispatch import asked_clusters, cluster_of, words_of_checks
from modelyard.pool.ended import WORDS, failed_pods, what_would_help
from modelyard.pool.kueue import Queues, Work, least_gpus, owner_name, reason_of
from modelyard.pool.nodes import Floor, Places
from modelyard.pool.objects import asks_for, condition
from modelyard.pool.owners import owner_of_work
from modelyard.pool.runs import Part, Run
from modelyard.pool.states import pod_sets
from modelyard.pool.times import seconds_since
from modelyard.pool.values import Owner, QuotaUse
from modelyard.pool.view import with_flavors
from modelyard.pool.words import plural, some, span
from modelyard.stack.config import Config

About = Literal["queue", "quota", "nodes", "pods", "end"]
_JOB_UID = re.compile(r"JobUID: ([0-9a-f-]+)")
_NOTHING: Mapping[str, Any] = {}


class Cause(NamedTuple):
    """One thing that keeps a run from its GPUs, or ended it."""

    about: About
    summary: str
    details: tuple[str, ...] = ()


class Why(NamedTuple):
    """What is known of a run that does not run."""

    run: Run
    summary: str
    causes: tuple[Cause, ...] = ()
    helps: tuple[str, ...] = ()
    """What to do, the most promising first; empty where nothing is wrong."""


class _Told:
    """What has been found so far."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.helps: list[str] = []

    def cause(self, about: About, summary: str, *details: str) -> None:
        self.causes.append(Cause(about, summary, tuple(details)))

    def why(self, run: Run, summary: str) -> Why:
        return Why(run, summary, tuple(self.causes), tuple(dict.fromkeys(self.helps)))


class Known(NamedTuple):
    """What the answer is found in."""

    objects: PoolObjects
    queues: Queues
    now: datetime


def why(run: Run, pods: Iterable[Mapping[str, Any]], objects: PoolObjects, config: Config, now: datetime) -> Why:
    """Why a run waits or has failed; of one that runs or has succeeded, since when.

    Args:
        run: the run.
        pods: its own, ended ones too.
        objects: the pool, with everything that runs there.
        config: of the stack.
        now: the present, with a time zone.
    """
    told, known, ours = _Told(), Known(objects, Queues(objects, config), now), list(pods)
    match run.state:
        case "succeeded":
            return told.why(run, f"has succeeded{_lasted(run, now)}")
        case "failed":
            return _failed(run, ours, told, known)
        case "cancelled":
            living = [pod for pod in ours if (pod.get("status") or _NOTHING).get("phase") in ("Pending", "Running")]
            return told.why(run, f"was cancelled; {plural(len(living), 'pod')} of it still {_stop(len(living))}")
        case "held":
            told.cause("queue", "the Job that starts its stages is gone, so nothing starts them")
            told.helps.append(f"submit it again: modelyard pipeline submit {run.stack} {run.job}")
            return told.why(run, "waits for ever")
        case "suspended":
            told.cause("queue", "its objects are suspended and name no queue, so nothing starts them")
            told.helps.append(
                f"give its job or resource a team, and submit it again: modelyard job submit {run.stack} {run.job}"
            )
            return told.why(run, "is suspended")
        case "queued":
            waiting = [part for part in run.parts if part.state == "queued"]
            _queued(run, waiting[0], told, known)
            more = f" ({plural(len(waiting), run.noun)})" if len(run.parts) > 1 else ""
            return told.why(run, f"waits for its GPUs{_waited(run, now)}{more}")
        case _:
            _started(run, ours, told, known)
            state = "runs" if run.state == "running" else "has its quota and does not run yet"
            waiting = [part for part in run.parts if part.state == "queued"]
            if waiting:
                _queued(run, waiting[0], told, known)
                state = f"runs in part: {run.count('running')} of {plural(len(run.stages or run.parts), run.noun)}"
            return told.why(run, state + (_lasted(run, now) if run.state == "running" else ""))


def _stop(count: int) -> str:
    return "stops" if count == 1 else "stop"


def _lasted(run: Run, now: datetime) -> str:
    start, end = seconds_since(run.started, now), seconds_since(run.ended, now)
    return "" if start is None else f" after {span(start - end)}" if end is not None else f" for {span(start)}"


def _waited(run: Run, now: datetime) -> str:
    seconds = seconds_since(run.created, now)
    return "" if seconds is None else f" for {span(seconds)}"


def _failed(run: Run, pods: list[Mapping[str, Any]], told: _Told, known: Known) -> Why:
    for part in run.parts:
        if part.state == "failed":
            name = f"{part.name}: " if len(run.parts) > 1 else ""
            details = [part.message] if part.message else []
            told.cause("end", name + WORDS.get(part.reason, part.reason or "it failed"), *details)
    ends = failed_pods(pods)
    if ends:
        first = f"{plural(len(ends), 'pod')} failed, the first of them {ends[0]}"
        told.cause("pods", first, *(str(end) for end in ends[1:5]))
    elif there := _elsewhere(run, known):
        told.cause("pods", f"it ran in another cluster, {there}: what is left of its pods is there")
    elif not pods and run.reason != "DeadlineExceeded":
        told.cause("pods", "its pods are gone, and with them what they ended with")
    for part in run.parts:
        _evicted(part, told, known)
    told.helps += what_would_help(run, ends, logs=bool(pods))
    return told.why(run, f"has failed{_lasted(run, known.now)}")


def _elsewhere(run: Run, known: Known) -> str:
    """The other clusters that run its parts; empty where this one does."""
    works = [known.queues.by_uid.get(part.uid) for part in run.parts]
    return some([*dict.fromkeys(there for work in works if work is not None and (there := cluster_of(work)))])


def _queued(run: Run, part: Part, told: _Told, known: Known) -> None:
    """Why a part has no quota yet."""
    queues = known.queues
    if "workloads" in known.objects.unread:
        told.cause("queue", "these credentials may not read workloads of Kueue")
        told.helps.append("ask for the right to get and list them in kueue.x-k8s.io")
    elif not queues.there:
        told.cause("queue", "it waits for Kueue, and the cluster has none")
        told.helps.append("install Kueue 0.19 or later, which admits what waits in queues")
    else:
        work = queues.by_uid.get(part.uid)
        if work is None:
            told.cause("queue", "Kueue has not taken notice of it yet")
            told.helps.append(
                "wait some seconds; where it stays so, see whether Kueue runs: kubectl -n kueue-system get pods"
            )
        else:
            _evicted(part, told, known)
            if work.reserved and (asked := asked_clusters(work)):
                told.cause("queue", f"it has its quota, and none of {some(asked)} has taken it", *words_of_checks(work))
                show = f"kubectl --namespace {work.namespace} describe workload {work.name}"
                told.helps.append(f"ask those clusters what it lacks: {show}")
                return
            _in_queue(run, work, told, known)
            _room(work, told, known)


def _in_queue(run: Run, work: Work, told: _Told, known: Known) -> None:
    queues = known.queues
    if work.queue is None:
        told.cause("queue", f"namespace {work.namespace} has no queue {work.local_queue}")
        told.helps.append(f"make the team's queues: modelyard apply {run.stack}")
        return
    if (work.body.get("spec") or _NOTHING).get("active") is False:
        words = str(condition(work.body, "Evicted").get("message") or "")
        told.cause("queue", "Kueue has set it aside and does not try it again", *filter(None, [words]))
        told.helps.append(
            f"correct what kept it from starting, and submit it again: modelyard job submit {run.stack} {run.job}"
        )
        return
    if "clusterqueues" in known.objects.unread:
        told.cause("queue", "these credentials may not read clusterqueues of Kueue: quotas are not known")
    elif stopped := queues.stopped(work.queue):
        told.cause("queue", f"queue {work.queue} admits nothing: {stopped}")
        told.helps.append(f"see what it lacks: kubectl describe clusterqueue {work.queue}")
    waiting = queues.waiting(work.queue)
    if work in waiting:
        place = waiting.index(work) + 1
        ahead = [_named(one, queues) for one in waiting[: place - 1]]
        before = f", behind {some(ahead)}" if ahead else ""
        told.cause("queue", f"place {place} of {len(waiting)} in queue {work.queue}{before}")
    words = reason_of(work)
    told.cause("quota", f"it asks for {_gpus(work)}", *_quota_lines(work, known), *filter(None, [words]))
    _quota_helps(run, work, told, known)


def _quota_lines(work: Work, known: Known) -> Iterator[str]:
    for quota in known.queues.quotas(work.queue or ""):
        if quota.resource in dict(work.gpus):
            borrowed = f", {quota.borrowed} of them borrowed" if quota.borrowed else ""
            if quota.borrow is None:
                more = "may borrow what its cohort has free"
            else:
                more = f"may borrow {max(0, quota.borrow - quota.borrowed)} more" if quota.borrow else "may not borrow"
            yield f"{quota.flavor}: {quota.used} used of {quota.nominal}{borrowed}; {more}"


def _quota_helps(run: Run, work: Work, told: _Told, known: Known) -> None:
    queues = known.queues
    for resource, least in least_gpus(work).items():
        limits = [_most(one, work, known) for one in queues.quotas(work.queue or "") if one.resource == resource]
        # In a tree of cohorts more can be lent than their members say.
        if limits and least > max(limits) and not queues.nested(work.queue or ""):
            told.helps.append(
                f"ask for {plural(max(limits), 'GPU')} at most, or raise the quota of {queues.team_of(work.queue)}: "
                f"it can never have {least}"
            )
            return
    cohort = queues.cohort(work.queue or "")
    holders: dict[Owner, list[Work]] = {}
    for one in queues.holding(cohort):
        if one.total:
            holders.setdefault(owner_of_work(one, queues), []).append(one)
    # The team's own first, then those who have the most.
    order = sorted(
        holders, key=lambda owner: (holders[owner][0].queue != work.queue, -_held(holders[owner]), owner.name)
    )
    if order:
        told.helps.append(
            f"it starts when quota comes free; {'its cohort' if len(cohort) > 1 else 'its queue'} is held by "
            + some([f"{_named(holders[one][0], queues)} ({_holds(holders[one], known)})" for one in order])
        )
    own = [one for one in order if holders[one][0].queue == work.queue and one.job is not None and one.name != run.name]
    if own:
        told.helps.append(f"or end one of the team's own: modelyard job cancel {run.stack} {own[0].name}")


def _held(works: Iterable[Work]) -> int:
    return sum(work.total for work in works)


def _holds(works: Iterable[Work], known: Known) -> str:
    """How many GPUs somebody holds, and since when."""
    ours = list(works)
    since = [str(condition(work.body, "QuotaReserved").get("lastTransitionTime") or "") for work in ours]
    seconds = seconds_since(min(since), known.now)
    return plural(_held(ours), "GPU") + ("" if seconds is None else f" for {span(seconds)}")


def _most(quota: QuotaUse, work: Work, known: Known) -> int:
    """The GPUs that a queue can ever have of a flavor."""
    lent = sum(
        other.nominal
        for name in known.queues.cohort(work.queue or "")
        if name != work.queue
        for other in known.queues.quotas(name)
        if other[:2] == quota[:2]
    )
    return quota.nominal + (lent if quota.borrow is None else min(quota.borrow, lent))


def _named(work: Work, queues: Queues) -> str:
    owner = owner_of_work(work, queues)
    return f"{owner.name} of {owner.team}" if owner.team else owner.name or owner_name(work)


def _gpus(work: Work) -> str:
    return (
        ", ".join(plural(count, "GPU") if name == GPU_RESOURCE else f"{count} {name}" for name, count in work.gpus)
        or "no GPU"
    )


def _evicted(part: Part, told: _Told, known: Known) -> None:
    """That Kueue took a part's quota away again, and for whom."""
    work = known.queues.by_uid.get(part.uid)
    evicted = condition(work.body, "Evicted") if work is not None else _NOTHING
    if evicted.get("status") != "True":
        return
    words = str(evicted.get("message") or "")
    found = _JOB_UID.search(words)
    other = known.queues.by_uid.get(found[1]) if found is not None else None
    if evicted.get("reason") == "Preempted" and other is not None:
        told.cause("queue", f"it was stopped in favour of {_named(other, known.queues)}", words)
    else:
        told.cause("queue", f"Kueue took its quota away: {evicted.get('reason')}", *filter(None, [words]))


def _room(work: Work, told: _Told, known: Known) -> None:
    """Whether the nodes would have room, were it admitted now."""
    floor = _floor(told, known)
    for part in (work.body.get("spec") or _NOTHING).get("podSets") or ():
        spec, count = (part.get("template") or _NOTHING).get("spec") or _NOTHING, int(part.get("count", 1))
        if floor is not None and asks_for(spec):
            specs = with_flavors(spec, work, known.queues)
            best = max((floor.places(one, count) for one in specs), key=lambda one: (one.room, one.empty))
            _places(best, count, told)


def _floor(told: _Told, known: Known) -> Floor | None:
    """The nodes and what runs there; None where nobody shows us."""
    if hidden := [name for name in ("nodes", "pods") if name in known.objects.unread]:
        told.cause(
            "nodes", f"these credentials may not list the cluster's {' and '.join(hidden)}, so room is not known"
        )
        return None
    return Floor(known.objects.nodes, known.objects.pods)


def _places(found: Places, count: int, told: _Told) -> None:
    lines = [f"{some(one.nodes)}: {one.reason}" for one in found.refuses]
    if found.room >= count:
        return
    told.cause("nodes", f"the nodes have room for {found.room} of {plural(count, 'worker')} now", *lines)
    if found.empty < count:
        told.helps.append(
            f"the nodes hold {found.empty} of {plural(count, 'worker')} even when empty: add nodes, or ask for less"
        )


def _started(run: Run, pods: list[Mapping[str, Any]], told: _Told, known: Known) -> None:
    """What keeps pods that may run from running."""
    if there := _elsewhere(run, known):
        told.cause("pods", f"it runs in another cluster, {there}: its pods and their logs are there")
    for part in run.parts:
        work = known.queues.by_uid.get(part.uid)
        admitted = condition(work.body, "Admitted") if work is not None and part.state == "starting" else _NOTHING
        if admitted.get("status") == "False":
            told.cause("queue", "it has its quota and is not admitted yet", *filter(None, [admitted.get("message")]))
    living = [pod for pod in pods if (pod.get("status") or _NOTHING).get("phase") == "Pending"]
    homeless = [pod for pod in living if not pod["spec"].get("nodeName")]
    if homeless:
        told.cause(
            "pods",
            f"{plural(len(homeless), 'pod')} of it {'has' if len(homeless) == 1 else 'have'} no node",
            *filter(None, [str(condition(homeless[0], "PodScheduled").get("message") or "")]),
        )
        floor = _floor(told, known)
        if floor is not None:
            _places(floor.places(homeless[0]["spec"], len(homeless)), len(homeless), told)
        told.helps.append(f"see who has the GPUs: modelyard gpus --live {run.stack}")
    for pod in living:
        for one in (pod.get("status") or _NOTHING).get("containerStatuses") or ():
            waiting = (one.get("state") or _NOTHING).get("waiting") or _NOTHING
            if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
                told.cause(
                    "pods", f"{pod['metadata']['name']}: {waiting['reason']}", *filter(None, [waiting.get("message")])
                )
                if "Image" in str(waiting["reason"]):
                    told.helps.append("correct the image's name, or the right to pull it")
    if run.state == "starting" and not (pods or told.causes):
        sets = [count for part in run.parts for _, count in pod_sets(part.body)]
        told.cause("pods", f"none of its {plural(sum(sets), 'pod')} has been made yet")
        told.helps.append(
            "wait some seconds; where it stays so, its controller does not run or a quota of the namespace is full"
        )
