"""Planning the stacks of a project: the one entry that the command line and the Pulumi program share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.catalog import Library, Selected, load_library, select
from modelyard.cluster import ClusterState, ObjectKey, load_recorded
from modelyard.cluster.state import annotations_of
from modelyard.findings import Finding, Severity
from modelyard.plan.build import make_plan
from modelyard.plan.ledger import ledger_text, ours, read_or_none
from modelyard.plan.ownership import FIELD_MANAGER, MODE_ANNOTATION
from modelyard.plan.values import Plan
from modelyard.stack import Stack, load, project_name
from modelyard.workloads import facts, workloads

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster.counting import Asked


class Planned(NamedTuple):
    """A plan, or the findings that say why there is none."""

    stack: Stack | None
    plan: Plan | None
    findings: tuple[Finding, ...]
    state: ClusterState | None = None
    """What the plan starts from."""
    asked: "Asked | None" = None
    """The requests to the API server that it took; None where nobody was asked."""


@lru_cache(maxsize=4)
def library_of(root: Path) -> Library:
    """The project's patches, read once."""
    return load_library(root)


def plan_recorded(root: Path, file: Path, today: date, platform: Path | None = None) -> Planned:
    """Plans a stack file against its recorded platform, or against the one that another checkout has of it."""
    stack, findings = _loaded(root, file)
    if stack is None:
        return Planned(None, None, findings)
    state, problems = load_recorded(platform or root, stack.name)
    if state is None:
        return Planned(stack, None, (*findings, *problems))
    return Planned(stack, _with(findings, make_plan(stack, library_of(root), state, today)), (), state)


def plan_after(root: Path, planned: Planned, earlier: Plan, today: date) -> Plan | None:
    """The plan of the same stack once an earlier plan of it has been applied; None where it has none."""
    if planned.stack is None or planned.state is None:
        return None
    objects = {**planned.state.objects, **{target.key: target.after for target in earlier.targets}}
    return make_plan(planned.stack, library_of(root), planned.state._replace(objects=objects), today)


def _loaded(root: Path, file: Path) -> tuple[Stack | None, tuple[Finding, ...]]:
    stack, findings = load(file, shown(root, file))
    return stack and stack._replace(project=project_name(root)), findings


Recall = Callable[[Path, str], Mapping[ObjectKey, str]]
"""Gives what the engine's state knows of the ledgers of a stack of a project; nothing where it cannot be read."""


def plan_live(root: Path, file: Path, today: date, recall: Recall | None = None) -> Planned:
    """Plans a stack file against the cluster of its context; what becomes of the targets is what its API server says.

    ``recall`` is asked only where an object has lost its ledger.

    Raises:
        cluster.live.ClusterError: the cluster is out of reach.
    """
    from modelyard.cluster.counting import Counter
    from modelyard.cluster.dryrun import dry_run
    from modelyard.cluster.live import connect, transport

    stack, findings = _loaded(root, file)
    if stack is None:
        return Planned(None, None, findings)
    client = connect(stack.context)
    counter = Counter(transport(client))
    state = recalling(root, stack, read_live(root, stack, client), recall)
    plan = make_plan(stack, library_of(root), state, today, partial(dry_run, client, manager=FIELD_MANAGER))
    compared = _compared(root, stack, state, plan)
    return Planned(stack, _with((*findings, *compared), plan), (), state, counter.total())


def _compared(root: Path, stack: Stack, state: ClusterState, plan: Plan) -> Iterator[Finding]:
    """What is to be said where the recorded platform is not the live one."""
    recorded, _ = load_recorded(root, stack.name)
    if recorded is None:
        return
    if recorded.identity == state.identity:
        from modelyard.plan.recording import outdated

        yield from outdated(stack, recorded, state, plan.targets)
        return
    yield stack.place(
        Finding(
            "OWN005",
            Severity.ERROR,
            f"context {stack.context} leads to another cluster than stacks/recorded/{stack.name} is of",
            detail=f"recorded {recorded.identity}, live {state.identity}",
            remedy=f"check kubernetes:context and KUBECONFIG; for a rebuilt cluster: modelyard record {stack.name}",
        ),
        "kubernetes:context",
    )


def read_live(root: Path, stack: Stack, client: "Client") -> ClusterState:
    """The live starting state of a stack."""
    from modelyard.cluster.live import neighbours, snapshot, state_of

    wanted = wanted_objects(root, stack)
    state = state_of(snapshot(client, wanted))
    missing = [key for key in wanted if key not in state.objects]
    return state._replace(objects={**neighbours(client, missing), **state.objects}) if missing else state


def recalling(root: Path, stack: Stack, state: ClusterState, recall: Recall | None) -> ClusterState:
    """The starting state with the state's copies for objects of ours that carry no ledger that can be read."""
    lost = [key for key, body in state.objects.items() if _lost_ledger(body)]
    if recall is None or not lost:
        return state
    known = recall(root, stack.name)
    return state._replace(ledgers={key: known[key] for key in lost if key in known})


def _lost_ledger(body: dict[str, Any]) -> bool:
    owned = annotations_of(body).get(MODE_ANNOTATION) == "managed"
    return bool(ours(body)) and not owned and read_or_none(ledger_text(body)) is None


def wanted_objects(root: Path, stack: Stack) -> tuple[ObjectKey, ...]:
    """Every object that a stack's patches and bases are about, and the platform's known Deployments."""
    from modelyard.catalog import render, render_base
    from modelyard.cluster import key_of

    namespace = stack.config.platform.namespace
    keys = {ObjectKey("apps/v1", "Deployment", namespace, target.deployment) for target in stack.config.targets}
    for one in chosen_patches(root, stack):
        for document in render(one.patch, one.params).documents:
            keys.add(ObjectKey(document.body["apiVersion"], document.body["kind"], namespace, document.target))
        if stack.config.platform.mode == "managed":
            keys.update(key_of(document.body, namespace) for document in render_base(one.patch, one.params).documents)
    return tuple(sorted(keys))


def chosen_patches(root: Path, stack: Stack) -> tuple[Selected, ...]:
    """The patch versions and parameters of a stack."""
    chosen, _ = select(library_of(root), stack, facts(stack.config, workloads(stack.config)))
    return chosen


def shown(root: Path, file: Path) -> str:
    """A file's path as users see it: relative to the project where it lies inside."""
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return str(file)


def _with(findings: Iterable[Finding], plan: Plan) -> Plan:
    from modelyard.findings import ordered

    extra = tuple(findings)
    return plan._replace(findings=ordered((*extra, *plan.findings))) if extra else plan
