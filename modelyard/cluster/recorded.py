"""The recorded platform of a stack: ``stacks/recorded/<env>/``.

``cluster.json`` has the version, the identity, the nodes and quotas as the API server returned them, and what pods
request. Next to it, there is one ``<kind>.<namespace>.<name>.json`` for each object. ``modelyard record`` writes the
folder.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from modelyard.cluster.pods import pod_of
from modelyard.files import ReadError, list_folder, not_json, parse_json, read_file, refuse_links, wrong_form
from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential, hidden
from modelyard.kube.merge.fieldset import is_set
from modelyard.kube.scheduling.capacity import label_keys
from modelyard.kube.scheduling.pods import pods_of
from modelyard.kube.state import ClusterState, ObjectKey, Waiting, key_of, node_of, quotas_of, scalers_of
from modelyard.names import RECORDED
from modelyard.stack.words import plain

if TYPE_CHECKING:
    from modelyard.cluster.live import Snapshot

FORMAT_VERSION = 1
CLUSTER_FILE = "cluster.json"
ABSENT = "CFG101"
"""Code of the finding that a cluster is not recorded."""
NOT_RECORDED: Final = ClusterState(
    source="recorded", identity="", version="", objects=Confidential({}), nodes=(), pods=()
)
"""The state of a cluster that is not recorded."""
_OWNER = ("manager", "operation", "subresource", "apiVersion")


def recorded_folder(root: Path, stack: str) -> Path:
    """The folder of a stack's recorded platform."""
    return root / RECORDED / stack


def recorded_name(stack: str, remote: str) -> str:
    """The name under which a stack's remote cluster is recorded, which no stack can have."""
    return f"{stack}@{remote}"


def recorded_remote_names(root: Path, stack: str) -> set[str]:
    """The recorded remote clusters of a stack, including those that the stack has dropped."""
    folder = recorded_folder(root, "")
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return set()
    names = _remotes_by_stack(folder, changed).get(stack, ())
    return {name for name in names if (folder / recorded_name(stack, name) / CLUSTER_FILE).is_file()}


@lru_cache(maxsize=4)
def _remotes_by_stack(folder: Path, _changed: int) -> dict[str, list[str]]:
    """The names of the recorded remote clusters, by stack.

    The folder's modification time is part of the cache key, so the folder is listed once until it changes; listing it
    for each stack would grow with the square of the number of stacks.
    """
    found: dict[str, list[str]] = {}
    for path in folder.iterdir():
        stack, at, remote = path.name.partition("@")
        if at:
            found.setdefault(stack, []).append(remote)
    return found


def forget_recorded(root: Path, name: str) -> None:
    """Removes the files that ``write_recorded`` certainly wrote; other files in the folder stay.

    Raises:
        OSError: a file cannot be removed, or a link is in the way.
    """
    folder = recorded_folder(root, name)
    refuse_links(folder, root)
    # Other code knows the folder by this file, so it goes last.
    for path in sorted(filter(_is_own, folder.iterdir()), key=lambda path: path.name == CLUSTER_FILE):
        path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _is_own(path: Path) -> bool:
    """Whether ``write_recorded`` writes such a file: the cluster's, or an object's under the name that it would get."""
    if path.name == CLUSTER_FILE:
        return True
    try:
        return _object_file(_key(read_object(path, path.parent))) == path.name
    except (OSError, ValueError, KeyError):
        return False


def stack_of_recorded(name: str) -> str:
    """The stack of a recorded cluster's name, home or remote."""
    return name.partition("@")[0]


def object_keys(state: ClusterState) -> tuple[ObjectKey, ...]:
    """The keys of a cluster's objects."""
    return tuple(state.objects.reveal())


