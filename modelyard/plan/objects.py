"""The objects of one cluster in a plan: the request for each, and the predicted result.

An object cannot be predicted if one of its patches could not be used. Its current settings are not what the stack asks
for. Checking it would report settings that no user made, and hide the one error behind its consequences.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from modelyard.catalog import Library, PatchDocument, PatchVersion, Selected, left_out
from modelyard.catalog.library import TEMPLATE
from modelyard.cluster import Answer, Question
from modelyard.findings import Finding, Severity, first_of_each
from modelyard.kube import merge
from modelyard.kube.state import ClusterState, ObjectKey, key_of
from modelyard.patterns import regex
from modelyard.plan.cluster_parts import ClusterPart
from modelyard.plan.compose import MISFIT
from modelyard.plan.keda import freed
from modelyard.plan.missing import in_namespace, unset
from modelyard.plan.ownership import mode_switch
from modelyard.plan.target import REPLICAS, Foreign, Prepared, TargetInputs, finish, old_pods, prepare
from modelyard.plan.trace import Renderings, with_items
from modelyard.plan.undo.dropped import Dropped, dropped_objects, of_another_state, planned_drop, strangers
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Config, Stack, dotted
from modelyard.stack.words import nearest, plain
from modelyard.workloads import Facts, Workload

_TARGET = regex(r"^#\s*target:\s*(.*?)\s*$", re.MULTILINE)
_PARAM = regex(r"\{\{\s*(\w+)\s*\}\}")
_FOLDER = regex(r"patches/([^/]+)/")


class Unsettled(NamedTuple):
    """The objects that are not checked."""

    names: frozenset[str] = frozenset()
    everything: bool = False
    """Whether the object may be any, because a patch's targets are unknown."""

    def __bool__(self) -> bool:
        return self.everything or bool(self.names)

    def holds(self, name: str) -> bool:
        """Whether the object is one of these."""
        return self.everything or name in self.names

    def without(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings that do not concern these objects."""
        return (finding for finding in findings if not finding.target or not self.holds(finding.target))


class Objects(NamedTuple):
    """The planned objects of one cluster."""

    asked: list[TargetPlan]
    """Objects that the stack asks for."""
    dropped: list[TargetPlan]
    """Objects that the stack asked for earlier."""
    deleted: list[dict[str, Any]]
    """The dropped objects that an apply deletes, as they are now."""
    findings: list[Finding]
    """About these objects, and about the patches that render them."""


def planned_objects(
    part: ClusterPart,
    library: Library,
    state: ClusterState,
    *,
    chosen: tuple[Selected, ...],
    by_name: Mapping[str, tuple[Workload, ...]],
    reported: Sequence[Finding],
    ask: Callable[[Sequence[Question]], Sequence[Answer | None]] | None = None,
    foreign: Foreign = mode_switch,
) -> Objects:
    """The targets that a stack asks for, and those that it no longer asks for.

    Args:
        part: the cluster's part of the stack.
        library: the project's patches.
        state: the starting state.
        chosen: the patches that the stack uses.
        by_name: the platform's workloads by name of their object, training workers first.
        reported: the findings about patches so far.
        ask: asks the API server for predictions of all objects together; None: no API server is asked.
        foreign: the finding about an object that is there and not the stack's to take.
    """
    stack, config = part.stack, part.stack.config
    schemas = merge.MergeSchema.kubernetes(config.kubernetes_version)
    rendered = _rendered(chosen, config)
    findings = [*reported, *rendered.findings]
    doubtful = unsettled(library, stack, part.known, chosen, findings)
    every = tuple(_inputs(part, chosen, rendered, by_name, doubtful))
    prepared, problems = _prepared(every, chosen, schemas, state=state, stack=stack, foreign=foreign)
    findings += problems
    dropped: list[Dropped] = []
    if not patch_errors(findings):
        # A patch that failed to render is not a dropped patch.
        wanted = {one.key for one in every}
        dropped += dropped_objects(
            wanted,
            state,
            schemas,
            library=library,
            workloads=by_name,
            namespace=config.platform.namespace,
            stack=stack.full_name,
        )
        findings += (*strangers(wanted, state), *of_another_state(stack, wanted, state))
    questions = [*(one.applied for one in prepared), *(one.question for one in dropped)]
    answers = iter(ask(questions) if ask is not None else [None] * len(questions))
    deleted = [one.live for one in dropped if one.undo is None]
    unscaled = freed(deleted)
    asked = [finish(one, next(answers), _quiet(one, unscaled, config.platform.installers)) for one in prepared]
    drops = [planned_drop(one, next(answers)) for one in dropped]
    findings += (finding for _, about in (*asked, *drops) for finding in about)
    findings += (finding for target, _ in drops for finding in old_pods(target))
    return Objects(
        asked=[target for target, _ in asked],
        dropped=[target for target, _ in drops],
        deleted=deleted,
        findings=findings[len(reported) :],
    )


def _prepared(
    every: Iterable[TargetInputs],
    chosen: tuple[Selected, ...],
    schemas: merge.MergeSchema,
    *,
    state: ClusterState,
    stack: Stack,
    foreign: Foreign,
) -> tuple[list[Prepared], list[Finding]]:
    """The requests that can be sent, and the findings about all requests."""
    prepared: list[Prepared] = []
    findings: list[Finding] = []
    known = Renderings()
    for inputs in every:
        try:
            schema = schemas.of(inputs.key.api_version, inputs.key.kind)
        except LookupError:
            findings.append(_unknown_kind(inputs, schemas, stack.config.kubernetes_version))
            continue
        ready, problems = prepare(inputs, schema, state, stack, foreign)
        placed: dict[Finding, Finding] = {}
        for problem in problems:
            finding = _at_parameter(problem, inputs, chosen, schema=schema, stack=stack, known=known)
            # A parameter that fills several fields is wrong once.
            placed.setdefault(problem if finding is problem else finding._replace(summary=""), finding)
        findings.extend(placed.values())
        if ready is not None:
            prepared.append(ready)
    if state.identity:  # Otherwise no platform is recorded, and nothing is known about its namespace.
        patched = {inputs.key for inputs in every if inputs.workloads and inputs.base is None}
        findings = in_namespace(stack.config.platform.namespace, findings, patched, state)
    return prepared, first_of_each(findings, "the patch")


def _quiet(one: Prepared, unscaled: Set[tuple[str, str]], installers: tuple[str, ...]) -> tuple[str, ...]:
    """The managers that will not write by themselves: the stack's installers, and the previous writers of replicas
    where KEDA stops scaling the Deployment with this plan.
    """
    if one.live is None or (one.inputs.key.namespace, one.inputs.key.name) not in unscaled:
        return installers
    holders = merge.owners(one.live, REPLICAS, one.schema)
    return (*installers, *(owner.manager for owner in holders if owner.subresource == "scale"))


PatchOutputs = Mapping[ObjectKey, list[tuple[PatchVersion, PatchDocument]]]
"""The output of the patches of each object, in merge order."""
Bases = Mapping[ObjectKey, tuple[PatchVersion, dict[str, Any]]]
"""The objects that the stack owns (mode managed), and the patch versions whose bases they are."""


class _Rendered(NamedTuple):
    """What the patches of a stack render."""

    parts: PatchOutputs
    bases: Bases
    findings: list[Finding]


def _rendered(chosen: Iterable[Selected], config: Config) -> _Rendered:
    parts: dict[ObjectKey, list[tuple[PatchVersion, PatchDocument]]] = {}
    bases: dict[ObjectKey, tuple[PatchVersion, dict[str, Any]]] = {}
    findings: list[Finding] = []
    incomplete: set[ObjectKey] = set()
    namespace = config.platform.namespace
    for one in chosen:
        rendered = one.render()
        findings += rendered.findings
        for document in rendered.documents:
            parts.setdefault(_key(document, namespace), []).append((one.patch, document))
            findings += _elsewhere(one.patch, document, namespace)
        if not one.patch.owns(config.platform.mode):
            continue
        missing = sorted(name for name, value in one.params.reveal().items() if value is None)
        base = one.render_base() if not missing else None
        wrong = base.findings if base is not None else [unset(one, name) for name in missing]
        findings += wrong
        if wrong:
            incomplete.update(_key(document, namespace) for document in rendered.documents)
        for document in base.documents if base is not None else ():
            body = document.body.reveal()
            bases[key_of(body, namespace)] = (one.patch, body)
    whole = {key: documents for key, documents in parts.items() if key not in incomplete}
    return _Rendered(whole, bases, findings)


def _inputs(
    part: ClusterPart,
    chosen: Iterable[Selected],
    rendered: _Rendered,
    by_name: Mapping[str, tuple[Workload, ...]],
    doubtful: Unsettled,
) -> Iterator[TargetInputs]:
    """The inputs for each object, in the order of the keys."""
    scope, managed = part.stack.scope, part.stack.config.platform.mode == "managed"
    owners = {one.patch.id: by_name.get(one.params.reveal().get("deployment", ""), ()) for one in chosen}
    for key in sorted({*rendered.parts, *rendered.bases}):
        base = rendered.bases.get(key)
        workloads = owners[base[0].id] if base is not None else by_name.get(key.name, ())
        if scope is not None and workloads and not any(one.role in scope.roles for one in workloads):
            continue
        # A patch for several workloads may have a document for one that the platform does not have.
        documents = [] if key.name in part.lacking else rendered.parts.get(key, [])
        # A partial object is no plan: its patches would search for a missing target.
        if base is None and (not documents or (managed and doubtful.holds(key.name))):
            continue
        yield TargetInputs(key, documents, base, workloads)


def _at_parameter(
    finding: Finding,
    inputs: TargetInputs,
    chosen: Iterable[Selected],
    *,
    schema: merge.Type,
    stack: Stack,
    known: Renderings,
) -> Finding:
    """The finding about a value that does not fit, at the parameter under ``modelyard:patches`` that is this value.

    A finding about a value that the template makes of parameters, or about a field's name, stays as it is.
    """
    folder, _, file = finding.file.rpartition("/")
    one = next((one for one in chosen if finding.code == MISFIT and one.patch.file == folder), None)
    if one is None:
        return finding
    at = inputs.key.name if file == TEMPLATE else (inputs.key.api_version, inputs.key.kind, inputs.key.name)
    schema, path = with_items(schema, (one.patch,)), merge.Path.parse(finding.field)
    if not _exists(schema, path):
        return finding

    def value(other: str | None = None) -> Any:
        return merge.value_at(schema, known.of(one, file, other).get(at), path)

    own = [name for name, source in one.sources.items() if source[:1] == ("patches",)]
    filling = [name for name in own if value(name) != value()]
    # The value is compared plainly: it does not leave this function.
    if len(filling) != 1 or value() != one.params.reveal()[filling[0]]:
        return finding
    (name,) = filling
    source = one.sources[name]
    summary = finding.summary.replace(f"patch {one.patch.id} does", f"parameter {name} of patch {one.patch.id} does", 1)
    remedy = f"correct {dotted(source)}"
    return stack.finding(MISFIT, Severity.ERROR, source, summary, remedy, target=finding.target)


def _exists(schema: merge.Type, path: merge.Path) -> bool:
    """Whether the kind has a field at the path."""
    kind: merge.Type | None = schema
    for element in path:
        if kind is None:
            return False
        kind = kind.child[element] if isinstance(element, str) else kind.item
    return kind is not None


def _elsewhere(patch: PatchVersion, document: PatchDocument, namespace: str) -> Iterator[Finding]:
    """Yields the warning about a document that names another namespace than that of the object that it changes."""
    metadata = document.body.reveal().get("metadata")
    named = metadata.get("namespace") if isinstance(metadata, dict) else None
    if isinstance(named, str) and named not in ("", namespace) and patch.meta.use == "patched":
        yield Finding(
            "PAT007",
            Severity.WARNING,
            f"patch {patch.id} names namespace {plain(named)}, but it changes {document.target} in {namespace}",
            target=document.target,
            field="metadata.namespace",
            file=f"{patch.file}/{TEMPLATE}",
            remedy="remove metadata.namespace",
        )


def _key(document: PatchDocument, namespace: str) -> ObjectKey:
    body = document.body.reveal()
    return ObjectKey(body["apiVersion"], body["kind"], namespace, document.target)


def _unknown_kind(inputs: TargetInputs, schemas: merge.MergeSchema, version: str) -> Finding:
    close = nearest(f"{inputs.key.api_version} {inputs.key.kind}", sorted(map(" ".join, schemas.every_kind)))
    api_version, _, kind = (close or "").partition(" ")
    return Finding(
        "PAT008",
        Severity.ERROR,
        f"Kubernetes {version} has no {inputs.key.kind} in {inputs.key.api_version}",
        target=inputs.key.name,
        file=f"{inputs.parts[0][0].file}/{TEMPLATE}" if inputs.parts else "",
        remedy=f"set apiVersion: {api_version} and kind: {kind} in the template"
        if close
        else "correct apiVersion and kind in the template",
    )


def patch_errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The errors in patches: as long as there are any, some objects of the stack are unknown."""
    return tuple(one for one in findings if one.code.startswith("PAT") and one.severity is Severity.ERROR)


def unsettled(
    library: Library, stack: Stack, known: Facts, chosen: Iterable[Selected], findings: Iterable[Finding]
) -> Unsettled:
    """The objects that errors in patches leave undecided.

    Args:
        library: the project's patches.
        stack: the stack of the plan.
        known: the stack's facts.
        chosen: the patches that the stack uses.
        findings: the plan's findings, including those about patches.
    """
    wrong = patch_errors(findings)
    if not wrong:
        return Unsettled()
    names = {finding.target for finding in wrong if finding.target}
    chosen = tuple(chosen)
    failed = [(one.patch, one.params.reveal()) for one in chosen if _fails(one, stack.config.platform.mode)]
    broken = {found[1] for finding in library.findings if (found := _FOLDER.match(finding.file)) is not None}
    broken |= {version.partition("/")[0] for version in library.released}
    if any(name not in library.patches for name in broken):
        return Unsettled(frozenset(names), True)
    for patch, params in (*failed, *left_out(library, stack, known, chosen)):
        about = tuple(_targets(patch, params))
        if not about or None in about:
            return Unsettled(frozenset(names), True)
        names.update(name for name in about if name is not None)
    return Unsettled(frozenset(names))


def _fails(one: Selected, mode: str) -> bool:
    if one.render().findings:
        return True
    whole = one.patch.owns(mode) and None not in one.params.reveal().values()
    return whole and bool(one.render_base().findings)


def _targets(patch: PatchVersion, params: Mapping[str, Any]) -> Iterator[str | None]:
    """The objects that a patch's template names, without rendering it; None for a name that needs rendering."""
    for text in _TARGET.findall(patch.template):
        param = _PARAM.fullmatch(text)
        value = params.get(param[1]) if param is not None else None if "{" in text else text
        yield value if isinstance(value, str) else None
