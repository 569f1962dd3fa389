"""Making a plan out of a stack, the patches and a starting state."""

from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import date
from typing import Any

from modelyard import __version__, merge
from modelyard.catalog import Document, Library, PatchVersion, Selected, render, render_base, select
from modelyard.cluster import Ask, ClusterState, ObjectKey, key_of
from modelyard.findings import Finding, Severity
from modelyard.hardware import check
from modelyard.hardware.limits import CELERY_GPUS
from modelyard.hardware.nodes import check_nodes
from modelyard.plan.autoscaling import check_autoscaling
from modelyard.plan.capacity import room_of
from modelyard.plan.drains import check_drains, drains
from modelyard.plan.keda import check_keda, freed, staying
from modelyard.plan.leaving import Leaving, leaving, let_go_of, of_another_state, strangers
from modelyard.plan.missing import unset
from modelyard.plan.order import order
from modelyard.plan.placement import check_placement
from modelyard.plan.places import place_in_patch
from modelyard.plan.queues import check_fixed, check_queues
from modelyard.plan.quotas import check_quotas
from modelyard.plan.scalers import check_scalers
from modelyard.plan.sizes import check_sizes
from modelyard.plan.target import REPLICAS, Prepared, Wish, finish, prepare
from modelyard.plan.trace import place_field
from modelyard.plan.unsettled import Unsettled, unsettled
from modelyard.plan.values import Plan
from modelyard.plan.versions import check_version
from modelyard.stack import apply_waivers, codes
from modelyard.stack.config import Config, Stack
from modelyard.workloads import Workload, facts, workloads


def make_plan(stack: Stack, library: Library, state: ClusterState, today: date, ask: Ask | None = None) -> Plan:
    """The plan of one environment against a starting state.

    Everything that is wrong is in its findings; a target that cannot be planned is left out and told there. With
    ``ask``, what becomes of the targets is what the API server says; all requests are asked together. Without it
    nobody is asked.
    """
    config = stack.config
    sized = workloads(config)
    known = facts(config, sized)
    findings: list[Finding] = [
        *library.findings,
        *check_version(stack, state),
        *check(stack),
        *check_nodes(stack, state.nodes),
        *_of_jobs(stack, state),
        *check_queues(stack, state.nodes),
    ]
    chosen, problems = select(library, stack, known)
    findings.extend(problems)

    parts, bases = _documents(chosen, config, findings)
    if config.platform.mode == "managed":
        # Half an object is no plan: its patches would look for a target that is not there.
        doubtful = unsettled(library, stack, known, chosen, findings)
        parts = {key: documents for key, documents in parts.items() if key in bases or not doubtful.holds(key.name)}
    schemas = merge.MergeSchema.kubernetes(config.kubernetes_version)
    by_deployment = {workload.deployment: workload for workload in sized}
    prepared = []
    for wish in _wishes(chosen, parts, bases, by_deployment):
        try:
            schema = schemas.of(wish.key.api_version, wish.key.kind)
        except LookupError:
            findings.append(_unknown_kind(wish, config.kubernetes_version))
            continue
        request, problems = prepare(wish, schema, state, stack.full_name)
        findings.extend(problems)
        if request is not None:
            prepared.append(request)
    gone: list[Leaving] = []
    if not any(finding.code.startswith("PAT") and finding.severity is Severity.ERROR for finding in findings):
        # A patch that could not be rendered is not one that was dropped.
        wanted = {*parts, *bases}
        gone = list(leaving(wanted, state, schemas, library, by_deployment, config.platform.namespace))
        findings.extend((*strangers(wanted, state), *of_another_state(stack, wanted, state)))
    questions = [*(one.applied for one in prepared), *(one.question for one in gone)]
    answers = iter(ask(questions) if ask is not None else [None] * len(questions))
    deleted = [one.live for one in gone if one.undo is None]
    let_free = freed(deleted)
    asked = [finish(one, next(answers), _quiet(one, let_free, config.platform.installers)) for one in prepared]
    let_go = [let_go_of(one, next(answers)) for one in gone]
    targets = [target for target, _ in asked]
    findings.extend(finding for _, problems in (*asked, *let_go) for finding in problems)
    everything = [*targets, *(target for target, _ in let_go)]

    room = room_of(state)
    waits = drains(stack, everything, state.scalers)
    arranged = order(everything, sized, room, waits)
    doubtful = unsettled(library, stack, known, chosen, findings)
    findings.extend(
        doubtful.without(
            (
                *arranged.findings,
                *check_drains(config, waits),
                *check_sizes(stack, targets, by_deployment, chosen),
                *check_placement(everything, by_deployment, room),
                *check_quotas(everything, room.quotas),
                *check_fixed(stack, targets),
                *check_autoscaling(config, targets),
                *check_scalers(targets, staying(deleted, state.scalers)),
                *check_keda(config, targets, state.scalers),
            )
        )
    )
    rank = {name: index for index, name in enumerate(arranged.targets)}
    return Plan(
        stack.name,
        stack.file,
        _headline(config),
        config.training,
        config.platform.mode,
        stack.context,
        config.platform.namespace,
        state.source,
        state.identity,
        state.version,
        tuple(sorted(everything, key=lambda target: rank[target.name])),
        arranged.steps,
        _without_echoes(
            apply_waivers(
                (place_field(place_in_patch(finding, library, targets), stack) for finding in findings), stack, today
            ),
            doubtful,
        ),
        _inputs(stack, chosen),
        drains=waits,
    )


