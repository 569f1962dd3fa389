"""The input of a rule: one Kubernetes object as it will be, and its stack's facts about it."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.workloads import Facts

_NOTHING: Mapping[str, Any] = {}
_TEMPLATES = {
    **dict.fromkeys(
        ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"), "spec.template"
    ),
    "CronJob": "spec.jobTemplate.spec.template",
    "ScaledJob": "spec.jobTargetRef.template",
}
"""Where kinds with one pod template have it."""
_RAY = {"RayCluster": "spec", "RayJob": "spec.rayClusterSpec", "RayService": "spec.rayClusterConfig"}


class Template(NamedTuple):
    """The pods that an object makes."""

    path: str
    """Path of the template in the object, such as ``spec.template``; empty for a Pod, which is its own template."""
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    containers: tuple[tuple[str, Mapping[str, Any]], ...]
    """Every container with its path in the object, init containers last."""

    def at(self, field: str) -> str:
        """A field of the pod as a field of the object."""
        return f"{self.path}.{field}" if self.path else field


class Subject(NamedTuple):
    """One object, as every rule sees it. Frozen: a rule changes nothing in it."""

    api_version: str
    kind: str
    namespace: str
    """Empty if the object does not set it, or has none."""
    name: str
    object: Mapping[str, Any]
    """The object as it will be, regardless of what set its fields."""
    sent: Mapping[str, Any]
    """The part of it that this stack asks for."""
    whole: bool
    """Whether ``object`` has every field. False if only a part is known: a missing field then means
    nothing."""
    role: str
    """The workload it belongs to (``rayWorker`` …), empty if it belongs to none."""
    facts: Facts
    """The stack's facts, by the paths that patches use (``training``, ``rayWorker.memory``); empty if the stack
    file is not known."""
    templates: tuple[Template, ...]
    """The pods that it makes; none for an object that makes no pods."""
    cluster: str = ""
    """Name of the remote cluster that it is in; empty: the home cluster."""

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The object's annotations, not its pods'."""
        return mapping(mapping(self.object.get("metadata")).get("annotations"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """The object's spec, empty if it has none."""
        return mapping(self.object.get("spec"))

    def finding(self, summary: str, *, field: str = "", detail: str = "", remedy: str = "") -> Finding:
        """A finding about this object. The caller adds the rule's code and severity.

        Args:
            summary: one line without a full stop: what is wrong, with the value that shows it.
            field: its path in the object, such as ``spec.replicas``.
            detail: why it is wrong.
            remedy: what to do next, as an instruction.
        """
        return Finding("", Severity.ERROR, summary, target=self.name, field=field, detail=detail, remedy=remedy)


def subject_of(
    body: Mapping[str, Any],
    *,
    role: str = "",
    facts: Facts = _NOTHING,
    sent: Mapping[str, Any] | None = None,
    whole: bool = True,
    namespace: str = "",
    name: str = "",
    cluster: str = "",
) -> Subject:
    """The subject of an object.

    Args:
        body: the object.
        role: the workload it belongs to.
        facts: the stack's facts.
        sent: the part that the stack asks for; None for all of it.
        whole: whether ``body`` has every field.
        namespace: used if the object does not set one.
        name: used if the object does not set one.
        cluster: name of the remote cluster that it is in; empty: the home cluster.
    """
    metadata = mapping(body.get("metadata"))
    kind = str(body.get("kind") or "")
    return Subject(
        api_version=str(body.get("apiVersion") or ""),
        kind=kind,
        namespace=str(metadata.get("namespace") or namespace),
        name=str(metadata.get("name") or name),
        object=body,
        sent=body if sent is None else sent,
        whole=whole,
        role=role,
        facts=facts,
        templates=tuple(_templates(kind, body)),
        cluster=cluster,
    )


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one: an object from another author may hold anything."""
    return value if value.__class__ is dict or isinstance(value, Mapping) else _NOTHING


def _list(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(filter(None, map(mapping, value))) if isinstance(value, list) else ()


def _item(key: str, name: Any) -> str:
    """An item of a list in the notation of paths: ``[name=worker]``; empty if it has no name."""
    return _named(key, name) if isinstance(name, str) else ""


@lru_cache(maxsize=1024)
def _named(key: str, name: str) -> str:
    # In quotes if it could be read as something else.
    plain = name[:1].isalpha() and name.isascii() and name.replace("-", "").isalnum()
    return f"[{key}={name}]" if plain and name not in ("true", "false", "null") else f"[{key}={json.dumps(name)}]"


def _below(body: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    for name in path.split("."):
        body = mapping(body.get(name))
    return body


def _templates(kind: str, body: Mapping[str, Any]) -> Iterator[Template]:
    if kind in _TEMPLATES:
        yield from _template(_TEMPLATES[kind], _below(body, _TEMPLATES[kind]))
    elif kind == "Pod":
        yield from _template("", body)
    elif kind in _RAY:
        cluster = _below(body, _RAY[kind])
        yield from _template(f"{_RAY[kind]}.headGroupSpec.template", _below(cluster, "headGroupSpec.template"))
        for group in _list(cluster.get("workerGroupSpecs")):
            path = f"{_RAY[kind]}.workerGroupSpecs{_item('groupName', group.get('groupName'))}.template"
            yield from _template(path, mapping(group.get("template")))


def _template(path: str, value: Mapping[str, Any]) -> Iterator[Template]:
    if not value:
        return
    spec, prefix = mapping(value.get("spec")), f"{path}.spec" if path else "spec"
    containers = [
        (f"{prefix}.{group}{_item('name', container.get('name'))}", container)
        for group in ("containers", "initContainers")
        for container in _list(spec.get(group))
    ]
    yield Template(path, mapping(value.get("metadata")), spec, tuple(containers))
