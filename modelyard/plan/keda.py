"""KEDA's objects in a plan: which Deployment each scales, its bounds, and conflicts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.kube.scheduling.pods import grace_of, replicas_of
from modelyard.kube.state import PAUSED, PAUSED_REPLICAS, SCALED_OBJECT, ObjectKey, Scaler, annotations_of
from modelyard.plan.autoscaling import scalers_of, wakes
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Config
from modelyard.stack.durations import text
from modelyard.workloads.training import backend_of

MOST_BY_DEFAULT = 100
"""Pods that KEDA may run if its object sets no maximum."""
_ANSWER = 6
"""The most seconds that KEDA waits for an answer: 3 (``KEDA_HTTP_DEFAULT_TIMEOUT``), twice."""


class Scaling(NamedTuple):
    """What a plan does to KEDA's object for one Deployment."""

    scaler: TargetPlan
    scaled: TargetPlan | None
    """The Deployment; None where the plan does not have it."""
    most: tuple[int | None, int | None]
    """Pods that KEDA may run, before and after; None where KEDA does not scale the Deployment."""

    @property
    def least(self) -> tuple[int | None, int | None]:
        """The fewest pods that KEDA may run, before and after; None where KEDA does not scale the Deployment."""
        return _least(self.scaler.before.reveal()), _least(self.scaler.after.reveal() or None)

    @property
    def pauses(self) -> bool:
        """Whether the change may stop pods: the bound is, or becomes, less than what may run now."""
        before, after = self.most
        if self.scaler.action in ("none", "delete") or after is None:
            return False  # deleting a ScaledObject leaves the pods as they are
        now = replicas_of(self.scaled.before.reveal()) or 0 if self.scaled is not None else 0
        return after < (now if before is None else max(before, now))


def scalings(targets: Iterable[TargetPlan]) -> dict[ObjectKey, Scaling]:
    """KEDA's objects among a plan's targets, by key, because a Deployment may have the same name."""
    targets = tuple(targets)
    deployments = {target.key: target for target in targets}
    found = {}
    for target in targets:
        if target.key.kind != SCALED_OBJECT:
            continue
        before, after = target.before.reveal(), target.after.reveal() or None
        reference = ((after or before or {}).get("spec") or {}).get("scaleTargetRef") or {}
        kind, name = str(reference.get("kind") or "Deployment"), str(reference.get("name", ""))
        key = target.key._replace(api_version="apps/v1", kind=kind, name=name)
        found[target.key] = Scaling(target, deployments.get(key), (_most(before), _most(after)))
    return found


def bounds(targets: Iterable[TargetPlan]) -> dict[str, int | None]:
    """The most pods that KEDA may run of each Deployment after a plan, by name of the target."""
    return {one.scaled.name: one.most[1] for one in scalings(targets).values() if one.scaled is not None}


def _least(body: Mapping[str, Any] | None) -> int | None:
    most = _most(body)
    if body is None or most is None or PAUSED_REPLICAS in annotations_of(body):
        return most
    return min(most, int((body.get("spec") or {}).get("minReplicaCount", 0)))


def _most(body: Mapping[str, Any] | None) -> int | None:
    if body is None:
        return None
    annotations = annotations_of(body)
    paused = str(annotations.get(PAUSED_REPLICAS, ""))
    if paused.isascii() and paused.isdigit():
        return int(paused)
    if str(annotations.get(PAUSED, "")).lower() == "true":
        return None
    return int((body.get("spec") or {}).get("maxReplicaCount", MOST_BY_DEFAULT))


def staying(deleted: Iterable[Mapping[str, Any]], scalers: Iterable[Scaler]) -> tuple[Scaler, ...]:
    """The cluster's autoscalers that a plan leaves alone: all except KEDA's objects that it deletes, and the objects
    that KEDA made for those.
    """
    gone = {
        (body["metadata"].get("namespace", ""), body["metadata"]["name"])
        for body in deleted
        if body.get("kind") == SCALED_OBJECT
    }
    return tuple(
        one
        for one in scalers
        if (one.target.namespace, one.name if one.kind == SCALED_OBJECT else one.made_by) not in gone
    )


