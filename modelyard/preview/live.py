"""Records the clusters of stacks as they are now, so that both commits of a preview start from the same state.

Sends only requests that read. The base says which contexts are read: the head's files decide neither where credentials
go nor which namespaces are shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lightkube import KubeConfig

from modelyard.cluster.connection import ClusterError, connected, kubeconfigs
from modelyard.cluster.kubeconfig import kubeconfig_paths
from modelyard.cluster.live import Snapshot, snapshot
from modelyard.cluster.recorded import (
    load_recorded,
    recorded_files,
    recorded_folder,
    recorded_name,
    recorded_remote_names,
    write_recorded,
)
from modelyard.files import ReadError, read_file, repository_of
from modelyard.hardware.own import in_project
from modelyard.kube.merge import MergeSchema
from modelyard.kube.state import ObjectKey, Waiting
from modelyard.plan.project import library_of, load_stack, wanted_objects
from modelyard.plan.remote_live import controller_mismatch, objects_to_read
from modelyard.plan.whole_gpus import growing, read_waiting
from modelyard.preview.stacks import StackJob
from modelyard.preview.values import Offline, Unlisted
from modelyard.stack import Stack
from modelyard.workloads.facts.remote import ReachedCluster, remote_clusters

AT_ONCE = 32
"""The number of clusters that are read at a time."""


_Configs = tuple[KubeConfig, ...] | str
"""The operator's kubeconfigs, or why there are none."""


class _Cluster(NamedTuple):
    """A cluster of a stack."""

    stack: Stack
    """At the base."""
    name: str
    """Name of its recorded platform."""
    wanted: frozenset[ObjectKey]
    remote: ReachedCluster | None = None
    """None for the home cluster."""

    @property
    def context(self) -> str | None:
        return self.stack.context if self.remote is None else self.remote.context


class Recorded(NamedTuple):
    """The clusters that were recorded, and those that were not."""

    platforms: Mapping[str, Path]
    """The folder for each stack whose home cluster was read."""
    offline: tuple[Offline, ...]
    """Why the others, and remote clusters, were not read."""
    unlisted: tuple[Unlisted, ...] = ()


class _Reading(NamedTuple):
    """What was read of a context."""

    taken: Snapshot
    waiting: Mapping[str, tuple[Waiting, ...] | None]
    """The pods that wait for whole GPUs, by stack, if a resource of the stack may grow."""
    mismatches: Mapping[str, str]
    """Why a remote cluster is not the one that its stack names, by name of its recorded platform."""


def recorded_now(root: Path, base_root: Path, head_root: Path, jobs: Sequence[StackJob], folder: Path) -> Recorded:
    """Records the clusters of stacks below a folder; each context is read once, all of them at the same time.

    Args:
        root: the user's project.
        base_root: the project at the base.
        head_root: the project at the head.
        jobs: the stacks.
        folder: an empty folder.
    """
    clusters: list[_Cluster] = []
    offline: list[Offline] = []
    for job in jobs:
        found, reasons = _clusters(base_root, head_root, job)
        clusters += found
        offline += [Offline(job.name, why) for why in reasons]
    if not clusters:
        return Recorded({}, tuple(offline))
    contexts: dict[str | None, list[_Cluster]] = {}
    for cluster in clusters:
        contexts.setdefault(cluster.context, []).append(cluster)
    with ThreadPoolExecutor(min(AT_ONCE, len(contexts))) as pool:
        read = partial(_read, _kubeconfigs(root))
        readings = dict(zip(contexts, pool.map(read, contexts.values()), strict=True))
    platforms: dict[str, Path] = {}
    unlisted: list[Unlisted] = []
    for cluster in clusters:
        reading, stack = readings[cluster.context], cluster.stack.name
        why = reading if isinstance(reading, str) else _unfit(base_root, cluster, reading)
        if isinstance(reading, str) or why:
            where = "" if cluster.remote is None else f"remote cluster {cluster.remote.name}: "
            offline.append(Offline(stack, where + why))
            continue
        if cluster.remote is None:
            _copy_remotes(head_root, folder, stack)
            platforms[stack] = folder
        if stack in platforms:
            unlisted += _written(folder, cluster, reading)
    return Recorded(platforms, tuple(sorted(offline)), tuple(sorted(unlisted)))


