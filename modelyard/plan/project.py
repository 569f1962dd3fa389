"""Plans the stacks of a project: the single entry for the command line and the Pulumi program."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.catalog import Library, Selected, load_library
from modelyard.cluster import load_recorded
from modelyard.cluster.recorded import (
    ABSENT,
    CLUSTER_FILE,
    NOT_RECORDED,
    recorded_folder,
    recorded_name,
    recorded_remote_names,
)
from modelyard.findings import Finding, Severity, ordered
from modelyard.hardware.nodes import with_nodes
from modelyard.hardware.own import load_gpus, of_project
from modelyard.hiding import Confidential
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.scheduling.placement import WantedPods, placed, wanted_of
from modelyard.kube.state import ClusterState, ObjectKey, Quota
from modelyard.names import STACK_NOTE
from modelyard.plan.build import make_plan
from modelyard.plan.checks.placement import growth
from modelyard.plan.cluster_parts import cluster_parts, objects_about
from modelyard.plan.missing import MISSING, not_planned
from modelyard.plan.ownership import MODE_ANNOTATION
from modelyard.plan.remotes import RemoteStart, check_dropped, dropped_remotes
from modelyard.plan.undo.findings import unlisted, unread
from modelyard.plan.values import Plan, TargetPlan
from modelyard.plan.whole_gpus import growing, read_waiting, with_whole_gpus
from modelyard.stack import Stack, codes, load, project_name, waive
from modelyard.workloads import workloads
from modelyard.workloads.facts.remote import remote_clusters

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster.requests import RequestCount
    from modelyard.kube.state import StateObject
    from modelyard.plan.cost.file import LoadedPrices
    from modelyard.plan.cost.prices import Prices


class Planned(NamedTuple):
    """A plan, or the findings that show why there is none."""

    stack: Stack | None
    plan: Plan | None
    reasons: tuple[Finding, ...]
    """Why there is no plan."""
    state: ClusterState | None = None
    """The starting state of the plan."""
    asked: "RequestCount | None" = None
    """The requests that were sent to the API server; None for an offline plan."""
    remotes: Mapping[str, ClusterState] = {}
    """The starting states of the stack's remote clusters, by name."""
    partial: Plan | None = None
    """If the stack patches an existing platform and none is recorded: the plan without a platform."""
    prices: "Prices | None" = None
    """The prices of the file that the stack names; None if it names none, or if the file has errors."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why there is no plan, and what is known without a platform."""
        return ordered((*self.reasons, *self.known)) if self.known else self.reasons

    @property
    def known(self) -> tuple[Finding, ...]:
        """The findings of ``partial`` that count: all but those that the platform lacks an object."""
        return () if self.partial is None else tuple(one for one in self.partial.findings if not _of_platform(one))

    @property
    def clusters(self) -> tuple[tuple[Plan, ClusterState], ...]:
        """The plan of each cluster with its starting state, the home cluster's first; none without a plan."""
        if self.plan is None or self.state is None:
            return ()
        states = {"": self.state, **self.remotes}
        return tuple((plan, states[plan.remote]) for plan in self.plan.clusters)


@lru_cache(maxsize=4)
def library_of(root: Path) -> Library:
    """The project's patches, read once."""
    return load_library(root)


def _library(root: Path, stack: Stack) -> Library:
    """The patches of a stack: those of the project, unless the stack's component sets others."""
    return library_of(root if stack.scope is None else stack.scope.patches)


