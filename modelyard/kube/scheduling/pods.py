"""Reads the pods of an object from its pod templates; only this module knows where templates and numbers are."""

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from modelyard import quantity
from modelyard.kube.merge.path import Key, Path
from modelyard.names import GPU_RESOURCE

_NOTHING: Mapping[str, Any] = {}
_ZERO = Fraction(0)
ONE_TEMPLATE: Final = Path(("spec",))
"""Where an object with one pod template has its pods."""
RAY_CLUSTERS: Final[Mapping[str, Path]] = {
    "RayCluster": Path(("spec",)),
    "RayService": Path(("spec", "rayClusterConfig")),
}
"""Where KubeRay's objects describe their Ray cluster, by kind."""
RAY_HEAD: Final = "headGroupSpec"
RAY_GROUPS: Final = "workerGroupSpecs"
"""The fields of a Ray cluster that describe the pods of its head and of its worker groups."""
_SIZES: Final = ("replicas", "minReplicas", "maxReplicas", "scaleStrategy")
"""The fields of a worker group that change without a new RayCluster (KubeRay's ``rayservice_controller.go``)."""
_KEEPS_PODS: Final = (
    ("spec", "upgradeStrategy"),
    *(("spec", "workerGroupSpecs", name) for name in ("replicas", "minReplicas", "maxReplicas")),
    ("spec", "workerGroupSpecs", "scaleStrategy", "workersToDelete"),
    *(
        ("spec", group, "template", "spec", name)
        for group in ("headGroupSpec", "workerGroupSpecs")
        for name in ("tolerations", "schedulingGates")
    ),
)
"""Fields of a RayCluster with ``upgradeStrategy: Recreate`` that may change without new pods; any other field of the
spec counts, by ``GenerateHashWithoutReplicasAndWorkersToDelete`` of KubeRay 1.6.2.
"""


class Pods(NamedTuple):
    """Identical pods of one object."""

    spec: Mapping[str, Any]
    """The pod template's spec."""
    requests: Mapping[str, Fraction]
    """What one pod uses of its node: cores, bytes or counts by resource name."""
    gpus: int
    """Whole GPUs of one pod."""

    @property
    def selector(self) -> Mapping[str, str]:
        """Labels that a node must have."""
        return self.spec.get("nodeSelector") or _NOTHING

    @property
    def terms(self) -> tuple[Mapping[str, Any], ...] | None:
        """Node selector terms of which one must match; None if any node matches."""
        affinity = (self.spec.get("affinity") or _NOTHING).get("nodeAffinity") or _NOTHING
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        return None if required is None else tuple(required.get("nodeSelectorTerms") or ())

    @property
    def tolerations(self) -> tuple[Mapping[str, Any], ...]:
        """Taints that do not keep the pods away."""
        return tuple(self.spec.get("tolerations") or ())

    @property
    def rules(self) -> str:
        """A text of what decides which nodes may hold the pods, besides sizes: equal rules, equal nodes."""
        return repr((self.selector, self.terms, self.tolerations))

    def container(self, name: str) -> Mapping[str, Any]:
        """Returns the container with that name, empty if there is none."""
        return next((one for one in self.spec.get("containers") or () if one.get("name") == name), _NOTHING)


def ray_pods(kind: str, group: str = "") -> Path:
    """Where an object of KubeRay has the pods of a worker group, or without one those of the head."""
    cluster = RAY_CLUSTERS[kind]
    return cluster / RAY_GROUPS / Key((("groupName", group),)) if group else cluster / RAY_HEAD


def is_ray_head(place: Path) -> bool:
    """Whether an object has the pods of a Ray head at a place."""
    return place[-1] == RAY_HEAD


