"""Conflicts between a plan and an autoscaler."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from modelyard.catalog import PatchDocument, Selected
from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import JOB_SECONDS
from modelyard.hiding import Confidential
from modelyard.kube.scheduling.pods import replicas_of
from modelyard.kube.state import SCALED_OBJECT, Scaler, annotations_of
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Config, dotted
from modelyard.stack.words import listed
from modelyard.workloads.facts.jobs import places_of_deployments
from modelyard.workloads.training import BACKENDS, backend_of

if TYPE_CHECKING:
    from modelyard.promql.queries import Query

MAX_REPLICAS = "autoscaling/max_replicas"
"""The annotation from which the platform's autoscaler reads its upper bound."""
ENABLED = "autoscaling/enabled"
"""The annotation that enables the platform's autoscaler."""
QUERIES = "autoscaling/queries"
"""The annotation from which the platform's autoscaler reads its queries."""
_LEAVE = "leaveReplicas"
"""The parameter of autoscaling patches that adds an empty ``replicas:``."""
WIDEST_INTERVAL = 300
"""Up to this many seconds between two scrapes, the built-in queries work."""


def most_replicas(body: Mapping[str, Any]) -> int | None:
    """The most replicas that an autoscaler may set on an object; None if the object sets no limit."""
    text = str(annotations_of(body).get(MAX_REPLICAS, ""))
    return int(text) if text.isascii() and text.isdigit() else None


def check_autoscaling(
    config: Config, targets: Iterable[TargetPlan], setter: Callable[[TargetPlan], str] = lambda _: ""
) -> Iterator[Finding]:
    """Findings about queries, about replicas that a plan stops setting, and about replicas with two writers.

    ``setter`` returns the patch that sets a target's replicas, or an empty text.
    """
    targets = tuple(targets)
    yield from _rivals(targets, setter)
    yield from _questions(config, targets)
    yield from _drain_queries(config)
    if config.autoscaling.mode == "none":
        return
    if config.autoscaling.queries == "vendor" and config.autoscaling.mode == "annotations":
        yield Finding(
            "AUT001",
            Severity.WARNING,
            "the vendor's autoscaling queries are not valid PromQL",
            field="autoscaling.queries",
            detail="Ray's sums a window of samples, sum(…[15s]); Celery's joins two queries with `&`, at which only "
            "the vendor's autoscaler splits; each returns no series, not 0, while RabbitMQ does not have the queue",
            remedy="drop queries: vendor, unless the vendor's own autoscaler reads them",
        )
    for target in targets:
        spec = target.applied.reveal().get("spec", {})
        if target.replicas[1] is None and "replicas" in spec:
            yield Finding(
                "AUT002",
                Severity.ADVICE,
                f"modelyard holds spec.replicas of {target.name} at {spec['replicas']} until an autoscaler sets it",
                target=target.name,
                field="spec.replicas",
                detail="when the last owner drops the field, the API server sets its default of 1, which would start "
                "an unwanted GPU pod",
                remedy="no action needed: once the autoscaler (or kubectl scale) has set it, the next apply "
                "releases the field",
            )


def emptied_replicas(targets: Iterable[TargetPlan], documents: Iterable[PatchDocument]) -> Iterator[Finding]:
    """Documents whose empty ``replicas:`` would start or stop pods when a tool merges them.

    modelyard never sends an empty field: it holds the number until the autoscaler has set one. A strategic merge treats
    an empty field as a deletion, and the API server then sets 1.
    """
    now = {target.name: replicas_of(target.before.reveal()) for target in targets}
    for document in documents:
        spec = document.body.reveal().get("spec") or {}
        running = now.get(document.target)
        if "replicas" in spec and spec["replicas"] is None and running not in (None, 1):
            yield Finding(
                "AUT004",
                Severity.WARNING,
                f"the file leaves replicas of {document.target} empty: merging the file resets replicas to 1 "
                f"(running now: {running})",
                target=document.target,
                field="spec.replicas",
                detail="merging an empty field deletes it, and the API server then sets its default, 1",
                remedy="apply the file while the autoscaler runs, so that it sets the number again, or use render "
                "--format kustomize",
            )


