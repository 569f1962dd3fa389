"""Checks a recorded platform: its files, and differences from the live platform in the parts that a plan reads."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from modelyard.cluster.recorded import (
    CLUSTER_FILE,
    again,
    not_recorded,
    read_object,
    recorded_files,
    recorded_folder,
    stack_of_recorded,
)
from modelyard.findings import Finding, Severity
from modelyard.hiding import hidden
from modelyard.kube import merge
from modelyard.kube.merge import MergeSchema, validate
from modelyard.kube.state import ClusterState, Node
from modelyard.plan.prediction import SHOWN, short_json
from modelyard.plan.trace import place_field
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Stack
from modelyard.stack.words import few, plural


def outdated(
    stack: Stack, recorded: ClusterState, live: ClusterState, targets: Iterable[TargetPlan]
) -> Iterator[Finding]:
    """One finding for each target, and one for the nodes, if an offline plan reads other values than a live plan.

    A plan reads the spec of its targets, the labels and annotations that it sets, and the owners of those fields.
    """
    schemas = merge.MergeSchema.kubernetes(stack.config.kubernetes_version)
    for target in targets:
        was, now = (state.objects.reveal().get(target.key) for state in (recorded, live))
        if was is None or now is None:
            if was is not now:
                words = "is not recorded" if was is None else "is recorded but no longer in the cluster"
                yield _finding(stack, f"{target.name} {words}", target.name)
            continue
        # A recording has no secrets.
        was, now = hidden(was), hidden(now)
        schema = schemas.of(target.key.api_version, target.key.kind)
        asked = target.applied.reveal()
        different = [*_values(was, now, asked, schema), *_owners(was, now, asked, schema)]
        if different:
            number = plural(len(different), "thing")
            summary = f"{target.name} differs from the recorded platform in {number} that a plan reads"
            yield _finding(stack, summary, target.name, different)
    if nodes := [*_nodes(recorded.nodes, live.nodes)]:
        yield _finding(stack, "the nodes differ from the recorded nodes", "", nodes)


def _values(was: dict[str, Any], now: dict[str, Any], applied: dict[str, Any], schema: merge.Type) -> Iterator[str]:
    for change in merge.diff(was, now, schema):
        asked = change.path[:1] == ("metadata",) and merge.value_at(schema, applied, change.path) is not merge.ABSENT
        if change.path[:1] == ("spec",) or asked:
            yield f"{change.path}: {short_json(change.before)} → {short_json(change.after)}"


def _owners(was: dict[str, Any], now: dict[str, Any], applied: dict[str, Any], schema: merge.Type) -> Iterator[str]:
    for change in merge.diff(None, applied, schema):
        old, new = (_names(body, change.path, schema) for body in (was, now))
        if old != new:
            yield f"owner of {change.path}: {', '.join(old) or 'none'} → {', '.join(new) or 'none'}"


def _names(body: dict[str, Any], path: merge.Path, schema: merge.Type) -> list[str]:
    return sorted({owner.manager for owner in merge.owners(body, path, schema)})


def _nodes(was: Iterable[Node], now: Iterable[Node]) -> Iterator[str]:
    old, new = ({node.name: node for node in nodes} for nodes in (was, now))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {'is new' if name not in old else 'is gone' if name not in new else 'changed'}"


def _finding(stack: Stack, summary: str, target: str, different: list[str] | None = None) -> Finding:
    finding = Finding(
        "OWN010",
        Severity.ADVICE,
        summary,
        target=target,
        detail=f"recorded → live: {few(different, SHOWN, '; ')}" if different else "",
        remedy=f"run: modelyard record {stack.name}; until then plans without --live may differ",
    )
    return place_field(finding, stack)


def damaged(root: Path, name: str, schema: MergeSchema) -> Iterator[Finding]:
    """The findings about readable files of the recorded cluster ``name`` whose objects do not fit their kinds.

    ``schema`` is that of its Kubernetes version.
    """
    stack = stack_of_recorded(name)
    for path in recorded_files(recorded_folder(root, name)):
        try:
            body = read_object(path, root)
        except (OSError, ValueError):
            continue
        bodies = body["nodes"] if path.name == CLUSTER_FILE else [body]
        if wrong := next((words for one in bodies for words in _wrong(one, schema)), ""):
            yield not_recorded(stack, f"stacks/recorded/{name}/{path.name}", wrong, again(stack))


def _wrong(body: Mapping[str, Any], schema: MergeSchema) -> Iterator[str]:
    """What does not fit the kind of an object, in words."""
    kind = body.get("kind", "Node")
    try:
        fitting = schema.of(body.get("apiVersion", "v1"), kind)
    except KeyError:
        return  # There is no schema of its kind.
    yield from (f"{kind} {error}" for error in validate(body, fitting))
