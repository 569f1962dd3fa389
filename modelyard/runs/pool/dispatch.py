"""The worker clusters in which Kueue runs work, or wants to: a Workload names them by their MultiKueueClusters.

Kueue's behaviour comes from its source, version 0.19.2 (pkg/controller/admissionchecks/multikueue): as soon as a run
has ended, its copy in the worker cluster is deleted, with its pods and their logs.
"""

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any, Final

from modelyard.runs.pool.diagnosis import DiagnosisBuilder, Evidence
from modelyard.runs.pool.kueue import Queues, Work, reason_of
from modelyard.runs.pool.objects import NOTHING, condition, status_of
from modelyard.runs.pool.runs import Run, RunPart
from modelyard.stack.config import Config
from modelyard.stack.words import few, listed

_PREFIX: Final = "cluster-"
"""Prefix of the MultiKueueCluster of a stack's worker cluster, as patch team-queues names it."""
_NO_COPY: Final = "Kueue has created no copy yet"
_NO_QUEUE: Final = "doesn't exist"
"""Part of Kueue's message about a workload without its LocalQueue (Kueue 0.19.2, workload_controller.go)."""


def located(runs: Iterable[Run], workloads: Iterable[Mapping[str, Any]], config: Config) -> tuple[Run, ...]:
    """The runs, each with the clusters in which it runs or ran.

    Args:
        runs: a stack's runs.
        workloads: Kueue's workloads in their namespaces.
        config: the stack's config, which has the names of its clusters.
    """
    there: dict[str, str] = {}
    for body in workloads:
        if cluster := status_of(body).get("clusterName"):
            uids = (str(one.get("uid")) for one in body["metadata"].get("ownerReferences") or ())
            there |= dict.fromkeys(uids, cluster_name(str(cluster), config))
    return tuple(
        run._replace(clusters=tuple(dict.fromkeys(there[part.uid] for part in run.parts if part.uid in there)))
        for run in runs
    )


def cluster_name(cluster: str, config: Config) -> str:
    """The stack's name for a MultiKueueCluster, if the stack has one."""
    name = cluster.removeprefix(_PREFIX)
    return name if any(one.name == name for one in config.worker_clusters) else cluster


def taken_in(work: Work, config: Config) -> str | None:
    """The worker cluster that has admitted a Workload; None if there is none."""
    name = status_of(work.body).get("clusterName")
    return cluster_name(str(name), config) if name else None


def asked_of(work: Work, config: Config) -> list[str]:
    """The worker clusters to which Kueue has copied a Workload."""
    names = status_of(work.body).get("nominatedClusterNames") or ()
    return [cluster_name(str(name), config) for name in names]


def clusters_for(run: Run, config: Config) -> tuple[str, ...]:
    """The clusters that have a run and, while a part of the run waits, those to which its team sends jobs."""
    if run.clusters and not run.count("queued"):
        return run.clusters
    theirs = next((team.clusters for team in config.teams if team.name == run.team), ())
    return tuple(dict.fromkeys((*run.clusters, *theirs)))


def is_for_other_clusters(run: Run, part: RunPart, config: Config) -> bool:
    """Whether a part of a run is for other clusters, so that it needs no room in this cluster."""
    return part.dispatched or bool(clusters_for(run, config))


def add_unreached(run: Run, diagnosis: DiagnosisBuilder, known: Evidence) -> bool:
    """Adds the clusters for a run that Kueue does not reach, in Kueue's words; returns whether there are any."""
    found = False
    if "multikueueclusters" in known.objects.unread or not known.queues.installed:
        return found
    bodies = {str(body["metadata"]["name"]): body for body in known.objects.worker_clusters}
    for name in clusters_for(run, known.config):
        # A cluster that the stack has dropped has its own name.
        body = bodies.get(_PREFIX + name) or bodies.get(name)
        active = condition(body, "Active") if body is not None else NOTHING
        if body is None:
            diagnosis.cause("queue", f"Kueue has no worker cluster {name}")
            diagnosis.helps.append(f"register {name}: modelyard apply {run.stack}")
        elif active.get("status") == "False":
            diagnosis.cause("queue", f"Kueue cannot reach worker cluster {name}", active.get("message"))
            diagnosis.helps.append(_what_to_correct(name, body, str(active.get("reason") or "")))
        else:
            continue
        found = True
    return found


