"""Reads what the pods of an object request from its pod template; only this module knows where the template is."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard import quantity
from modelyard.names import GPU_RESOURCE

_NOTHING: Mapping[str, Any] = {}
_ZERO = Fraction(0)


class Pods(NamedTuple):
    """The identical pods of one Deployment."""

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


def pods_of(body: Mapping[str, Any] | None) -> Pods:
    """Returns the pods of an object with a pod template; for None, pods without requests."""
    spec = pod_spec(body)
    requests = _requests(spec)
    return Pods(spec, requests, int(requests.get(GPU_RESOURCE, 0)))


def pod_spec(body: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Returns the pod template's spec, empty if there is none: that field of a node pool is a template of nodes."""
    if body is not None and body.get("kind") == "NodePool":
        return _NOTHING
    return (((body or _NOTHING).get("spec") or _NOTHING).get("template") or _NOTHING).get("spec") or _NOTHING


def grace_of(body: Mapping[str, Any] | None) -> int:
    """Returns the seconds that a pod of the object has between the request to stop and the kill."""
    return int(pod_spec(body).get("terminationGracePeriodSeconds", 30))


def replicas_of(body: Mapping[str, Any] | None) -> int | None:
    """Returns ``spec.replicas``, None if it is not a number."""
    value = ((body or _NOTHING).get("spec") or _NOTHING).get("replicas")
    return value if isinstance(value, int) else None


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


def _requests(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    return _total(spec, container_requests)


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