@of_project
def plan_recorded(root: Path, file: Path, today: date, platform: Path | None = None) -> Planned:
    """Plans a stack file against its recorded platform, or against that of another checkout."""
    stack, findings = load_stack(root, file)
    if stack is None:
        return Planned(None, None, findings)
    state, problems = load_recorded(platform or root, stack.name)
    absent = tuple(one for one in problems if one.code == ABSENT)
    if state is None and not absent:
        return Planned(stack, None, (*findings, *problems))
    state = state or NOT_RECORDED
    grown = with_whole_gpus(with_nodes(stack, state.nodes), state)
    stack = grown.stack
    starts, wrong = recorded_remotes(platform or root, stack)
    left, unread = _left_recorded(platform or root, stack)
    gone = dropped_remotes(left, ())
    prices, of_prices = named_prices(root, stack)
    wrong = (*wrong, *unread, *check_dropped(stack, gone), *grown.findings, *of_prices)
    try:
        plan = make_plan(stack, library_of(root), state, today=today, remotes=starts)
    except UNFIT:
        if not (damage := recorded_damage(platform or root, stack, (start.remote.name for start in starts))):
            raise
        return Planned(stack, None, (*findings, *damage))
    plan = plan._replace(dropped_remotes=tuple(gone), inputs={**plan.inputs, **grown.inputs})
    whole = _with((*findings, *wrong), plan, stack, today)
    if absent and plan.mode == "existing":
        return Planned(stack, None, absent, partial=whole)
    if absent:
        found = (not_planned(one) if _of_platform(one) else one for one in whole.findings)
        whole = whole._replace(findings=ordered((*found, not_checked(stack))))
    return Planned(stack, whole, (), state, remotes=_states(starts), prices=prices)


def _of_platform(finding: Finding) -> bool:
    """Whether a finding reports that the platform lacks an object, which is unknown if no platform is recorded."""
    # Targets of remote clusters have a slash in their names; those clusters start empty.
    return finding.code == MISSING and "/" not in finding.target


def not_checked(stack: Stack) -> Finding:
    """The note that no platform is recorded, with the checks that were left out."""
    existing = stack.config.platform.mode == "existing"
    objects = "patched objects and policies about them, owners of fields, " if existing else ""
    return stack.finding(
        ABSENT,
        Severity.ADVICE,
        (),
        "no platform is recorded, so checks that need the cluster were left out",
        f"run: modelyard record {stack.name}",
        detail=f"left out: {objects}room on nodes, their GPUs and drivers",
    )


UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that are raised if an object does not fit its kind. Only then is every object checked, because that takes
long."""


def recorded_damage(root: Path, stack: Stack, remotes: Iterable[str]) -> tuple[Finding, ...]:
    """Why a stack cannot be planned: errors in its recorded objects, including those of its remote clusters."""
    from modelyard.kube.merge import MergeSchema
    from modelyard.plan.recording import damaged

    schema = MergeSchema.kubernetes(stack.config.kubernetes_version)
    names = (stack.name, *(recorded_name(stack.name, remote) for remote in remotes))
    return tuple(finding for name in names for finding in damaged(root, name, schema))


def _left_recorded(root: Path, stack: Stack) -> tuple[dict[str, dict[ObjectKey, "StateObject"]], list[Finding]]:
    """The stack's recorded objects in remote clusters that it dropped, and findings about those that cannot be read."""
    from modelyard.kube.state import StateObject, annotations_of

    found: dict[str, dict[ObjectKey, StateObject]] = {}
    problems: list[Finding] = []
    # An apply does not read it, and once the cluster has nothing of the stack, the recording is removed.
    remedy = f"restore an earlier version of it, or apply and then run: modelyard record {stack.name}"
    for name in recorded_remote_names(root, stack.name) - {one.name for one in remote_clusters(stack.config)}:
        state, wrong = load_recorded(root, recorded_name(stack.name, name))
        problems += [one._replace(remedy=remedy) for one in wrong]
        objects = state.objects.reveal() if state is not None else {}
        notes = {key: annotations_of(body) for key, body in objects.items()}
        found[name] = {
            key: StateObject(managed=note.get(MODE_ANNOTATION) == "managed")
            for key, note in notes.items()
            if note.get(STACK_NOTE) == stack.full_name
        }
    return found, problems


def recorded_remotes(root: Path, stack: Stack) -> tuple[tuple[RemoteStart, ...], tuple[Finding, ...]]:
    """The starting states of a stack's remote clusters for an offline plan: as recorded, or else empty."""
    starts: list[RemoteStart] = []
    findings: list[Finding] = []
    for remote in remote_clusters(stack.config):
        name = recorded_name(stack.name, remote.name)
        state: ClusterState | None = NOT_RECORDED
        if (recorded_folder(root, name) / CLUSTER_FILE).is_file():
            state, problems = load_recorded(root, name)
            findings += problems
        if state is not None:
            starts.append(RemoteStart(remote, state))
    return tuple(starts), tuple(findings)