def add_asked(run: Run, work: Work, diagnosis: DiagnosisBuilder, known: Evidence) -> None:
    """Adds that a Workload has its quota in the home cluster, and which worker clusters have not admitted it."""
    status = status_of(work.body)
    asked = asked_of(work, known.config)
    words = [str(check.get("message") or "") for check in status.get("admissionChecks") or ()]
    if not asked:
        diagnosis.cause(
            "queue",
            f"{run.rest} has quota in the home cluster, but Kueue has not offered it to a worker cluster yet",
            *words,
        )
        diagnosis.helps.append(
            "wait a few seconds; if nothing changes, see why: "
            f"kubectl --namespace {work.namespace} describe workload {work.name}"
        )
        return
    who = f"{asked[0]} has not" if len(asked) == 1 else f"{listed(asked, 'and')} have not"
    reasons = {name: _reason_there(name, work, known) for name in asked}
    lines = [f"{name}: {reason}" for name, reason in reasons.items() if reason]
    diagnosis.cause("queue", f"{run.rest} has quota in the home cluster, but {who} admitted it yet", *words, *lines)
    helps = (_what_helps_there(name, reason, work, known) for name, reason in reasons.items())
    diagnosis.helps += filter(None, helps)


def add_clusters(run: Run, diagnosis: DiagnosisBuilder) -> None:
    """Adds the clusters that a run is in, and what the user finds there."""
    if run.clusters and run.over:
        diagnosis.cause(
            "pods",
            f"the run was in {few(run.clusters)}, where Kueue deletes pods and their logs as soon as a run ends",
        )
    elif run.clusters and run.stages:
        diagnosis.cause("pods", f"some stages, with their pods and logs, are in {few(run.clusters)}")
    elif run.clusters:
        what = "a part of the run" if run.count("queued") else "the run"
        diagnosis.cause("pods", f"{what}, with its pods and logs, is in {few(run.clusters)}")


def _reason_there(name: str, work: Work, known: Evidence) -> str:
    """Why a cluster has not admitted a Workload, in the words of the cluster's Kueue; empty if these are unknown."""
    cluster = known.by_cluster.get(name)
    if cluster is None:
        return ""
    if cluster.workloads is None:
        return "these credentials may not read Kueue workloads"
    copies = [body for body in cluster.workloads.reveal() if str(body["metadata"]["name"]) == work.name]
    if not copies:
        return _NO_COPY
    (copy,) = Queues(known.objects._replace(workloads=tuple(copies[:1])), known.config).works
    return reason_of(copy) if not copy.reserved else ""


def _what_helps_there(name: str, reason: str, work: Work, known: Evidence) -> str:
    """What the user can do about a cluster that has not admitted a Workload; empty if the cluster was not read."""
    cluster = known.by_cluster.get(name)
    if cluster is not None and cluster.workloads is None:
        return f"ask for the right to get and list workloads of kueue.x-k8s.io in {name}"
    if reason == _NO_COPY:
        return f"make sure that {name} has the namespace {work.namespace}: Kueue copies the run there"
    if _NO_QUEUE in reason:
        return f"create the team's queue in {name}: LocalQueue {work.local_queue} in namespace {work.namespace}"
    if reason:
        return f"wait until quota is free in {name}, or raise the team's quota there"
    context = next((one.context for one in known.config.worker_clusters if one.name == name and one.context), None)
    if context and cluster is None:
        return ""
    there = "" if context else ", with a context of that cluster"
    shown = f"kubectl --context {quote(context) if context else 'CONTEXT'} --namespace {work.namespace}"
    return f"see why {name} does not admit the run{there}: {shown} describe workload {work.name}"


def _what_to_correct(name: str, body: Mapping[str, Any], reason: str) -> str:
    source = (body["spec"].get("clusterSource") or NOTHING).get("kubeConfig") or NOTHING
    secret = f"Secret {source['location']}" if source.get("location") else "its Secret"
    if reason == "ClientConnectionFailed":
        return (
            f"correct the address of {name} in {secret} in Kueue's namespace, or the rights of its account "
            f"in {name}; Kueue retries within 5 min 20 s, or as soon as the kubeconfig changes"
        )
    return f"set key kubeconfig of {secret} in Kueue's namespace to a kubeconfig for {name} that Kueue accepts"
