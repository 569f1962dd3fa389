"""How stacks diverge: the fields that their plans ask for with different values."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.names import LEDGER_NOTE, STACK_NOTE
from modelyard.plan import Plan
from modelyard.plan.ownership import ENGINE_ANNOTATIONS, MODE_ANNOTATION
from modelyard.plan.secrets import hidden_field

Field = tuple[str, str]
"""Name of the target, path of the field."""
_NOT_COMPARED = (*ENGINE_ANNOTATIONS, MODE_ANNOTATION, STACK_NOTE, LEDGER_NOTE)
_IDENTITY = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


class Column(NamedTuple):
    """The fields that one stack asks for."""

    stack: str
    fields: Mapping[Field, tuple[Confidential[str], Any]]
    """Each value as JSON, so that equal values are equal texts, and as it is shown: secrets are hidden."""


class Row(NamedTuple):
    """One field in which stacks differ."""

    target: str
    field: str
    values: tuple[tuple[Any, tuple[str, ...]], ...]
    """Each value, ``merge.ABSENT`` for none, with the stacks that have it; the most common comes first. Secrets are
    hidden.
    """


def column(plan: Plan, version: str) -> Column:
    """The fields that a plan asks for in all of its clusters.

    Args:
        plan: the plan.
        version: version of the Kubernetes schema for its fields, such as ``1.35``.
    """
    fields: dict[Field, tuple[Confidential[str], Any]] = {}
    schemas = merge.MergeSchema.kubernetes(version)
    for target in (target for one in plan.clusters for target in one.asked):
        schema = schemas.of(target.key.api_version, target.key.kind)
        request = target.applied.reveal()
        for change in merge.diff(None, request, schema):
            if tuple(change.path) not in _IDENTITY and change.path[-1] not in _NOT_COMPARED:
                shown = hidden_field(target.key, change.path, change.after, request)
                text = json.dumps(change.after, sort_keys=True)
                fields[target.name, str(change.path)] = Confidential(text), shown
    return Column(plan.stack, fields)


def rows(columns: Iterable[Column]) -> tuple[Row, ...]:
    """The fields whose values differ between stacks, by target and field."""
    columns = tuple(columns)
    found = []
    for target, field in sorted({name for one in columns for name in one.fields}):
        stacks: dict[Confidential[str] | None, list[str]] = {}
        values: dict[Confidential[str] | None, Any] = {}
        for one in columns:
            text, shown = one.fields.get((target, field), (None, merge.ABSENT))
            stacks.setdefault(text, []).append(one.stack)
            values[text] = shown
        if len(stacks) > 1:
            by_number = sorted(stacks.items(), key=lambda pair: (-len(pair[1]), pair[1]))
            found.append(Row(target, field, tuple((values[text], tuple(names)) for text, names in by_number)))
    return tuple(found)