def as_printed(chosen: Iterable[Selected], targets: Iterable[TargetPlan]) -> tuple[Selected, ...]:
    """Patches with ``replicas:`` as the vendor prints it: empty if the patch starts autoscaling, absent afterwards."""
    scaled = {target.name for target in targets if wakes(target.before.reveal() or {})}
    return tuple(
        one._replace(params=Confidential({**params, _LEAVE: params.get("deployment") not in scaled}))
        if params.get(_LEAVE) is True and _LEAVE not in one.sources
        else one
        for one in chosen
        for params in (one.params.reveal(),)
    )


def wakes(body: Mapping[str, Any]) -> bool:
    """Whether the platform's autoscaler scales an object."""
    return str(annotations_of(body).get(ENABLED, "")).lower() == "true"


def queries_of(config: Config, targets: Iterable[TargetPlan]) -> "tuple[Query, ...]":
    """The queries that an autoscaler will find on the targets or in KEDA's objects, with their locations."""
    from modelyard.promql.queries import Query

    fields = {
        value: f"patches[{index}].params.{name}"
        for index, choice in enumerate(config.patches)
        for name, values in choice.params.items()
        for value in (values if isinstance(values, list | tuple) else (values,))
        if isinstance(value, str)
    }
    built_in = _built_in(config)
    scales = _scale_queries(config)
    return tuple(
        Query(
            target=target.name,
            text=text,
            field=scales.get((target.name, text))
            or fields.get(text, "autoscaling.queries" if text in built_in else place),
            ours=ours,
            longest_window=_longest_window(config, target.role),
            keda=target.key.kind == SCALED_OBJECT,
        )
        for target in targets
        for text, place, ours in _texts(target)
    )


def _scale_queries(config: Config) -> dict[tuple[str, str], str]:
    """The fields of the queries that scale resources, by the name of the pods' Deployment and the query."""
    return {
        (name, one.scale.query): f"{dotted(path)}.scale.query"
        for name, path in places_of_deployments(config).items()
        if path[0] == "resources"
        for one in (config.resources[path[1]],)
        if one.remote is None and one.scale is not None and one.scale.query is not None
    }


def _longest_window(config: Config, role: str) -> int:
    """Seconds that a workload's pods may run after its last work: as long as its training backend's longest job."""
    backend = backend_of(role)
    return JOB_SECONDS if backend is None else backend.longest_job(config)


def _texts(target: TargetPlan) -> Iterator[tuple[str, str, bool]]:
    """The queries of one object, each with its field and whether modelyard writes it."""
    body = target.after.reveal()
    text = annotations_of(body).get(QUERIES)
    if text is not None:
        yield str(text), f"metadata.annotations.{QUERIES}", QUERIES in annotations_of(target.applied.reveal())
    if target.key.kind == SCALED_OBJECT:
        for index, trigger in enumerate((body.get("spec") or {}).get("triggers") or ()):
            query = (trigger.get("metadata") or {}).get("query")
            if trigger.get("type") == "prometheus" and query is not None:
                yield str(query), f"spec.triggers[{index}].metadata.query", target.managed


def _questions(config: Config, targets: tuple[TargetPlan, ...]) -> Iterator[Finding]:
    """The findings about users' queries. Generated queries are correct, and AUT001 reports the vendor's."""
    settled = _built_in(config) if _is_settled(config) else frozenset()
    scales = _scale_queries(config)
    if not scales and all(text in settled for target in targets for text, _, _ in _texts(target)):
        return  # reading PromQL takes longer than all other findings of a plan
    from modelyard.promql.queries import Query, check_queries

    queries = [query for query in queries_of(config, targets) if query.text not in settled]
    there = {query.field for query in queries}
    # A resource without an image has no object yet.
    queries += [
        Query(target="", text=text, field=field, longest_window=JOB_SECONDS, keda=True)
        for (_, text), field in scales.items()
        if field not in there
    ]
    yield from check_queries(queries, scrape_interval=config.autoscaling.scrape_interval)