def ray_cluster(body: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Returns the Ray cluster that an object of KubeRay describes; empty for other kinds."""
    place = RAY_CLUSTERS.get((body or _NOTHING).get("kind", ""))
    return _NOTHING if place is None else _at(body, place) or _NOTHING


def pod_places(body: Mapping[str, Any] | None) -> tuple[Path, ...]:
    """Returns where an object has its pods: once, or for the head and each worker group of a Ray cluster."""
    kind = (body or _NOTHING).get("kind", "")
    if kind not in RAY_CLUSTERS:
        return (ONE_TEMPLATE,)
    groups = _at(body, RAY_CLUSTERS[kind] / RAY_GROUPS)
    found = groups if isinstance(groups, list) else []
    names = [one.get("groupName") for one in found if isinstance(one, Mapping)]
    return (ray_pods(kind), *(ray_pods(kind, str(name)) for name in names))


def pods_of(body: Mapping[str, Any] | None, place: Path = ONE_TEMPLATE) -> Pods:
    """Returns the pods that an object has at a place; for None, pods without requests."""
    spec = pod_spec(body, place)
    requests = _total(spec, container_requests)
    return Pods(spec, requests, int(requests.get(GPU_RESOURCE, 0)))


def pod_spec(body: Mapping[str, Any] | None, place: Path = ONE_TEMPLATE) -> Mapping[str, Any]:
    """Returns the pod template's spec, empty if there is none: that field of a node pool is a template of nodes."""
    if body is not None and body.get("kind") == "NodePool":
        return _NOTHING
    return ((_at(body, place) or _NOTHING).get("template") or _NOTHING).get("spec") or _NOTHING


def pod_annotations(body: Mapping[str, Any] | None, place: Path = ONE_TEMPLATE) -> Mapping[str, str]:
    """Returns the annotations of the pod template that an object has at a place."""
    template = (_at(body, place) or _NOTHING).get("template") or _NOTHING
    return (template.get("metadata") or _NOTHING).get("annotations") or _NOTHING


def grace_of(body: Mapping[str, Any] | None, place: Path = ONE_TEMPLATE) -> int:
    """Returns the seconds that a pod of the object has between the request to stop and the kill."""
    return int(pod_spec(body, place).get("terminationGracePeriodSeconds", 30))


def is_rolled(body: Mapping[str, Any] | None) -> bool:
    """Whether a new pod template replaces the pods; with OnDelete, a StatefulSet waits until they are deleted.

    KubeRay replaces pods of a RayCluster from 1.6 on, with ``upgradeStrategy: Recreate``, and those of a RayService
    unless its ``upgradeStrategy`` is ``None``.
    """
    found = body or _NOTHING
    spec = found.get("spec") or _NOTHING
    upgrade = (spec.get("upgradeStrategy") or _NOTHING).get("type")
    match found.get("kind"):
        case "RayCluster":
            return bool(upgrade == "Recreate")
        case "RayService":
            return bool(upgrade != "None")
    return (spec.get("updateStrategy") or _NOTHING).get("type") != "OnDelete"


def changes_template(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    changed: Iterable[Path],
    *,
    running: bool = False,
) -> bool:
    """Whether one of the changed fields is in a pod template of an object, or holds such a template.

    All fields of the Ray cluster in a RayService count as its template, except the sizes of groups and new groups.

    Args:
        before: the object before the change.
        after: the object after the change.
        changed: the changed fields.
        running: whether only templates with running pods count.
    """
    if (after or _NOTHING).get("kind") == "RayService":
        had = pod_places(before)
        return any(_renews(path, had) for path in changed)
    return bool(changed_templates(before, after, changed, running=running))


def changed_templates(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    changed: Iterable[Path],
    *,
    running: bool = False,
) -> tuple[Path, ...]:
    """Returns the places of pods whose template has one of the changed fields; arguments as above."""
    paths = tuple(changed)
    return tuple(
        place
        for place in pod_places(after)
        if not running or 0 not in (replicas_of(before, place), replicas_of(after, place))
        if any(_touches(path, place / "template") for path in paths)
    )


def _touches(path: Path, place: Path) -> bool:
    """Whether a field is at a place, in it, or around it."""
    return path[: len(place)] == place[: len(path)]


def _renews(path: Path, places: Collection[Path]) -> bool:
    """Whether KubeRay makes a new RayCluster of a RayService that has pods at these places if a field changes."""
    cluster = RAY_CLUSTERS["RayService"]
    below = path[len(cluster) :]
    if not _touches(path, cluster):
        return False
    if below[:1] != (RAY_GROUPS,) or len(below) < 2:
        return True
    known = Path(path[: len(cluster) + 2]) in places
    return known and not (len(below) > 2 and below[2] in _SIZES)


def replaced_pods(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, changed: Iterable[Path]) -> int:
    """Returns how many running pods a change of an object replaces with new ones.

    Args:
        before: the object before the change.
        after: the object after the change.
        changed: the changed fields.
    """
    if not rolls(before, after, changed):
        return 0
    return sum(min(replicas_of(before, one) or 0, replicas_of(after, one) or 0) for one in pod_places(after))


def rolls(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, changed: Iterable[Path]) -> bool:
    """Whether changed fields of an object replace its pods; KubeRay replaces the pods of all groups."""
    if not is_rolled(after):
        return False
    if (after or _NOTHING).get("kind") != "RayCluster":
        return changes_template(before, after, changed)
    fields = (tuple(name for name in path if isinstance(name, str)) for path in changed)
    return any(one[:1] == ("spec",) and not any(one[: len(field)] == field for field in _KEEPS_PODS) for one in fields)


def pods_words(name: str, place: Path) -> str:
    """Returns the pods that an object has at a place in words, for messages: ``group a10 of trainer``."""
    if place == ONE_TEMPLATE:
        return name
    return f"head of {name}" if is_ray_head(place) else f"group {ray_group(place)} of {name}"


def ray_group(place: Path) -> str:
    """Returns the value of the label ``ray.io/group`` that KubeRay gives the pods at a place of a Ray cluster."""
    last = place[-1]
    return str(last.fields[0][1]) if isinstance(last, Key) else "headgroup"


def gpus_of(body: Mapping[str, Any] | None) -> int:
    """Returns the GPUs that all pods of an object hold."""
    return sum(pods_of(body, one).gpus * (replicas_of(body, one) or 0) for one in pod_places(body))


def replicas_of(body: Mapping[str, Any] | None, place: Path = ONE_TEMPLATE) -> int | None:
    """Returns the number of pods that an object asks for at a place, None if it names no number.

    KubeRay keeps a group between ``minReplicas`` and ``maxReplicas``, and runs ``numOfHosts`` pods for each replica.
    """
    found, suspended = _at(body, place) or _NOTHING, bool(ray_cluster(body).get("suspend"))
    if is_ray_head(place):
        return 0 if suspended or not found else 1
    replicas = asked_replicas(body, place)
    if replicas is None or place == ONE_TEMPLATE:
        return replicas
    if suspended or found.get("suspend"):
        return 0
    least, most, hosts = (found.get(name) for name in ("minReplicas", "maxReplicas", "numOfHosts"))
    kept = max(replicas, least) if isinstance(least, int) else replicas
    kept = min(kept, most) if isinstance(most, int) else kept
    return kept * (hosts if isinstance(hosts, int) else 1)


def replica_limits(body: Mapping[str, Any] | None, place: Path) -> tuple[str, ...]:
    """Returns what makes KubeRay run another number of pods than the ``replicas`` of a group: ``maxReplicas 2``."""
    found, replicas = _at(body, place) or _NOTHING, asked_replicas(body, place) or 0
    if ray_cluster(body).get("suspend") or found.get("suspend"):
        return ("suspend true",)
    least, most, hosts = (found.get(name) for name in ("minReplicas", "maxReplicas", "numOfHosts"))
    deciding = {
        f"minReplicas {least}": isinstance(least, int) and least > replicas,
        f"maxReplicas {most}": isinstance(most, int) and most < replicas,
        f"numOfHosts {hosts}": isinstance(hosts, int) and hosts != 1,
    }
    return tuple(words for words, decides in deciding.items() if decides)


def asked_replicas(body: Mapping[str, Any] | None, place: Path) -> int | None:
    """Returns the field ``replicas`` at a place, None if it is not a number."""
    value = (_at(body, place) or _NOTHING).get("replicas")
    return value if isinstance(value, int) else None


def _at(body: Mapping[str, Any] | None, place: Path) -> Any:
    """The value of an object at a place; None if there is none."""
    found: Any = body
    for step in place:
        if isinstance(step, Key):
            items = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else ()
            found = next((one for one in items if all(one.get(key) == value for key, value in step.fields)), None)
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found


def image_version(image: str) -> tuple[str, str]:
    """The tag and the digest of an image; empty where it names none."""
    name, _, digest = image.partition("@")
    return name.rpartition("/")[2].partition(":")[2], digest


def container_requests(container: Mapping[str, Any]) -> dict[str, Fraction]:
    """Returns what one container requests. A limit without a request is the request, as in the API server.

    Invalid quantities are left out: the plan reports elsewhere that the object does not fit its kind.
    """
    resources = container.get("resources") or _NOTHING
    wanted = {**(resources.get("limits") or _NOTHING), **(resources.get("requests") or _NOTHING)}
    amounts = {}
    for name, value in wanted.items():
        try:
            amounts[name] = quantity.parse(value)
        except ValueError:
            continue
    return amounts


def container_limits(container: Mapping[str, Any]) -> dict[str, Fraction]:
    """Returns the limits of one container; invalid quantities are left out."""
    return container_requests({"resources": {"limits": (container.get("resources") or _NOTHING).get("limits")}})


def limits_of(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Returns a pod's limits, by resource name, counted as quotas count them."""
    return _total(spec, container_limits)


def _total(spec: Mapping[str, Any], of: Callable[[Mapping[str, Any]], dict[str, Fraction]]) -> dict[str, Fraction]:
    """Returns the sum over the containers, or the largest init container if larger, plus the runtime's overhead."""
    first = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") != "Always"]
    beside = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    total = _sum(of(one) for one in (*beside, *(spec.get("containers") or ())))
    for container in first:
        for name, value in of(container).items():
            total[name] = max(total.get(name, _ZERO), value)
    overhead = spec.get("overhead")
    return _sum((total, container_requests({"resources": {"requests": overhead}}))) if overhead else total


def _sum(parts: Iterable[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total[name] + value if name in total else value
    return total
