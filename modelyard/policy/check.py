"""The policies over a plan: the findings that ``check``, ``plan``, ``preview`` and ``apply`` add to the plan's own."""

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from modelyard.catalog import Library, Selected
from modelyard.findings import Finding, first_of_each, ordered
from modelyard.kube import merge
from modelyard.plan.cluster_parts import ClusterPart, cluster_parts, of_cluster, on_cluster
from modelyard.plan.drift import kept
from modelyard.plan.objects import Unsettled, patch_errors, unsettled
from modelyard.plan.project import library_of
from modelyard.plan.trace import Renderings, Trace, kind_of, trace, written_at
from modelyard.plan.values import Plan, TargetPlan
from modelyard.policy.judging import judge
from modelyard.policy.loading import policies_of
from modelyard.policy.subject import Subject, subject_of
from modelyard.stack import Stack, apply_policy_waivers, codes
from modelyard.workloads import Facts

_NAMESPACE = "metadata.namespace"


def check_plan(root: Path, stack: Stack, plan: Plan, today: date, base: Path | None = None) -> tuple[Finding, ...]:
    """The findings of a plan and those of the project's policies about it, waivers applied.

    Judges the objects of each cluster separately: two clusters may have objects of one name.

    Args:
        root: the project.
        stack: the plan's stack.
        plan: the plan, with its own findings.
        today: the date for waivers.
        base: the project whose Python rules judge, None for the project's own (see ``policies_of``).
    """
    policies = policies_of(root, base)
    settings = policies.settings
    wrong: tuple[Finding, ...] = ()
    if stack.config.policy.rules:
        settings, wrong = policies.of_stack(stack)
        # Findings about the project's own file are already in its findings.
        wrong = tuple(finding for finding in wrong if finding.file == stack.file)
    parts = {part.name: part for part in cluster_parts(stack)}
    # A rule may find in an object what the plan itself reports. A waiver of the plan's finding does not cover the rule.
    reported = [one for one in settings.weighed(plan.findings) if one.target and one.detail]
    known = {(_content(one), blocks) for one in reported for blocks in {one.blocks, False}}
    judged: list[Finding] = []
    doubtful = False
    for one in plan.clusters:
        part = parts[one.remote]
        found = first_of_each(judge(settings, subjects_of(one, part.known)), "the stack")
        doubt = _unsettled(root, part, plan.findings)
        doubtful = doubtful or bool(doubt)
        if found:
            placed = _placed(doubt.without(found), part, one, library_of(root))
            named = (on_cluster(finding, part.name) for finding in placed)
            judged += (finding for finding in named if (_content(finding), finding.blocks) not in known)
    own = apply_policy_waivers((*wrong, *judged), stack, today, {*policies.rules, *policies.pending})
    if doubtful or not plan.cluster:
        # A waiver may be for a finding about an object that could not be judged, or for one that needs the cluster.
        own = tuple(finding for finding in own if finding.code != codes.WAIVER_UNUSED)
    if any(finding.blocks for finding in policies.findings):
        # A waiver may be for a rule that could not be loaded.
        own = tuple(finding for finding in own if finding.code != codes.WAIVER_CODE)
    if not own and not policies.findings and not settings.raised:
        return plan.findings  # they are in order already
    return ordered((*settings.weighed(plan.findings), *policies.findings, *own))


def _content(finding: Finding) -> tuple[str, str, str]:
    """What the findings of a plan and of a rule about one mistake have in common."""
    return finding.target, finding.detail, finding.remedy


def _unsettled(root: Path, part: ClusterPart, findings: Iterable[Finding]) -> Unsettled:
    """The objects of a cluster whose patches could not be used."""
    if not patch_errors(findings):
        return Unsettled()
    library = library_of(root)
    return unsettled(library, part.stack, part.known, part.chosen(library)[0], of_cluster(findings, part.name))


def subjects_of(plan: Plan, known: Facts) -> tuple[Subject, ...]:
    """The objects of one cluster's plan as rules see them."""
    return tuple(
        subject_of(
            target.after.reveal(),
            role=target.role,
            facts=known,
            sent=kept(target),
            namespace=target.key.namespace,
            cluster=target.cluster,
        )
        for target in plan.asked
    )


def _placed(findings: Iterable[Finding], part: ClusterPart, plan: Plan, library: Library) -> Iterator[Finding]:
    """The findings about one cluster with their stack, and the file and line that give their field its value."""
    stack = part.stack
    targets: dict[str, list[TargetPlan]] = {}
    for target in plan.targets:
        targets.setdefault(target.local_name, []).append(target)
    chosen: tuple[Selected, ...] | None = None
    renderings = Renderings()
    for finding in findings:
        if finding.file:
            yield finding._replace(stack=stack.name)
            continue
        if finding.field == _NAMESPACE:
            # No patch sets it: the plan takes it from the stack file.
            yield stack.place(finding, *part.path, "namespace")
            continue
        traced = None
        if finding.target in targets and finding.field:
            chosen = part.chosen(library)[0] if chosen is None else chosen
            traces = [_traced(finding.field, one, stack, chosen, renderings) for one in targets[finding.target]]
            # A Deployment and the objects that lead to it or scale it share a name: the one with the field is meant.
            traced = max((one for one in traces if one is not None), key=_says, default=None)
        yield _at(finding, stack, traced, chosen or ())


def _says(traced: Trace) -> tuple[bool, bool]:
    """How much is known of a field: whether a patch sets it, whether it exists."""
    return bool(traced.settings), traced.after is not merge.ABSENT


def _traced(
    field: str, target: TargetPlan, stack: Stack, chosen: tuple[Selected, ...], renderings: Renderings
) -> Trace | None:
    try:
        path = merge.Path.parse(field)
        kind = kind_of(target, chosen, stack.config.kubernetes_version)
        return trace(target, path, kind, stack, chosen, renderings=renderings)
    except (ValueError, KeyError):
        # No path in this kind, or a kind without a shipped schema: then only the stack is known.
        return None


def _at(finding: Finding, stack: Stack, traced: Trace | None, chosen: Iterable[Selected]) -> Finding:
    if traced is None:
        return finding._replace(stack=stack.name, file=stack.file)
    if not traced.settings:
        detail = "; ".join(filter(None, (finding.detail, "no patch sets it")))
        return finding._replace(stack=stack.name, file=stack.file, detail=detail)
    setting = traced.settings[-1]
    source = next((one for one in setting.sources if one.line), None)
    if source is None:
        line = written_at(setting.file, traced.path, chosen)
        return finding._replace(stack=stack.name, file=setting.file, line=line)
    return finding._replace(stack=stack.name, file=stack.file, line=source.line)
