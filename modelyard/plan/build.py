"""Makes a plan from a stack, the patches and a starting state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from modelyard import __version__
from modelyard.catalog import Library, PatchVersion, Selected
from modelyard.catalog.places import line_of, target_line
from modelyard.cluster import Ask
from modelyard.findings import Finding, Severity
from modelyard.hardware.gpu_models import own_gpus
from modelyard.hardware.nodes import check_nodes
from modelyard.hardware.own import digest
from modelyard.kube import merge
from modelyard.kube.scheduling.room import Room, room_of
from modelyard.kube.state import ClusterState, Node
from modelyard.names import HARDWARE_FILE
from modelyard.plan.autoscaling import check_autoscaling, check_scalers
from modelyard.plan.checks.needed import FindAbsent, check_needed
from modelyard.plan.checks.placement import check_placement, check_quotas
from modelyard.plan.checks.queues import check_clusters, check_deleted, check_fixed, check_queues
from modelyard.plan.checks.sizes import check_sizes
from modelyard.plan.checks.versions import check_version
from modelyard.plan.cluster_parts import home_part
from modelyard.plan.compose import MISFIT
from modelyard.plan.drains import check_drains, drains
from modelyard.plan.keda import check_keda, staying
from modelyard.plan.objects import Objects, planned_objects, unsettled
from modelyard.plan.order import order
from modelyard.plan.reach import check_reach
from modelyard.plan.remotes import RemoteStart, plan_remote
from modelyard.plan.secrets import findings_without
from modelyard.plan.trace import kind_of, place_field, trace
from modelyard.plan.values import Plan, TargetPlan
from modelyard.stack import apply_waivers, codes
from modelyard.stack.config import Config, Stack, dotted
from modelyard.workloads import Workload, by_object
from modelyard.workloads.facts.jobs import places_of_deployments
from modelyard.workloads.facts.notebooks import places_of_servers
from modelyard.workloads.facts.pool import most_gpus
from modelyard.workloads.rules import check
from modelyard.workloads.training import WORKER_ROLES, active, training_words

if TYPE_CHECKING:
    from modelyard.workloads.sizing import Sized


def make_plan(
    stack: Stack,
    library: Library,
    state: ClusterState,
    *,
    today: date,
    ask: Ask | None = None,
    remotes: Sequence[RemoteStart] = (),
    absent: FindAbsent | None = None,
    waits: bool = True,
) -> Plan:
    """The plan of one stack against a starting state.

    The plan's findings include every error; a target that cannot be planned is left out, with a finding. With ``ask``,
    the API server predicts the targets; all requests are sent together. Without ``ask``, no API server is asked.
    ``remotes`` are the remote clusters to plan as well. ``absent`` returns which of the objects that new pods name do
    not exist. Without ``waits``, it is the plan of an apply that does not wait for jobs.
    """
    config = stack.config
    part = home_part(stack)
    sized = part.workloads
    findings = [*library.findings, *stack_findings(stack, state, part.sizes), *_of_templates(stack, library)]
    chosen, problems = part.chosen(library)
    findings.extend(problems)

    by_name = by_object(sized)
    objects = planned_objects(part, library, state, chosen=chosen, by_name=by_name, reported=findings, ask=ask)
    findings.extend(objects.findings)
    everything = [*objects.asked, *objects.dropped]
    room = room_of(state)
    idle = drains(stack, everything, state.scalers)
    arranged = order(config, everything, sized, room, idle, waits=waits)
    doubtful = unsettled(library, stack, part.known, chosen, findings)
    findings.extend(doubtful.without(arranged.findings))
    findings.extend(doubtful.without(check_drains(config, idle if waits else ())))
    findings.extend(
        doubtful.without(
            object_findings(
                stack, library, objects, state=state, room=room, by_name=by_name, chosen=chosen, reported=findings
            )
        )
    )
    if absent is not None:
        findings.extend(doubtful.without(check_needed(everything, absent)))
    planned = [plan_remote(stack, library, start) for start in remotes]
    others = tuple(plan for plan, _ in planned)
    findings.extend(finding for _, about in planned for finding in about)
    # Users who read a finding may not be allowed to read its object.
    targets = (*objects.asked, *(target for other in others for target in other.targets))
    if stack.scope is not None:
        roles = {name: first.role for name, (first, *_) in by_name.items()}
        findings = [finding for finding in findings if stack.scope.concerns(finding, roles)]
    reported = findings_without(findings, (body for one in targets for body in (one.applied, one.before)))
    return Plan(
        stack=stack.name,
        file=stack.file,
        headline=_headline(config),
        training=config.training,
        mode=config.platform.mode,
        context=stack.context,
        namespace=config.platform.namespace,
        source=state.source,
        cluster=state.identity,
        kubernetes=state.version,
        targets=arranged.targets,
        steps=arranged.steps,
        findings=_without_echoes(
            apply_waivers(_placed(reported, stack, library, objects.asked), stack, today),
            complete=not doubtful and bool(state.identity),
        ),
        inputs=_inputs(stack, chosen),
        drains=idle,
        remotes=others,
    )


def _placed(
    findings: Iterable[Finding], stack: Stack, library: Library, targets: Sequence[TargetPlan]
) -> Iterator[Finding]:
    """The findings with the lines of the stack file and of the patches that they concern."""
    places = places_in_stack(stack.config)
    for finding in findings:
        yield place_field(place_in_patch(place_in_stack(finding, stack, places), library, targets), stack)


_UNFIT = ("GPU001", "GPU002", "GPU003", "GPU004", "GPU005", "GPU006")
"""Findings after which the stack cannot use a GPU."""


def _without_echoes(findings: tuple[Finding, ...], *, complete: bool) -> tuple[Finding, ...]:
    """The findings, without those that repeat what another finding reports better.

    "No node has a GPU" adds nothing if the GPU cannot train, and "no GPU is divided" adds nothing if the GPU cannot be
    divided. An unused waiver means nothing if some objects were not checked.
    """
    if not complete:
        findings = tuple(finding for finding in findings if finding.code != codes.WAIVER_UNUSED)
    causes = {finding.code for finding in findings if finding.blocks}
    places = ("gpu.model", *(f"{role}.replicas" for role in WORKER_ROLES))
    echoes = {("RES101", place) for place in places} if causes.intersection(_UNFIT) else set()
    wrong = (finding.field.partition(".")[0] for finding in findings if finding.blocks)
    echoes |= {("PAR015", field) for field in wrong if field.startswith("partitions[")}
    return tuple(finding for finding in findings if (finding.code, finding.field) not in echoes) if echoes else findings


def _headline(config: Config) -> str:
    gpu = config.gpu
    backend = active(config)
    held = backend.gpus(config)
    gpus = f"{held} × {gpu.model}" if held > 1 else gpu.model
    return f"{training_words(config)} on {gpus} · release {config.platform.release} · mode {config.platform.mode}"


def _inputs(stack: Stack, chosen: Iterable[Selected]) -> dict[str, str]:
    gpus = own_gpus()
    return {
        "modelyard": __version__,
        stack.file: stack.sha256,
        **({HARDWARE_FILE: digest(gpus)} if gpus else {}),
        **{one.patch.id: one.patch.sha256 for one in chosen},
    }


# Places findings about a field of a target on the line of the stack file or of the patch that sets it.
_META, _TEMPLATE, _BASE = "/meta.yaml", "/patch.yaml.j2", "/base.yaml.j2"


def place_in_stack(finding: Finding, stack: Stack, places: Mapping[str, tuple[str | int, ...]]) -> Finding:
    """The finding with the line of the stack file that defines its target, if a single line does.

    Users wrote the target on that line, whereas all targets share the patch. Notes keep their place, and so does a
    finding about a field of that entry.
    """
    if finding.file or finding.severity is Severity.ADVICE or finding.target not in places:
        return finding
    path = places[finding.target]
    return finding if finding.field.startswith(f"{dotted(path)}.") else stack.place(finding, *path)


def places_in_stack(config: Config) -> Mapping[str, tuple[str | int, ...]]:
    """The entry of a list in the stack file that defines each target, by the target's name."""
    return {**places_of_deployments(config), **places_of_servers(config)}