def _clusters(base_root: Path, head_root: Path, job: StackJob) -> tuple[list[_Cluster], list[str]]:
    """The clusters of a stack that may be read, and why others may not."""
    if job.head is None:
        return [], []
    if job.base is None:
        return [], ["added by this branch, and only the base says which clusters are read"]
    base, head = load_stack(base_root, job.base)[0], load_stack(head_root, job.head)[0]
    if base is None or head is None:
        return [], [f"its file is invalid at the {'base' if base is None else 'head'}"]
    if base.context != head.context:
        return [], ["this branch changes kubernetes:context, and only the base says which clusters are read"]
    if base.config.platform.namespace != head.config.platform.namespace:
        return [], ["this branch changes the namespace of modelyard:platform"]
    found = [_Cluster(base, base.name, _wanted(base_root, base, head_root, head))]
    reasons = []
    earlier = {(remote.name, remote.cluster.place): remote for remote in remote_clusters(base.config)}
    for remote in remote_clusters(head.config):
        before = earlier.get((remote.name, remote.cluster.place))
        if before is None:
            reasons.append(f"remote cluster {remote.name}: added or moved by this branch")
        elif before.cluster.context is None:
            reasons.append(f"remote cluster {remote.name}: it has credentials instead of a context")
        else:
            with in_project(head_root):
                wanted = set(objects_to_read(head, library_of(head_root), remote))
            with in_project(base_root):
                wanted |= {*objects_to_read(base, library_of(base_root), before)}
            name = recorded_name(base.name, before.name)
            found.append(_Cluster(base, name, _inside(wanted, {before.cluster.namespace}), before))
    return found, reasons


def _wanted(base_root: Path, base: Stack, head_root: Path, head: Stack) -> frozenset[ObjectKey]:
    """The objects of the home cluster that the plans of both commits read, in namespaces that the base names."""
    with in_project(base_root):
        own = {*wanted_objects(base_root, base)}
    with in_project(head_root):
        return _inside({*own, *wanted_objects(head_root, head)}, {key.namespace for key in own})


def _inside(keys: Iterable[ObjectKey], namespaces: Iterable[str]) -> frozenset[ObjectKey]:
    known = {*namespaces, ""}
    return frozenset(key for key in keys if key.namespace in known)


def _kubeconfigs(root: Path) -> _Configs:
    """The operator's kubeconfigs, or why there are none that may be used."""
    inside = repository_of(root).resolve()
    for path in kubeconfig_paths():
        if path.resolve().is_relative_to(inside):
            return f"{path} is in the repository, where a branch could change it"
    try:
        return tuple(kubeconfigs())
    except ClusterError as error:
        return error.summary


def _read(configs: _Configs, clusters: Sequence[_Cluster]) -> _Reading | str:
    """One context, read for all stacks that use it; or why it cannot be read."""
    if isinstance(configs, str):
        return configs
    try:
        client = connected(configs, clusters[0].context)
        taken = snapshot(client, sorted({key for cluster in clusters for key in cluster.wanted}))
        return _Reading(
            taken,
            {
                cluster.name: read_waiting(client, cluster.stack.config)
                for cluster in clusters
                if cluster.remote is None and growing(cluster.stack.config)
            },
            {
                cluster.name: controller_mismatch(cluster.remote, client)
                for cluster in clusters
                if cluster.remote is not None
            },
        )
    except ClusterError as error:
        return error.summary


def _unfit(base_root: Path, cluster: _Cluster, reading: _Reading) -> str:
    """Why a cluster that was read is not the one that a stack means; empty if it is."""
    if mismatch := reading.mismatches.get(cluster.name):
        return mismatch
    recorded, _ = load_recorded(base_root, cluster.name)
    if recorded is not None and recorded.identity != reading.taken.identity:
        return f"context {cluster.context} points to another cluster than the recorded one"
    return ""


def _written(folder: Path, cluster: _Cluster, reading: _Reading) -> list[Unlisted]:
    """Writes the recorded platform of a cluster; returns the lists that it lacks."""
    taken = reading.taken.part(cluster.wanted)
    schema = MergeSchema.kubernetes(cluster.stack.config.kubernetes_version)
    write_recorded(folder, cluster.name, taken, schema.sha256, reading.waiting.get(cluster.name))
    remote = "" if cluster.remote is None else cluster.remote.name
    return [Unlisted(cluster.stack.name, remote, taken.unread)] if taken.unread else []


def _copy_remotes(head_root: Path, folder: Path, stack: str) -> None:
    """Copies the recorded remote clusters of a stack, for those that are not read."""
    for remote in recorded_remote_names(head_root, stack):
        name = recorded_name(stack, remote)
        target = recorded_folder(folder, name)
        target.mkdir(parents=True)
        for path in recorded_files(recorded_folder(head_root, name)):
            try:
                content = read_file(path, within=head_root)
            except ReadError:
                content = b""  # as in a damaged recorded platform: the plan reports it
            (target / path.name).write_bytes(content)
