"""How stacks diverge: the fields that their plans ask for with different values."""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from modelyard.kube import merge
from modelyard.names import LEDGER_NOTE, STACK_NOTE
from modelyard.plan import Plan
from modelyard.plan.ownership import ENGINE_ANNOTATIONS, MODE_ANNOTATION
from modelyard.plan.secrets import hidden_field

MatrixField = tuple[str, str]
"""Name of the target, path of the field."""
_NOT_COMPARED = (*ENGINE_ANNOTATIONS, MODE_ANNOTATION, STACK_NOTE, LEDGER_NOTE)
_IDENTITY = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


class Column(NamedTuple):
    """The fields that one stack asks for."""

    stack: str
    fields: Mapping[MatrixField, tuple[str, Any]]
    """Each value as a digest, so that equal values are equal texts, and as it is shown: secrets are hidden."""


class MatrixRow(NamedTuple):
    """One field in which stacks differ."""

    target: str
    field: str
    values: tuple[tuple[Any, tuple[str, ...]], ...]
    """Each value, ``merge.ABSENT`` for none, with the stacks that have it; the most common comes first. Secrets are
    hidden.
    """


def column(plan: Plan, version: str, key: bytes) -> Column:
    """The fields that a plan asks for in all of its clusters.

    Args:
        plan: the plan.
        version: version of the Kubernetes schema for its fields, such as ``1.35``.
        key: of the digests; random and the same for all columns, so that no digest reveals a secret.
    """
    fields: dict[MatrixField, tuple[str, Any]] = {}
    schemas = merge.MergeSchema.kubernetes(version)
    for target in (target for one in plan.clusters for target in one.asked):
        schema = schemas.of(target.key.api_version, target.key.kind)
        request = target.applied.reveal()
        for change in merge.diff(None, request, schema):
            if tuple(change.path) not in _IDENTITY and change.path[-1] not in _NOT_COMPARED:
                shown = hidden_field(target.key, change.path, change.after, request)
                text = json.dumps(change.after, sort_keys=True)
                fields[target.name, str(change.path)] = blake2b(text.encode(), key=key).hexdigest(), shown
    return Column(plan.stack, fields)


def rows(columns: Iterable[Column]) -> tuple[MatrixRow, ...]:
    """The fields whose values differ between stacks, by target and field."""
    columns = tuple(columns)
    found = []
    for target, field in sorted({name for one in columns for name in one.fields}):
        stacks: dict[str | None, list[str]] = {}
        values: dict[str | None, Any] = {}
        for one in columns:
            digest, shown = one.fields.get((target, field), (None, merge.ABSENT))
            stacks.setdefault(digest, []).append(one.stack)
            values[digest] = shown
        if len(stacks) > 1:
            by_number = sorted(stacks.items(), key=lambda pair: (-len(pair[1]), pair[1]))
            found.append(MatrixRow(target, field, tuple((values[digest], tuple(names)) for digest, names in by_number)))
    return tuple(found)