def _drain_queries(config: Config) -> Iterator[Finding]:
    """What is not PromQL in the queries that count jobs: an apply would find out only in the middle."""
    backends = BACKENDS.values() if config.drain.enabled else ()
    asked = {f"drain.{one.name}.query": text for one in backends if (text := one.query(config)) is not None}
    if asked:
        from modelyard.promql.queries import REJECTED, Query, check_queries

        queries = (Query(target="", text=text, field=field) for field, text in asked.items())
        yield from check_queries(queries, scrape_interval=config.autoscaling.scrape_interval, kinds=REJECTED)


def _is_settled(config: Config) -> bool:
    """Whether the built-in queries need no further finding: they are correct, or AUT001 reports them."""
    scaling = config.autoscaling
    if scaling.queries == "vendor" and scaling.mode != "keda":
        return scaling.mode != "none"
    return scaling.scrape_interval <= WIDEST_INTERVAL


def _built_in(config: Config) -> frozenset[str]:
    """The queries that apply if the stack sets none."""
    scaling = config.autoscaling
    return frozenset(
        asked.keda if scaling.mode == "keda" else asked.vendor if scaling.queries == "vendor" else asked.valid
        for asked in (backend.queries_of(config) for backend in BACKENDS.values())
    )


def _rivals(targets: Iterable[TargetPlan], setter: Callable[[TargetPlan], str]) -> Iterator[Finding]:
    """Targets whose replicas the plan sets while an annotation lets the autoscaler set them."""
    for target in targets:
        spec = target.applied.reveal().get("spec", {})
        ours = target.replicas[1] is not None and "replicas" in spec
        if ours and wakes(target.after.reveal()):
            yield Finding(
                "AUT003",
                Severity.ERROR,
                f"both the autoscaler and modelyard would set spec.replicas of {target.name}",
                target=target.name,
                field="autoscaling.mode",
                detail=f"{ENABLED} is true on it, and {setter(target) or 'a patch'} sets spec.replicas to "
                f"{spec['replicas']}: each apply overwrites the autoscaler's number",
                remedy="drop the autoscaling patch or the patch that sets the replicas; for training workers, you can "
                "also set autoscaling.mode to annotations, which leaves replicas to the autoscaler",
            )


# Autoscalers of the cluster that write, or will write, the replicas of a plan's targets.
def scalers_of(target: TargetPlan, scalers: Iterable[Scaler]) -> tuple[Scaler, ...]:
    """The autoscalers of a target, in any API version."""
    key = target.key
    group = key.api_version.partition("/")[0]
    return tuple(
        one for one in scalers if one.target[1:] == key[1:] and one.target.api_version.partition("/")[0] == group
    )


def check_scalers(targets: Iterable[TargetPlan], scalers: Iterable[Scaler]) -> Iterator[Finding]:
    """Findings about replicas that both a plan and an autoscaler set, even if the autoscaler has not written yet."""
    scalers = tuple(scalers)
    for target in targets:
        if target.replicas[1] is None or "replicas" not in (target.applied.reveal().get("spec") or {}):
            continue
        found = sorted(f"{one.kind} {one.name}" for one in scalers_of(target, scalers))
        if found:
            yield Finding(
                "OWN002",
                Severity.ERROR,
                f"{listed(found, 'and')} {'sets' if len(found) == 1 else 'set'} spec.replicas of {target.name}",
                target=target.name,
                field="spec.replicas",
                detail=f"{listed(('modelyard', *found), 'and')} would keep overwriting each other",
                remedy="drop the patch or its parameter, or delete the autoscaler first",
            )