def _quiet(one: Prepared, let_free: Set[tuple[str, str]], installers: tuple[str, ...]) -> tuple[str, ...]:
    """The managers that will not write by themselves: the stack's installers, and where KEDA lets go of the Deployment
    with this plan, those that set its replicas so far.
    """
    if one.live is None or (one.wish.key.namespace, one.wish.key.name) not in let_free:
        return installers
    holders = merge.owners(one.live, REPLICAS, one.schema)
    return (*installers, *(owner.manager for owner in holders if owner.subresource == "scale"))


def _of_jobs(stack: Stack, state: ClusterState) -> Iterator[Finding]:
    """The findings about jobs, resources with their partitions and environments, and pipelines."""
    if stack.config.partitions:
        from modelyard.plan.partitions import check_partitions

        yield from check_partitions(stack, state)
    if stack.config.jobs or stack.config.resources or stack.config.pipelines:
        # Most stacks have none, and the formulas are an import of their own.
        from modelyard.jobs import check_spark
        from modelyard.pipelines import check_pipelines
        from modelyard.plan.jobs import check_job_room
        from modelyard.plan.partitions import check_slice_quotas
        from modelyard.sizing import check_jobs, sized

        everything = sized(stack.config)
        yield from check_jobs(stack, everything)
        yield from check_job_room(stack, everything, state.nodes)
        yield from check_slice_quotas(stack, everything)
        yield from check_spark(stack, everything)
        yield from check_pipelines(stack, everything)
    if stack.config.environments or _named_environments(stack.config):
        from modelyard.environments import check_environments

        yield from check_environments(stack, state.nodes)
    if stack.config.providers or stack.config.buckets or any(one.remote for one in stack.config.resources):
        from modelyard.remote import check_remote

        yield from check_remote(stack)


def _wishes(
    chosen: Iterable[Selected],
    parts: Mapping[ObjectKey, list[tuple[PatchVersion, Document]]],
    bases: Mapping[ObjectKey, tuple[PatchVersion, dict[str, Any]]],
    by_deployment: Mapping[str, Workload],
) -> Iterator[Wish]:
    """What is asked of each object, by its key."""
    owners = {one.patch.id: by_deployment.get(one.params.get("deployment", "")) for one in chosen}
    for key in sorted({**dict.fromkeys(parts), **dict.fromkeys(bases)}):
        base = bases.get(key)
        workload = owners[base[0].id] if base is not None else by_deployment.get(key.name)
        yield Wish(key, parts.get(key, []), base, workload)