def freed(deleted: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """Namespaces and names of the Deployments that KEDA stops scaling because a plan deletes its objects."""
    return frozenset(
        (body["metadata"].get("namespace", ""), str(body["spec"]["scaleTargetRef"]["name"]))
        for body in deleted
        if body.get("kind") == SCALED_OBJECT
    )


def check_keda(config: Config, targets: Iterable[TargetPlan], scalers: Iterable[Scaler]) -> Iterator[Finding]:
    """Findings about stacks whose training backends KEDA scales."""
    if config.autoscaling.mode != "keda":
        return
    if config.autoscaling.queries == "vendor":
        yield Finding(
            "AUT005",
            Severity.ERROR,
            "KEDA cannot run the vendor's autoscaling queries",
            field="autoscaling.queries",
            detail="one query is not valid PromQL, and only the platform's autoscaler can split the other into two",
            remedy="drop queries: vendor; the default queries measure the same",
        )
    scalers = tuple(scalers)
    for one in scalings(targets).values():
        if one.scaler.dropped or one.scaled is None:
            continue
        yield from _others(one.scaler, one.scaled, scalers)
        yield from _killed(config, one.scaler, one.scaled)
        yield from _unheard(config, one.scaler, one.scaled)


def _others(scaler: TargetPlan, scaled: TargetPlan, scalers: Iterable[Scaler]) -> Iterator[Finding]:
    """Findings about autoscalers of the same Deployment that do not belong to the stack."""
    names = sorted(
        f"{one.kind} {one.name}"
        for one in scalers_of(scaled, scalers)
        if scaler.key.name not in (one.name if one.kind == SCALED_OBJECT else one.made_by,)
    )
    if wakes(scaled.after.reveal()):
        names.append("the platform's autoscaler, by its annotations,")
    if names:
        verb = "scales" if len(names) == 1 else "scale"
        yield Finding(
            "AUT006",
            Severity.ERROR,
            f"{' and '.join(names)} {verb} {scaled.name}, which KEDA would scale too",
            target=scaler.name,
            field="autoscaling.mode",
            detail="two autoscalers keep overwriting spec.replicas, and KEDA's webhook rejects a Deployment that "
            "another ScaledObject or a HorizontalPodAutoscaler scales",
            remedy="delete that autoscaler first, or keep it and set autoscaling.mode to none (annotations for the "
            "platform's autoscaler)",
        )


def _unheard(config: Config, scaler: TargetPlan, scaled: TargetPlan) -> Iterator[Finding]:
    """Whether KEDA can mistake errors for the end of work before its fallback takes over.

    Until then KEDA drops its connection after each error, and a query without a connection counts as neither an error
    nor work (KEDA 2.20.2, ``getScalerState`` of pkg/scaling/scale_handler.go, ``ErrCacheClosed``). The fallback counts
    as work, from the failure that follows ``failureThreshold`` others.
    """
    body = scaler.after.reveal()
    spec = body.get("spec") or {}
    cooldown, fallback = config.autoscaling.cooldown_period, spec.get("fallback") or {}
    failures = int(fallback.get("failureThreshold", 0)) + 1
    longest = failures * (config.autoscaling.polling_interval + _ANSWER)
    if not fallback or int(spec.get("minReplicaCount", 0)) > 0 or not _most(body) or cooldown >= longest:
        return
    yield Finding(
        "AUT008",
        Severity.WARNING,
        f"without metrics KEDA may stop {scaled.name}: the fallback takes up to {text(longest)}, "
        f"but cooldownPeriod is {text(cooldown)}",
        target=scaler.name,
        field="autoscaling.cooldownPeriod",
        detail=f"{failures} failed queries, one every {text(config.autoscaling.polling_interval)}",
        remedy=f"set autoscaling.cooldownPeriod to {text(longest)} or more, or shorten autoscaling.pollingInterval",
    )


def _killed(config: Config, scaler: TargetPlan, scaled: TargetPlan) -> Iterator[Finding]:
    """Whether KEDA can stop a job that its metrics miss, for example when the exporter is down."""
    backend = backend_of(scaler.role)
    cooldown = config.autoscaling.cooldown_period
    if backend is None:
        return  # It answers requests, and has no jobs.
    longest = backend.longest_job(config)
    grace_period = grace_of(scaled.after.reveal())
    if _most(scaler.after.reveal()) and cooldown + grace_period < longest:
        yield Finding(
            "AUT007",
            Severity.WARNING,
            f"KEDA stops {scaled.name} {text(cooldown)} after the last sign of work, "
            f"and a job then has {text(grace_period)} to finish",
            target=scaler.name,
            field="autoscaling.cooldownPeriod",
            detail=f"a job may take {text(longest)}, and a job whose metrics are lost is invisible to KEDA",
            remedy=f"set {scaler.role}.gracePeriod to {text(longest)} or more, or lengthen autoscaling.cooldownPeriod",
        )
