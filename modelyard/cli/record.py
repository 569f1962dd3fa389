"""Record the live platform of a stack in stacks/recorded/, so that plans, checks and reviews work without the cluster.

Also records the stack's remote clusters. Replaces an earlier recorded platform, including manual edits.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_files, project_root, reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import stacks_argument
from modelyard.cli.printing import say
from modelyard.cli.progress import beside, followed
from modelyard.cli.signals import ended_by_signal
from modelyard.report.style import safe

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster.live import Snapshot
    from modelyard.kube.state import ObjectKey, Waiting
    from modelyard.stack import Stack


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stacks_argument(parser)
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="for the platform's cluster, use this context of the kubeconfig instead of the stack's",
    )


def run(args: Namespace) -> Exit:
    """Reads the cluster and writes stacks/recorded/<stack>/."""
    with ended_by_signal("record was stopped; every recorded platform is complete, either old or new"):
        root = project_root(args)
        files = chosen_files(root, args)
        each = (_record(root, name, path, args.context) for name, path in files.items())
        for lines in followed(each, len(files)):
            say(lines)
    return Exit.FINE


def _record(root: Path, name: str, path: Path, context: str | None) -> list[str]:
    """Records one stack's platform and its remote clusters, and returns a summary."""
    from modelyard.cluster.live import snapshot
    from modelyard.cluster.recorded import recorded_name
    from modelyard.plan.project import shown
    from modelyard.plan.whole_gpus import growing, read_waiting
    from modelyard.stack import load

    stack, findings = load(path, shown(root, path), root)
    if stack is None:
        raise Stop(Exit.USAGE, f"{name} cannot be recorded", "", findings)
    lines = []
    with reached():
        for remote, client, wanted in _clusters(root, stack, context):
            shown_as = recorded_name(name, remote) if remote else name
            beside(f"recording {safe(shown_as)} …")
            taken = snapshot(client, (*wanted, *_held(root, name, remote)))
            _keep(root, stack, shown_as, taken)
            waiting = read_waiting(client, stack.config) if not remote and growing(stack.config) else None
            lines.append(write_platform(root, stack, shown_as, taken, waiting))
            if taken.unread:
                lists = " or ".join(taken.unread)
                beside(f"these credentials may not list {safe(lists)}, so the recorded platform has none")
    return lines + list(_forgotten(root, stack))


def _keep(root: Path, stack: "Stack", name: str, taken: "Snapshot") -> None:
    """Ends the run instead of replacing objects of another namespace by none: the namespace may be misspelt."""
    from modelyard.cluster.recorded import load_recorded, object_keys
    from modelyard.stack.words import few, plural

    earlier = None if taken.object_count else load_recorded(root, name)[0]
    keys = object_keys(earlier) if earlier is not None else ()
    namespaces = sorted({key.namespace for key in keys if key.namespace})
    namespace = stack.config.platform.namespace
    if namespaces and namespace not in namespaces:
        raise Stop(
            Exit.USAGE,
            f"{name} was not recorded: namespace {namespace} has none of its objects, and the recorded platform, which "
            f"has {plural(len(keys), 'object')} in {few(namespaces)}, would be lost",
            f"correct platform.namespace; to record an empty platform, delete stacks/recorded/{name} first",
        )


def _forgotten(root: Path, stack: "Stack") -> "Iterator[str]":
    """Removes recordings of remote clusters that the stack neither names nor uses, and reports them."""
    from modelyard.cluster.engine_state import StateError, state_objects
    from modelyard.cluster.recorded import forget_recorded, recorded_name, recorded_remote_names
    from modelyard.workloads.facts.remote import remote_clusters

    for remote in sorted(recorded_remote_names(root, stack.name) - {one.name for one in remote_clusters(stack.config)}):
        try:
            kept = state_objects(root, stack.name, remote)
        except StateError:
            continue
        if not kept:
            name = recorded_name(stack.name, remote)
            forget_recorded(root, name)
            yield safe(f"{name}: the cluster has nothing of {stack.name} any more; its recorded platform is removed")


def _clusters(root: Path, stack: "Stack", context: str | None) -> "Iterator[tuple[str, Client, tuple[ObjectKey, ...]]]":
    """The clusters of a stack, with the platform's under an empty name, and the objects to record of each."""
    from modelyard.cluster.connection import CONTEXT_KEY, connect
    from modelyard.plan.project import library_of, wanted_objects
    from modelyard.workloads.facts.remote import remote_clusters

    yield "", connect(context or stack.context, "--context" if context else CONTEXT_KEY), wanted_objects(root, stack)
    for remote in remote_clusters(stack.config):
        from modelyard.cluster.remote_credentials import write_remote_credentials
        from modelyard.plan.remote_live import objects_to_read, remote_client

        write_remote_credentials(root, stack)
        yield remote.name, remote_client(stack, remote), objects_to_read(stack, library_of(root), remote)


def write_platform(
    root: Path, stack: "Stack", name: str, taken: "Snapshot", waiting: "tuple[Waiting, ...] | None" = None
) -> str:
    """Writes the objects read from one cluster and describes them."""
    from modelyard.cluster.folder import unfinished
    from modelyard.cluster.recorded import recorded_files, recorded_folder, write_recorded
    from modelyard.kube.merge import MergeSchema
    from modelyard.plan.project import shown
    from modelyard.stack.words import plural

    schema = MergeSchema.kubernetes(stack.config.kubernetes_version)
    written = write_recorded(root, name, taken, schema.sha256, waiting)
    if foreign := [path.name for path in recorded_files(recorded_folder(root, name)) if path not in written]:
        beside(
            f"not recorded by modelyard, and left in {safe(shown(root, recorded_folder(root, name)))}: "
            f"{safe(', '.join(foreign))}; move them away, because plans read every .json file there"
        )
    for path in unfinished(recorded_folder(root, name)):
        beside(
            f"{safe(shown(root, path))} is not known to be modelyard's, and was left alone; "
            "if an earlier record was stopped there, delete it"
        )
    return safe(
        f"{name}: {plural(taken.object_count, 'object')} and {plural(taken.node_count, 'node')} of Kubernetes "
        f"{taken.version} in {shown(root, recorded_folder(root, name))} ({plural(len(written), 'file')})"
    )


def _held(root: Path, name: str, remote: str) -> "tuple[ObjectKey, ...]":
    """Objects left by earlier applies, which an offline plan needs too; empty where unknown."""
    from modelyard.cluster.engine_state import StateError, state_objects

    try:
        return tuple(state_objects(root, name, remote))
    except StateError:
        return ()