def load_recorded(root: Path, name: str) -> tuple[ClusterState | None, tuple[Finding, ...]]:
    """The cluster recorded under a name (a stack's or ``recorded_name``), or findings that show why there is none."""
    folder, stack = recorded_folder(root, name), stack_of_recorded(name)
    shown = f"{RECORDED}/{name}"
    remedy = again(stack)
    findings: list[Finding] = []
    parsed: dict[str, Any] = {}
    try:
        files = [path for path in list_folder(folder, root) if path.suffix == ".json"]
    except ReadError as error:
        summary = f"the recorded platform cannot be listed: {error.reason}"
        return None, (_error(stack, shown, summary, f"{error.remedy}, or {remedy}"),)
    if not files:
        summary = "no platform is recorded for this stack"
        return None, (Finding(ABSENT, Severity.ERROR, summary, stack=stack, file=shown, remedy=remedy),)
    for path in files:
        try:
            parsed[path.name] = read_object(path, root)
        except ValueError as error:
            summary = f"the recorded platform cannot be read: {not_json(error)}"
            line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
            damaged = _error(stack, f"{shown}/{path.name}", summary, f"delete {path.name}, then {remedy}")
            findings.append(damaged._replace(line=line, column=column))
        except ReadError as error:
            summary = f"the recorded platform cannot be read: {error.reason}"
            findings.append(_error(stack, f"{shown}/{path.name}", summary, f"{error.remedy}, or {remedy}"))
    if findings:
        return None, tuple(findings)
    if CLUSTER_FILE not in parsed:
        summary = f"the recorded platform has no {CLUSTER_FILE}"
        return None, (_error(stack, f"{shown}/{CLUSTER_FILE}", summary, remedy),)
    cluster = parsed.pop(CLUSTER_FILE)
    if cluster.get("formatVersion") != FORMAT_VERSION:
        found = plain(repr(cluster.get("formatVersion")))
        words = f"the recorded platform has formatVersion {found}; this modelyard reads {FORMAT_VERSION}"
        return None, (_error(stack, f"{shown}/{CLUSTER_FILE}", words, f"upgrade modelyard, or {remedy}"),)
    objects: dict[ObjectKey, dict[str, Any]] = {}
    places: dict[ObjectKey, str] = {}
    for file, body in parsed.items():
        try:
            key = _key(body)
            objects[key] = body
            if (other := places.setdefault(key, file)) != file:
                wrong, right = (other, file) if _object_file(key) == file else (file, other)
                summary = f"the recorded platform has {key.kind} {key.name} twice, also in {right}"
                findings.append(_error(stack, f"{shown}/{wrong}", summary, f"delete {wrong}, then {remedy}"))
        except (KeyError, ValueError) as error:
            findings.append(not_recorded(stack, f"{shown}/{file}", _words(error), f"delete {file}, then {remedy}"))
    if findings:
        return None, tuple(findings)
    try:
        return _state(cluster, objects), ()
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return None, (not_recorded(stack, f"{shown}/{CLUSTER_FILE}", _words(error), remedy),)


def recorded_files(folder: Path) -> list[Path]:
    """The files of a recorded cluster, sorted; none if the folder cannot be listed."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return []


def read_object(path: Path, root: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        ReadError: the file cannot be read.
        ValueError: the file contains something else.
    """
    body = parse_json(read_file(path, within=root))
    if not isinstance(body, dict):
        raise ValueError("it is not an object")
    return body


def _key(body: Mapping[str, Any]) -> ObjectKey:
    """The key of an object with the outline of a Kubernetes object.

    Raises:
        KeyError: a part of the key is missing.
        ValueError: a part has another type than in every Kubernetes object.
    """
    metadata = _typed(body, "metadata", dict)
    for name in ("annotations", "labels"):
        for key, value in _typed(metadata, name, dict).items():
            if not isinstance(value, str):
                raise ValueError(f"metadata.{name} has {key} that is not text")
    for name in ("managedFields", "ownerReferences"):
        if not all(isinstance(one, dict) for one in _typed(metadata, name, list)):
            raise ValueError(f"metadata.{name} has an item that is not an object")
    for entry in metadata.get("managedFields") or ():
        if not (is_set(entry.get("fieldsV1") or {}) and all(isinstance(entry.get(part, ""), str) for part in _OWNER)):
            raise ValueError("metadata.managedFields has an entry without manager or fields")
    for name in ("spec", "status"):
        _typed(body, name, dict)
    parts = (body["apiVersion"], body["kind"], metadata.get("namespace") or "", metadata["name"])
    if not all(isinstance(part, str) for part in parts):
        raise ValueError("apiVersion, kind, namespace or name is not text")
    return key_of({**body, "metadata": metadata}, "")


def _typed(body: Mapping[str, Any], name: str, kind: type) -> Any:
    value = body.get(name)
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{name} is not {'an object' if kind is dict else 'a list'}")
    return kind() if value is None else value