def place_in_patch(finding: Finding, library: Library, targets: Iterable[TargetPlan]) -> Finding:
    """The finding with a line of a patch's file, if the finding names such a file or a patch sets its field.

    A finding that has a line keeps that line. Notes keep the place in their stack file: they are many and need no
    action.
    """
    if finding.line or finding.severity is Severity.ADVICE or not (finding.file or finding.target):
        return finding
    patches = [patch for versions in library.patches.values() for patch in versions.values()]
    if finding.file:
        folder, _, name = finding.file.rpartition("/")
        about = next((patch for patch in patches if patch.file == folder), None)
        return finding if about is None else finding._replace(line=_line(about, f"/{name}", finding))
    patch = _setter(finding, {one.id: one for one in patches}, targets)
    if patch is None:
        return finding
    return finding._replace(file=f"{patch.file}{_TEMPLATE}", line=line_of(patch.template, _path(finding.field)))


def _line(patch: PatchVersion, name: str, finding: Finding) -> int:
    if name == _META:
        return line_of(patch.meta_text, finding.field.split(".")) or 1
    text = {_TEMPLATE: patch.template, _BASE: patch.base}.get(name)
    if text is None:
        return 0
    misfit = finding.code == MISFIT
    line = line_of(text, _path(finding.field)) if finding.field else line_of(text, ("kind",)) if misfit else 0
    if not line and (misfit or not finding.field):
        # A value in braces, or from an expression, has no line.
        line = target_line(text, finding.target)
    return line or int(misfit)