def _states(starts: Iterable[RemoteStart]) -> dict[str, ClusterState]:
    return {start.remote.name: start.state for start in starts}


@of_project
def plan_after(root: Path, planned: Planned, earlier: Plan, today: date) -> Plan | None:
    """The plan of a stack after its earlier plan was applied; None if the stack cannot be planned."""
    if planned.stack is None or planned.state is None:
        return None
    before = {one.remote: one for one in earlier.remotes}
    starts = tuple(
        RemoteStart(remote, state_after(planned.remotes[remote.name], before.get(remote.name)))
        for remote in remote_clusters(planned.stack.config)
        if remote.name in planned.remotes
    )
    return make_plan(planned.stack, library_of(root), state_after(planned.state, earlier), today=today, remotes=starts)


def state_after(state: ClusterState, plan: Plan | None) -> ClusterState:
    """A cluster after its plan was applied; unchanged without a plan."""
    if plan is None:
        return state
    changed = {target.key: target.after.reveal() for target in plan.targets}
    objects = {**state.objects.reveal(), **changed}
    quotas = tuple(_used_after(state.quotas, plan.targets))
    state, _ = placed(state, chain.from_iterable(map(_wanted, plan.targets)))
    return state._replace(objects=Confidential({key: body for key, body in objects.items() if body}), quotas=quotas)


def _wanted(target: TargetPlan) -> Iterator[WantedPods]:
    """The pods that a changed target asks for."""
    if target.key.kind in WORKLOAD_KINDS and target.action != "none":
        before, after = target.before.reveal(), target.after.reveal()
        for _, wanted in wanted_of(target.key, before, after, replaced=target.replaces_pods > 0):
            yield wanted


def _used_after(quotas: Collection[Quota], targets: Iterable[TargetPlan]) -> Iterator[Quota]:
    """The quotas after a plan. An upgraded RayService has as many pods as before once its old ones are gone."""
    changed = [one for one in targets if one.action != "none" and not one.upgrades] if quotas else []
    known = [(one.key.namespace, growth(one)) for one in changed]
    zero = Fraction(0)
    for quota in quotas:
        used = dict(quota.used)
        for more in (more for namespace, more in known if namespace == quota.namespace):
            used |= {name: max(used.get(name, zero) + more[name], zero) for name in quota.hard.keys() & more.keys()}
        yield quota._replace(used=used)


def load_stack(root: Path, file: Path) -> tuple[Stack | None, tuple[Finding, ...]]:
    """A stack with what it uses of its project, and all findings; no stack if a finding is an error.

    A stack uses the project's name and GPUs, and the project's files for Python environments.
    """
    stack, findings = load(file, shown(root, file), root)
    wrong = load_gpus(root).findings
    if wrong:
        about = stack.name if stack is not None else next((one.stack for one in findings), "")
        findings = ordered((*findings, *(finding._replace(stack=about) for finding in wrong)))
    broken = any(finding.severity is Severity.ERROR for finding in wrong)
    return None if stack is None or broken else _with_project(root, stack), findings


def named_files(stack: Stack) -> tuple[str, ...]:
    """The files of the project that a stack names, and its plan or its cost reads: prices, and those of environments.

    The paths are relative to the project.
    """
    config = stack.config
    prices = () if config.prices is None else (config.prices,)
    if not config.environments:
        return prices
    from modelyard.workloads.environments.locks import lock_file

    lists = (one.requirements for one in config.environments if one.requirements is not None)
    return (*prices, *lists, *(lock_file(one.name) for one in config.environments))


def named_prices(root: Path, stack: Stack) -> "LoadedPrices":
    """The prices of the file that a stack names, with all findings about it; no prices if a finding is an error."""
    if stack.config.prices is None:
        return None, ()
    from modelyard.plan.cost.file import load_prices  # few stacks have a file, and a cold start must be short

    return load_prices(root, stack.config.prices, stack)