_UNFIT = ("GPU001", "GPU002", "GPU003", "GPU004", "GPU005", "GPU006")
"""Findings after which a card cannot be the stack's."""


def _without_echoes(findings: tuple[Finding, ...], doubtful: Unsettled) -> tuple[Finding, ...]:
    """The findings without those that only say once more what another one says better.

    That no node has a card says nothing new about a card that cannot train, and that a waiver covers nothing says
    nothing where not everything was judged.
    """
    if doubtful:
        findings = tuple(finding for finding in findings if finding.code != codes.WAIVER_UNUSED)
    causes = {finding.code for finding in findings if finding.blocks}
    echoes = {("RES101", "rayWorker.replicas"), ("RES101", "celery.replicas")} if causes.intersection(_UNFIT) else set()
    return tuple(finding for finding in findings if (finding.code, finding.field) not in echoes) if echoes else findings


def _documents(
    chosen: Iterable[Selected], config: Config, findings: list[Finding]
) -> tuple[dict[ObjectKey, list[tuple[PatchVersion, Document]]], dict[ObjectKey, tuple[PatchVersion, dict[str, Any]]]]:
    """What every patch rendered to, by object, and in managed mode the bases of the objects that the stack owns."""
    parts: dict[ObjectKey, list[tuple[PatchVersion, Document]]] = {}
    bases: dict[ObjectKey, tuple[PatchVersion, dict[str, Any]]] = {}
    incomplete: set[ObjectKey] = set()
    namespace = config.platform.namespace
    for one in chosen:
        rendered = render(one.patch, one.params)
        findings.extend(rendered.findings)
        for document in rendered.documents:
            parts.setdefault(_key(document, namespace), []).append((one.patch, document))
        if one.patch.owns(config.platform.mode):
            missing = sorted(name for name, value in one.params.items() if value is None)
            if missing:
                findings.extend(unset(one, name) for name in missing)
                incomplete.update(_key(document, namespace) for document in rendered.documents)
                continue
            base = render_base(one.patch, one.params)
            findings.extend(base.findings)
            for document in base.documents:
                bases[key_of(document.body, namespace)] = (one.patch, document.body)
    # Half an object is no plan: its patches would look for a target that is not there.
    return {key: documents for key, documents in parts.items() if key not in incomplete}, bases


def _key(document: Document, namespace: str) -> ObjectKey:
    return ObjectKey(document.body["apiVersion"], document.body["kind"], namespace, document.target)


def _unknown_kind(wish: Wish, version: str) -> Finding:
    return Finding(
        "PAT008",
        Severity.ERROR,
        f"Kubernetes {version} has no {wish.key.kind} in {wish.key.api_version}",
        target=wish.key.name,
        file=f"{wish.parts[0][0].file}/patch.yaml.j2" if wish.parts else "",
        remedy="correct apiVersion and kind in the template",
    )


def _named_environments(config: Config) -> bool:
    """Whether anything runs in an environment, there or not."""
    named = [one.environment for one in config.jobs] + [one.environment for one in config.resources]
    return any(named) or config.notebooks.environment is not None


def _headline(config: Config) -> str:
    gpu = config.gpu
    side, held = ("Ray", gpu.per_worker) if config.training == "ray" else ("Celery", CELERY_GPUS)
    cards = f"{held} × {gpu.model}" if held > 1 else gpu.model
    return f"{side} training on {cards} · release {config.platform.release} · {config.platform.mode}"


def _inputs(stack: Stack, chosen: Iterable[Selected]) -> dict[str, str]:
    return {
        "modelyard": __version__,
        stack.file: stack.sha256,
        **{one.patch.id: one.patch.sha256 for one in chosen},
    }