def _setter(
    finding: Finding, patches: Mapping[str, PatchVersion], targets: Iterable[TargetPlan]
) -> PatchVersion | None:
    """The patch that changes the field that a finding is about."""
    for target in targets:
        if target.name == finding.target:
            for change in target.changes:
                if str(change.path) == finding.field:
                    return patches.get(change.patch or "")
    return None


def _path(field: str) -> tuple[Any, ...]:
    try:
        return tuple(merge.Path.parse(field))
    except ValueError:
        return ()


# All checks of a plan: the stack against the tables and the nodes, its objects against the cluster.
#
# Most stacks have few of the sections, so checks of the others are imported only when needed.
def stack_findings(stack: Stack, state: ClusterState, sizes: "tuple[Sized, ...]") -> Iterator[Finding]:
    """The findings about a stack that do not depend on its patches; ``sizes`` are those of its resources."""
    yield from check_version(stack, state)
    yield from check(stack)
    yield from check_nodes(stack, state.nodes, active(stack.config).pods(stack.config))
    yield from _of_jobs(stack, state, sizes)
    yield from check_queues(stack, state.nodes)
    yield from check_clusters(stack)
    if stack.config.node_pools:
        # The tables of machines are long.
        from modelyard.plan.checks.nodepools import check_node_pools

        yield from check_node_pools(stack, state.nodes)