def _with_project(root: Path, stack: Stack) -> Stack:
    named = stack._replace(project=project_name(root))
    if not stack.config.environments:
        return named
    from modelyard.workloads.environments import with_files  # few stacks have any, and a cold start must be short

    return with_files(root, named)


@of_project
def plan_live(root: Path, file: Path, today: date, *, waits: bool = True) -> Planned:
    """Plans a stack file against the cluster of its context; the API server predicts the targets.

    Without ``waits``, it is the plan of an apply that does not wait for jobs.

    Raises:
        cluster.connection.ClusterError: the cluster is unreachable.
    """
    stack, findings = load_stack(root, file)
    if stack is None:
        return Planned(None, None, findings)
    return plan_stack_live(root, stack, findings, today, waits=waits)


@of_project
def plan_stack_live(
    root: Path, stack: Stack, findings: tuple[Finding, ...], today: date, *, waits: bool = True
) -> Planned:
    """Plans a stack against the cluster of its context; ``findings`` are those of the stack file.

    Raises:
        cluster.connection.ClusterError: the cluster is unreachable.
    """
    remote = any(one.remote is not None and one.remote.cluster is not None for one in stack.config.resources)
    with _reading_state(root, stack) as held:
        # Imports take as long as the engine's answer.
        from modelyard.cluster.connection import connect, transport
        from modelyard.cluster.dryrun import dry_run
        from modelyard.cluster.present import absent
        from modelyard.cluster.requests import Counter

        if remote:
            from modelyard.cluster.remote_credentials import write_remote_credentials

            write_remote_credentials(root, stack)
        client = connect(stack.context)
        counter = Counter(transport(client))
        state, notes = read_live(root, stack, client, lambda: held().get("", {}))
        known = held() if state.state_objects is not None else None
        if growing(stack.config):
            state = state._replace(waiting=read_waiting(client, stack.config))
    grown = with_whole_gpus(with_nodes(stack, state.nodes), state)
    stack = grown.stack
    starts: tuple[RemoteStart, ...] = ()
    if remote:
        from modelyard.plan.remote_live import live_remotes

        starts, wrong = live_remotes(stack, _library(root, stack), state, known)
        notes = (*notes, *wrong)
    gone = dropped_remotes(known or {}, (one.name for one in remote_clusters(stack.config)))
    ask = partial(dry_run, client)
    plan = make_plan(
        stack,
        _library(root, stack),
        state,
        today=today,
        ask=ask,
        remotes=starts,
        absent=partial(absent, client),
        waits=waits,
    )
    compared = _compared(root, stack, state, plan)
    prices, of_prices = named_prices(root, stack)
    extra = (*findings, *compared, *notes, *check_dropped(stack, gone), *grown.findings, *of_prices)
    plan = plan._replace(dropped_remotes=tuple(gone), inputs={**plan.inputs, **grown.inputs})
    whole = _with(extra, plan, stack, today)
    return Planned(stack, whole, (), state=state, asked=counter.total(), remotes=_states(starts), prices=prices)


def _compared(root: Path, stack: Stack, state: ClusterState, plan: Plan) -> Iterator[Finding]:
    """The findings about differences between the recorded platform and the live one."""
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
            f"context {stack.context} points to a different cluster than the recorded one in "
            f"stacks/recorded/{stack.name}",
            detail=f"recorded {recorded.identity}, live {state.identity}",
            remedy=f"check kubernetes:context and KUBECONFIG; for a rebuilt cluster: modelyard record {stack.name}",
        ),
        "kubernetes:context",
    )


@contextmanager
def reading_state_objects(root: Path, stack: Stack) -> "Iterator[Callable[[], Mapping[ObjectKey, StateObject]]]":
    """Starts to read a stack's objects from the engine's state; calling the result waits for the answer."""
    with _reading_state(root, stack) as held:
        yield lambda: held().get("", {})


@contextmanager
def _reading_state(root: Path, stack: Stack) -> "Iterator[Callable[[], Mapping[str, Mapping[ObjectKey, StateObject]]]]":
    """Starts to read the engine's state for all clusters of a stack; calling the result waits for the answer."""
    from concurrent.futures import ThreadPoolExecutor

    from modelyard.cluster.engine_state import state_objects_by_cluster

    with ThreadPoolExecutor(1) as pool:
        own = (stack.scope.component, *stack.scope.former) if stack.scope is not None else ("",)
        yield pool.submit(state_objects_by_cluster, root, stack.name, own).result


