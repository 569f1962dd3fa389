"""Finds what the pods of new objects need to start and neither the cluster nor the stack has."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from modelyard.findings import Finding, Severity
from modelyard.kube.scheduling.pods import pod_places, pod_spec
from modelyard.kube.state import ObjectKey
from modelyard.plan.values import TargetPlan
from modelyard.stack.words import few

_NOTHING: Final[Mapping[str, Any]] = {}
_WORDS: Final = {"PersistentVolumeClaim": "claim"}

FindAbsent = Callable[[Iterable[ObjectKey]], Collection[ObjectKey]]
"""Returns which of some objects a cluster certainly does not have, as ``cluster.present.absent`` does."""


def check_needed(targets: Iterable[TargetPlan], absent: FindAbsent) -> Iterator[Finding]:
    """The findings about new objects whose pods would wait for a missing object.

    Raises:
        ClusterError: the API server does not answer.
    """
    named = named_by_new_pods(targets)
    gone = absent(named) if named else ()
    for key, names in named.items():
        if key in gone:
            word = _WORDS.get(key.kind, key.kind)
            yield Finding(
                "PAT019",
                Severity.WARNING,
                f"pods of {few(names, 1)} need {word} {key.name}, which namespace {key.namespace} does not have",
                target=names[0],
                detail="The pods do not start without it, and an apply waits up to ten minutes for them.",
                remedy=f"create it before the apply, or correct its name: kubectl --namespace {key.namespace} get "
                f"{key.kind.lower()}s",
            )


def named_by_new_pods(targets: Iterable[TargetPlan]) -> dict[ObjectKey, tuple[str, ...]]:
    """The objects that pods of new targets name, each with the names of those targets.

    Leaves out optional objects, and objects that the stack creates. Running pods already have what they need.
    """
    everything = tuple(targets)
    made = {target.key for target in everything if not target.dropped}
    found: dict[ObjectKey, dict[str, None]] = {}
    for target in everything:
        if target.action == "create":
            body = target.after.reveal()
            for kind, name in (pair for place in pod_places(body) for pair in _named(pod_spec(body, place))):
                key = ObjectKey("v1", kind, target.key.namespace, name)
                if key not in made:
                    found.setdefault(key, {})[target.name] = None
    return {key: tuple(found[key]) for key in sorted(found)}


def _named(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and name of each object that a pod cannot start without."""
    account = spec.get("serviceAccountName")
    if account and account != "default":
        yield "ServiceAccount", str(account)
    for volume in spec.get("volumes") or ():
        claim = volume.get("persistentVolumeClaim") or _NOTHING
        yield from _required("PersistentVolumeClaim", claim, claim.get("claimName"))
        for source in (volume, *((volume.get("projected") or _NOTHING).get("sources") or ())):
            secret, settings = source.get("secret") or _NOTHING, source.get("configMap") or _NOTHING
            yield from _required("Secret", secret, secret.get("secretName") or secret.get("name"))
            yield from _required("ConfigMap", settings, settings.get("name"))
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        sources = [one.get("valueFrom") or _NOTHING for one in container.get("env") or ()]
        for source in (*sources, *(container.get("envFrom") or ())):
            for kind, field in (("Secret", "secret"), ("ConfigMap", "configMap")):
                one = source.get(f"{field}KeyRef") or source.get(f"{field}Ref") or _NOTHING
                yield from _required(kind, one, one.get("name"))


def _required(kind: str, source: Mapping[str, Any], name: str | None) -> Iterator[tuple[str, str]]:
    if name and not source.get("optional"):
        yield kind, str(name)