def object_findings(
    stack: Stack,
    library: Library,
    objects: Objects,
    *,
    state: ClusterState,
    room: Room,
    by_name: Mapping[str, tuple[Workload, ...]],
    chosen: tuple[Selected, ...],
    reported: Sequence[Finding],
) -> Iterator[Finding]:
    """The findings about the objects that the stack asks for, and about the objects that it no longer asks for.

    ``reported`` are the findings about the stack itself.
    """
    config = stack.config
    targets, everything = objects.asked, [*objects.asked, *objects.dropped]
    # What goes back to its earlier values may have any: an undo is never stopped.
    dropped = {target.name for target in objects.dropped}
    kept = {name: those for name, those in by_name.items() if name not in dropped}
    yield from check_sizes(stack, targets, kept, chosen=chosen, reported=reported, library=library, platform=state)
    unmade: Mapping[str, Finding] = {}
    if config.partitions:
        from modelyard.plan.checks.partitions import without_nodes

        unmade = without_nodes(stack, state)
    if state.identity:  # The nodes of a cluster that is not recorded are unknown.
        yield from check_placement(
            everything, by_name, room, growth=_growth(config), most=most_gpus(config), unmade=unmade
        )
    yield from check_quotas(everything, room.quotas)
    yield from check_fixed(stack, targets)
    yield from check_deleted(stack, objects.dropped)
    yield from check_reach(stack, everything)
    yield from check_autoscaling(config, targets, lambda target: _replicas_setter(target, stack, chosen))
    yield from check_scalers(targets, staying(objects.deleted, state.scalers))
    yield from check_keda(config, targets, state.scalers)


def _replicas_setter(target: TargetPlan, stack: Stack, chosen: tuple[Selected, ...]) -> str:
    """The patch that sets the replicas of a target; empty if unknown."""
    schema = kind_of(target, chosen, stack.config.kubernetes_version)
    settings = trace(target, merge.Path(("spec", "replicas")), schema, stack, chosen).settings
    return settings[-1].patch if settings else ""


def _of_jobs(stack: Stack, state: ClusterState, everything: "tuple[Sized, ...]") -> Iterator[Finding]:
    """The findings about jobs, resources, their partitions and Python environments, pipelines, and notebook servers."""
    if stack.config.partitions:
        from modelyard.plan.checks.partitions import check_partitions

        yield from check_partitions(stack, state)
    if stack.config.jobs or stack.config.resources or stack.config.pipelines:
        # Most stacks have none, and the formulas need a separate import.
        from modelyard.plan.checks.jobs import check_endless, check_job_room
        from modelyard.plan.checks.partitions import check_slice_quotas
        from modelyard.runs.jobs import check_dispatch, check_growth, check_images, check_spark
        from modelyard.runs.pipelines import check_pipelines
        from modelyard.workloads.sizing import check_jobs

        yield from check_jobs(stack, everything)
        yield from check_job_room(stack, everything, state.nodes, _growth(stack.config))
        yield from check_endless(stack, everything)
        yield from check_slice_quotas(stack, everything, state.nodes)
        yield from check_spark(stack, everything)
        yield from check_dispatch(stack, everything)
        yield from check_growth(stack, everything)
        yield from check_images(stack)
        yield from check_pipelines(stack, everything)
    if stack.config.notebooks.servers is not None:
        from modelyard.plan.checks.notebook_servers import check_notebook_servers

        yield from check_notebook_servers(stack)
    if stack.config.environments or _named_environments(stack.config):
        from modelyard.workloads.environments import check_environments

        yield from check_environments(stack, state.nodes)
    if stack.config.providers or stack.config.buckets or any(one.remote for one in stack.config.resources):
        from modelyard.workloads.remote import check_remote

        yield from check_remote(stack, everything=everything)


def _of_templates(stack: Stack, library: Library) -> Iterator[Finding]:
    """The findings about jobs that depend on the versions of their templates that the stack uses."""
    if any(job.grows for job in stack.config.jobs):
        from modelyard.runs.jobs import check_template  # as above

        yield from check_template(stack, library)


def _growth(config: Config) -> tuple[Node, ...]:
    """The nodes of node pools, one of each kind, even if the limit of their pool has no room for them."""
    if not config.node_pools:
        return ()
    from modelyard.plan.checks.nodepools import possible_nodes

    return possible_nodes(config.node_pools)


def _named_environments(config: Config) -> bool:
    """Whether anything runs in a Python environment, defined or not."""
    named = [one.environment for one in config.jobs] + [one.environment for one in config.resources]
    return any(named) or config.notebooks.environment is not None