def read_live(
    root: Path, stack: Stack, client: "Client", state_objects: "Callable[[], Mapping[ObjectKey, StateObject]]"
) -> tuple[ClusterState, tuple[Finding, ...]]:
    """The live starting state of a stack, and findings where the engine's state cannot be read.

    Args:
        root: the project's folder.
        stack: the stack whose targets are read.
        client: the client of its cluster.
        state_objects: returns the stack's objects in the engine's state; those objects are read too.

    Raises:
        cluster.connection.ClusterError: the cluster is unreachable.
    """
    from modelyard.cluster.engine_state import StateError
    from modelyard.cluster.live import in_other_namespaces, neighbours, objects_of, snapshot, state_of

    wanted = wanted_objects(root, stack)
    taken = snapshot(client, wanted)
    state, notes = state_of(taken), tuple(unlisted(stack, taken.unread))
    missing = [key for key in wanted if key not in state.objects.reveal()]
    near = neighbours(client, missing) if missing else {}
    state = state._replace(objects=Confidential({**near, **state.objects.reveal()}))
    platform = _platform_objects(stack)
    if stack.config.platform.mode == "existing" and platform.issubset(missing):
        state = state._replace(other_namespaces=in_other_namespaces(client, sorted(platform)))
    try:
        known = state_objects()
    except StateError as error:
        state = state._replace(state_error=str(error))
        return state, (*notes, unread(stack, state.state_error))
    left = objects_of(client, [key for key in known if key not in wanted])
    return state._replace(objects=Confidential({**state.objects.reveal(), **left}), state_objects=known), notes


def wanted_objects(root: Path, stack: Stack) -> tuple[ObjectKey, ...]:
    """Every object that a stack's patches and bases change or create, and the platform's known Deployments."""
    if stack.scope is not None:
        # Another component may have changed the other objects that its patches name.
        others = {one.deployment for one in workloads(stack.config) if one.role not in stack.scope.roles}
        found = objects_about(chosen_patches(root, stack), stack.config.platform)
        return tuple(sorted({key for key in found if key.name not in others}))
    found = objects_about(chosen_patches(root, stack), stack.config.platform)
    return tuple(sorted({*_platform_objects(stack), *found}))


def _platform_objects(stack: Stack) -> frozenset[ObjectKey]:
    """The objects of the platform's workloads."""
    namespace = stack.config.platform.namespace
    return frozenset(one.key(namespace) for one in workloads(stack.config))


@of_project
def chosen_patches(root: Path, stack: Stack, cluster: str = "") -> tuple[Selected, ...]:
    """The patch versions and parameters of a stack in one of its clusters, the home cluster unless you name another.

    Raises:
        StopIteration: the stack has no such cluster.
    """
    part = next(one for one in cluster_parts(stack) if one.name == cluster)
    return part.chosen(_library(root, stack))[0]


def shown(root: Path, file: Path) -> str:
    """A file's path as users see it: relative to the project if the file is in the project."""
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return str(file)


def _with(findings: Iterable[Finding], plan: Plan, stack: Stack, today: date) -> Plan:
    """The plan with findings about its starting state.

    Waivers cover only findings that are not errors: with an error about the starting state, the result of an apply is
    unknown.
    """
    wrong = {one.field for one in plan.findings if one.blocks}
    # The plan's error about a duration is also about its missing unit.
    extra = tuple(one for one in findings if one.code != codes.DURATION or one.field not in wrong)
    if not extra:
        return plan
    errors = [one for one in extra if one.severity is Severity.ERROR]
    rest, used = waive((one for one in extra if one.severity is not Severity.ERROR), stack, today)
    # The plan has reported these waivers as unused.
    idle = {(codes.WAIVER_UNUSED, f"waivers[{index}]") for index in used}
    others = (one for one in plan.findings if (one.code, one.field) not in idle)
    return plan._replace(findings=ordered((*errors, *rest, *others)))
