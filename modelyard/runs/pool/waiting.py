"""Why a part of a run has no quota yet, or lost it: Kueue, its queue, the quotas, and the room on nodes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from modelyard.kube.scheduling.capacity import obstacle
from modelyard.kube.scheduling.pods import Pods
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE
from modelyard.runs.pool.diagnosis import DiagnosisBuilder, Evidence
from modelyard.runs.pool.dispatch import add_asked, add_unreached, is_for_other_clusters
from modelyard.runs.pool.kueue import Queues, Work, least_gpus, next_try, owner_name, reason_of
from modelyard.runs.pool.objects import NOTHING, asks_for, condition, spec_of
from modelyard.runs.pool.owners import owner_of_work
from modelyard.runs.pool.room import add_room
from modelyard.runs.pool.runs import Run, RunPart
from modelyard.runs.pool.values import PodOwner, QuotaUse
from modelyard.runs.pool.words import moment, seconds_since, span
from modelyard.stack.words import few, plural

_JOB_UID = re.compile(r"JobUID: ([0-9a-f-]+)")


def add_waiting(run: Run, part: RunPart, diagnosis: DiagnosisBuilder, known: Evidence) -> None:
    """Adds why a part has no quota yet."""
    queues = known.queues
    if "workloads" in known.objects.unread:
        diagnosis.cause("queue", "these credentials may not read Kueue workloads")
        diagnosis.helps.append("ask for the right to get and list them in kueue.x-k8s.io")
    elif not queues.installed:
        diagnosis.cause("queue", "the run needs Kueue, which the cluster does not have")
        diagnosis.helps.append("install Kueue 0.19 or later")
    elif (work := queues.by_uid.get(part.uid)) is None:
        diagnosis.cause("queue", "Kueue has not created a workload for the run yet")
        diagnosis.helps.append(
            "wait a few seconds; if nothing changes, check that Kueue is running: kubectl -n kueue-system get pods"
        )
    else:
        add_evicted(part, diagnosis, known)
        dispatched = is_for_other_clusters(run, part, known.config)
        unreached = dispatched and add_unreached(run, diagnosis, known)
        if dispatched and work.reserved:
            add_asked(run, work, diagnosis, known)
        else:
            _in_queue(run, work, diagnosis, known, explained=unreached)
        if not dispatched:
            add_room(work, diagnosis, known)


def add_growing(run: Run, part: RunPart, diagnosis: DiagnosisBuilder, known: Evidence) -> None:
    """Adds why a running part does not get the additional workers that it requests."""
    if (work := known.queues.more.get(part.uid)) is not None:
        _in_queue(run, work, diagnosis, known, explained=False)


def _in_queue(run: Run, work: Work, diagnosis: DiagnosisBuilder, known: Evidence, *, explained: bool) -> None:
    queues = known.queues
    if work.queue is None:
        diagnosis.cause("queue", f"namespace {work.namespace} has no queue {work.local_queue}")
        diagnosis.helps.append(_create_queues(run))
        return
    if spec_of(work.body).get("active") is False:
        words = str(condition(work.body, "Evicted").get("message") or "")
        diagnosis.cause("queue", "Kueue has deactivated the run and does not retry it", words)
        diagnosis.helps.append(f"correct what stopped it, then {run.again}")
        return
    if "clusterqueues" in known.objects.unread:
        diagnosis.cause("queue", "these credentials may not read Kueue clusterqueues, so quotas are unknown")
    elif stopped := queues.stopped(work.queue):
        diagnosis.cause("queue", f"queue {work.queue} admits nothing: {stopped}")
        if work.queue not in queues.bodies:
            diagnosis.helps.append(_create_queues(run))
            return
        if not explained:
            diagnosis.helps.append(f"see why: kubectl describe clusterqueue {work.queue}")
    waiting = queues.waiting(work.queue)
    if work in waiting:
        position = waiting.index(work) + 1
        ahead = Counter(_named(one, queues) for one in waiting[: position - 1])
        names = [f"{name} ({many} workloads)" if many > 1 else name for name, many in ahead.items()]
        before = f", behind {few(names)}" if names else ""
        diagnosis.cause("queue", f"position {position} of {len(waiting)} in queue {work.queue}{before}")
    words = reason_of(work)
    # Right after Kueue has taken quota away, this message says why, which is already reported.
    evicted = str(condition(work.body, "Evicted").get("message") or "")
    more = " more" if queues.adds(work) else ""
    who = "the run" if more or len(run.parts) == 1 else f"a waiting {run.noun}"
    diagnosis.cause(
        "quota",
        f"{who} asks for {_gpus(work)}{more}",
        *_quota_lines(work, known),
        words if words != evicted else None,
    )
    _quota_helps(run, work, diagnosis, known)


def _create_queues(run: Run) -> str:
    queues = "queues there" if run.remote else "team's queues"
    return f"create the {queues}: modelyard apply {run.stack}"


def _quota_lines(work: Work, known: Evidence) -> Iterator[str]:
    for quota in known.queues.quotas(work.queue or ""):
        if quota.resource in dict(work.gpus):
            borrowed = f", {quota.borrowed} of them borrowed" if quota.borrowed else ""
            if quota.borrow is None:
                more = "may borrow free quota of its cohort"
            elif not quota.borrow:
                more = "cannot borrow"
            else:
                # In a tree of cohorts, more can be lent than the members show.
                nested = known.queues.nested(work.queue or "")
                limit = quota.borrow if nested else _most(quota, work, known) - quota.nominal
                more = f"may borrow {max(0, limit - quota.borrowed)} more"
            yield f"{quota.flavor}: {quota.used} of {quota.nominal} used{borrowed}; {more}"


def _quota_helps(run: Run, work: Work, diagnosis: DiagnosisBuilder, known: Evidence) -> None:
    queues = known.queues
    for resource, least in least_gpus(work).items():
        limits = (_most(one, work, known) for one in queues.quotas(work.queue or "") if one.resource == resource)
        most = max(limits, default=0)
        # In a tree of cohorts, more can be lent than the members show.
        if least > most and work.queue in queues.bodies and not queues.nested(work.queue):
            less = f"ask for at most {_counted({resource: most})}, or " if most else ""
            whose = f"queue {work.queue}" if run.remote else queues.team_of(work.queue)
            together = " with its cohort" if len(queues.cohort(work.queue)) > 1 else ""
            needs = f"the run needs {_counted({resource: least})}, more than its queue can have{together}"
            diagnosis.helps.append(f"{less}raise the quota of {whose}: {needs}")
            return
    cohort = queues.cohort(work.queue or "")
    holders: dict[PodOwner, list[Work]] = {}
    wanted = _could_take(work, queues)
    for one in queues.holding(cohort):
        if queues.adds(work) and one.uids == work.uids:
            continue  # What it holds itself is not in its way.
        # Without the right to read quotas, only the names of resources are known.
        same = wanted.intersection(one.flavors) if wanted else dict(one.gpus).keys() & dict(work.gpus).keys()
        if one.total and same:
            holders.setdefault(owner_of_work(one, queues), []).append(one)
    # Owners in its own queue first, then those that hold the most.
    order = sorted(
        holders, key=lambda owner: (holders[owner][0].queue != work.queue, -_held(holders[owner]), owner.name)
    )
    itself = [one for one in order if one.job is not None and one.name == run.name]
    if order and order == itself and not queues.adds(work):
        held = _holds(holders[order[0]], known)
        where = "cohort" if len(cohort) > 1 else "queue"
        diagnosis.helps.append(
            f"the next {run.noun} starts when a running one ends: the run itself holds its {where}'s quota ({held})"
        )
    elif order:
        diagnosis.helps.append(
            f"{'the run grows' if queues.adds(work) else run.rest + ' starts'} when quota of "
            f"{'its cohort' if len(cohort) > 1 else 'its queue'} is free, now held by "
            + few([f"{_holder(one, holders[one], run, queues)} ({_holds(holders[one], known)})" for one in order])
        )
    own = [one for one in order if holders[one][0].queue == work.queue and one.job is not None and one.name != run.name]
    if own:
        those = "the runs in its queue" if run.remote else "the team's runs"
        diagnosis.helps.append(f"or cancel one of {those}: modelyard job cancel {run._replace(name=own[0].name).words}")


def _could_take(work: Work, queues: Queues) -> set[tuple[str, str]]:
    """The resources and flavors that a Workload could use: runs on others do not keep it waiting."""
    # The cohort's quotas count too: its own queue can borrow what it lacks.
    quotas = {
        (quota.resource, quota.flavor)
        for name in queues.cohort(work.queue or "")
        for quota in queues.quotas(name)
        if quota.resource in dict(work.gpus)
    }
    specs = [pods.spec for pods in work.pod_sets if asks_for(pods.spec)]

    def takes(flavor: str) -> bool:
        labels = queues.flavors.get(flavor, NOTHING).get("nodeLabels") or {}
        return not any(obstacle(Pods(spec, {}, 0), Node(flavor, labels, (), {})) for spec in specs)

    # Pods may ask for labels that no flavor has; Kueue ignores those.
    return {one for one in quotas if takes(one[1])} or quotas


def _held(works: Iterable[Work]) -> int:
    return sum(work.total for work in works)


def _holds(works: Iterable[Work], known: Evidence) -> str:
    """How many GPUs an owner holds, and since when."""
    ours = list(works)
    since = [str(condition(work.body, "QuotaReserved").get("lastTransitionTime") or "") for work in ours]
    seconds = seconds_since(min(since), known.now)
    total = Counter[str]()
    for work in ours:
        total.update(dict(work.gpus))
    return _counted(total) + ("" if seconds is None else f", for {span(seconds)}")


def _most(quota: QuotaUse, work: Work, known: Evidence) -> int:
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
    if work.queue is not None and work.queue not in queues.teams:
        return f"{owner.words} of queue {work.queue}"
    return f"{owner.words} of {owner.team}" if owner.team else owner.words or owner_name(work)


def _holder(owner: PodOwner, works: Sequence[Work], run: Run, queues: Queues) -> str:
    return "the run itself" if owner.job is not None and owner.name == run.name else _named(works[0], queues)


def _gpus(work: Work) -> str:
    return _counted(dict(work.gpus)) or "no GPU"


def _counted(gpus: Mapping[str, int]) -> str:
    """A number of whole GPUs, and of slices by their names, in words."""
    return ", ".join(
        plural(count, "GPU") if name == GPU_RESOURCE else f"{count} {name}" for name, count in gpus.items()
    )


def add_evicted(part: RunPart, diagnosis: DiagnosisBuilder, known: Evidence) -> None:
    """Adds that Kueue evicted a part, and in favor of which run."""
    work = known.queues.by_uid.get(part.uid)
    evicted = condition(work.body, "Evicted") if work is not None else NOTHING
    if evicted.get("status") != "True":
        return
    words = str(evicted.get("message") or "")
    found = _JOB_UID.search(words)
    other = known.queues.by_uid.get(found[1]) if found is not None else None
    if evicted.get("reason") == "Preempted" and other is not None:
        diagnosis.cause("queue", f"the run was preempted for {_named(other, known.queues)}", words)
    else:
        diagnosis.cause("queue", f"Kueue evicted the run: {evicted.get('reason')}", words)
    again = moment(next_try(work)) if work is not None else None
    if again is not None and again > known.now:
        diagnosis.cause("queue", f"Kueue retries the run in {span(int((again - known.now).total_seconds()))}")