def _state(cluster: Mapping[str, Any], objects: Mapping[ObjectKey, dict[str, Any]]) -> ClusterState:
    """The starting state from a cluster's file and the files of its objects.

    Raises:
        KeyError: the file lacks something.
        AttributeError, TypeError, ValueError: something has a wrong type.
    """
    for name in ("identity", "version"):
        if not isinstance(cluster[name], str):
            raise ValueError(f"{name} is not text")
    for name in ("nodes", "pods", "quotas", "scalers", "waiting"):
        bodies = cluster.get(name, [])
        if not (isinstance(bodies, list) and all(isinstance(body, dict) for body in bodies)):
            raise ValueError(f"{name} is not a list of objects")
    for body in (*cluster["nodes"], *cluster.get("quotas", ()), *cluster.get("scalers", ())):
        _key({"apiVersion": "v1", "kind": "Node", **body})
    nodes = tuple(map(node_of, cluster["nodes"]))
    if not all(isinstance(taint, dict) for node in nodes for taint in node.taints):
        raise ValueError("a node has a taint that is not an object")
    pods = tuple(map(pod_of, cluster["pods"]))
    if not all(isinstance(name, str) for pod in pods for name in (pod.node, pod.owner, pod.namespace)):
        raise ValueError("the node, the namespace or the owner of a pod is not text")
    waiting = tuple(map(_waiting, cluster["waiting"])) if "waiting" in cluster else None
    return ClusterState(
        source="recorded",
        identity=cluster["identity"],
        version=cluster["version"],
        objects=Confidential(objects),
        nodes=nodes,
        pods=pods,
        quotas=quotas_of(cluster.get("quotas", ())),
        scalers=scalers_of(cluster.get("scalers", ())),
        waiting=waiting,
    )


def _waiting(pod: Mapping[str, Any]) -> Waiting:
    """A pod that waits for whole GPUs.

    Raises:
        KeyError: the entry lacks something.
        AttributeError, TypeError, ValueError: something has a wrong type.
    """
    names = (pod["name"], pod["namespace"], pod["owner"])
    pods = pods_of({"spec": {"template": {"spec": pod["spec"]}}})
    label_keys(pods)
    if not all(isinstance(name, str) for name in names) or not all(isinstance(one, dict) for one in pods.tolerations):
        raise ValueError("a pod that waits has a part of a wrong type")
    return Waiting(*names, Confidential(pod["spec"]))


def write_recorded(
    root: Path,
    name: str,
    taken: "Snapshot",
    schema_sha256: str,
    waiting: Iterable[Waiting] | None = None,
) -> tuple[Path, ...]:
    """Writes a recorded platform in place of the earlier one and returns the paths of its files.

    Deletes earlier objects that are no longer recorded; files that do not belong to an earlier recorded platform stay.
    Hides Secrets: the folder is committed.

    Raises:
        OSError: the folder cannot be written, or its path contains a link in the project; the earlier recorded platform
            is still there.
    """
    from modelyard.cluster.folder import replace_json

    folder = recorded_folder(root, name)
    cluster: dict[str, Any] = {
        "formatVersion": FORMAT_VERSION,
        "identity": taken.identity,
        "version": taken.version,
        "schemaSha256": schema_sha256,
        "nodes": sorted(taken.nodes.reveal(), key=lambda body: str(body["metadata"]["name"])),
        "pods": sorted(
            taken.pods.reveal(),
            key=lambda pod: (pod["node"], pod["owner"], pod.get("namespace", ""), sorted(pod["requests"].items())),
        ),
    }
    if quotas := taken.quotas.reveal():
        cluster["quotas"] = sorted(quotas, key=_place)
    if scalers := taken.scalers.reveal():
        cluster["scalers"] = sorted(scalers, key=lambda body: (body["kind"], *_place(body)))
    if waiting is not None:
        ordered = sorted(waiting, key=lambda one: (one.namespace, one.name))
        cluster["waiting"] = [{**one._asdict(), "spec": one.spec.reveal()} for one in ordered]
    contents = {_object_file(key_of(body, "")): hidden(body) for body in taken.objects.reveal()}
    texts = {
        file: json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        for file, body in sorted({**contents, CLUSTER_FILE: cluster}.items())
    }
    refuse_links(folder, root)
    replace_json(folder, texts, _is_own)
    return tuple(folder / file for file in texts)


def _place(body: Mapping[str, Any]) -> tuple[str, str]:
    return body["metadata"]["namespace"], body["metadata"]["name"]


def _object_file(key: ObjectKey) -> str:
    return ".".join((key.kind.lower(), *((key.namespace,) if key.namespace else ()), key.name, "json"))


def again(stack: str) -> str:
    """The remedy for a damaged recorded platform of a stack."""
    return f"run: modelyard record {stack}"


def not_recorded(stack: str, file: str, words: str, remedy: str) -> Finding:
    """The finding about a file that ``record`` would not write, and why."""
    return _error(stack, file, f"the recorded platform is invalid: {words}", remedy)


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else wrong_form(error)


def _error(stack: str, file: str, summary: str, remedy: str) -> Finding:
    return Finding("CFG102", Severity.ERROR, summary, stack=stack, file=file, remedy=remedy)
