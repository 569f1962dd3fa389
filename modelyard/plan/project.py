"""Planning the stacks of a project: the one entry that the command line and the Pulumi program share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.catalog import Library, Selected, load_library, select
from modelyard.cluster import ClusterState, ObjectKey, load_recorded
from modelyard.findings import Finding, Severity
from modelyard.plan.build import make_plan
from modelyard.plan.ownership import FIELD_MANAGER
from modelyard.plan.undoing import unread
from modelyard.plan.values import Plan
from modelyard.stack import Stack, load, project_name
from modelyard.workloads import facts, workloads

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster.counting import Asked
    from modelyard.cluster.state import Held


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
    changed = {target.key: target.after for target in earlier.targets}
    objects = {key: body for key, body in {**planned.state.objects, **changed}.items() if body}
    return make_plan(planned.stack, library_of(root), planned.state._replace(objects=objects), today)


def _loaded(root: Path, file: Path) -> tuple[Stack | None, tuple[Finding, ...]]:
    stack, findings = load(file, shown(root, file))
    return stack and with_project(root, stack), findings


def with_project(root: Path, stack: Stack) -> Stack:
    """The stack with the name of its project, and what the project's files say of its environments."""
    named = stack._replace(project=project_name(root))
    if not stack.config.environments:
        return named
    from modelyard.environments import with_files  # few stacks have any, and a cold start is short

    return with_files(root, named)


def plan_live(root: Path, file: Path, today: date) -> Planned:
    """Plans a stack file against the cluster of its context; what becomes of the targets is what its API server says.

    Raises:
        cluster.connection.ClusterError: the cluster is out of reach.
    """
    stack, findings = _loaded(root, file)
    if stack is None:
        return Planned(None, None, findings)
    with reading_held(root, stack) as held:
        # Imports take as long as the engine's answer.
        from modelyard.cluster.connection import connect, transport
        from modelyard.cluster.counting import Counter
        from modelyard.cluster.dryrun import dry_run

        client = connect(stack.context)
        counter = Counter(transport(client))
        state, notes = read_live(root, stack, client, held)
    plan = make_plan(stack, library_of(root), state, today, partial(dry_run, client, manager=FIELD_MANAGER))
    compared = _compared(root, stack, state, plan)
    return Planned(stack, _with((*findings, *compared, *notes), plan), (), state, counter.total())


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


@contextmanager
def reading_held(root: Path, stack: Stack) -> "Iterator[Callable[[], Mapping[ObjectKey, Held]]]":
    """Begins to read what the engine's state has of a stack; what comes with it waits for the answer."""
    from concurrent.futures import ThreadPoolExecutor

    from modelyard.cluster.held import held_objects

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(held_objects, root, stack.name).result


def read_live(
    root: Path, stack: Stack, client: "Client", held: "Callable[[], Mapping[ObjectKey, Held]]"
) -> tuple[ClusterState, tuple[Finding, ...]]:
    """The live starting state of a stack, and what is to be said where the engine's state cannot be read.

    Args:
        root: the project's folder.
        stack: whose targets are read.
        client: of its cluster.
        held: gives what the engine's state has of the stack; those objects are read too.

    Raises:
        cluster.connection.ClusterError: the cluster is out of reach.
    """
    from modelyard.cluster.held import StateError
    from modelyard.cluster.live import neighbours, objects_of, snapshot, state_of

    wanted = wanted_objects(root, stack)
    state = state_of(snapshot(client, wanted))
    missing = [key for key in wanted if key not in state.objects]
    near = neighbours(client, missing) if missing else {}
    state = state._replace(objects={**near, **state.objects})
    try:
        known = held()
    except StateError as error:
        return state, (unread(stack, str(error)),)
    left = objects_of(client, [key for key in known if key not in wanted])
    return state._replace(objects={**state.objects, **left}, held=known), ()


def wanted_objects(root: Path, stack: Stack) -> tuple[ObjectKey, ...]:
    """Every object that a stack's patches and bases are about, and the platform's known Deployments."""
    from modelyard.catalog import render, render_base
    from modelyard.cluster import key_of

    namespace = stack.config.platform.namespace
    keys = {ObjectKey("apps/v1", "Deployment", namespace, target.deployment) for target in stack.config.targets}
    for one in chosen_patches(root, stack):
        for document in render(one.patch, one.params).documents:
            keys.add(ObjectKey(document.body["apiVersion"], document.body["kind"], namespace, document.target))
        if one.patch.owns(stack.config.platform.mode):
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
