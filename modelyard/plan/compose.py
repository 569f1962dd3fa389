"""Combines all patches of one target into one partial object, with the patch that set each field."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from modelyard import quantity
from modelyard.catalog.library import META, TEMPLATE, PatchVersion, Phase
from modelyard.catalog.templates import PatchDocument
from modelyard.findings import MOST_COUNTED, Finding, Severity
from modelyard.hiding import words_without
from modelyard.kube import merge
from modelyard.kube.merge import Path
from modelyard.kube.merge.path import ROOT
from modelyard.kube.state import ObjectKey
from modelyard.patterns import regex
from modelyard.plan.secrets import hidden_change
from modelyard.plan.undo.ledger import replaced
from modelyard.stack.words import plural

_PHASE_RANK: dict[Phase, int] = {"route": 0, "up": 1, "down": 2, "normal": 3}
_PODS = ("maxSurge", "maxUnavailable", "minAvailable")
"""Fields, in several kinds of objects, whose value is a number of pods or a percentage of them."""
MISFIT = "PAT008"
"""Code of the finding about a request that no API server takes."""
WHOLE_LIST = "OWN018"
"""Code of the note about a list that a request sends as a whole."""
PERCENTAGE = regex(r"[0-9]{1,5}%")


class PatchConflict(NamedTuple):
    """Two patches that give one field different values."""

    earlier: PatchVersion
    later: PatchVersion
    path: Path
    values: tuple[str, str]
    """As findings show them."""


class Composed(NamedTuple):
    """One request for one target."""

    body: dict[str, Any]
    origins: Mapping[Path, str]
    """The ``name@version`` that set each leaf field, by the field."""
    unowned: frozenset[Path]
    """Fields that a patch left empty, because another owner sets them."""
    patches: tuple[str, ...]
    phase: Phase
    fits: bool
    """Whether an API server would take every patch."""
    schema: merge.Type
    """The type of the target; lists in ``items`` merge by item in it."""
    items: Mapping[Path, str]
    """Lists that are sent as a whole but of which patches change items, with the field that identifies an item."""
    conflicts: tuple[PatchConflict, ...]


def compose(
    parts: Iterable[tuple[PatchVersion, PatchDocument]], schema: merge.Type, target: str
) -> tuple[Composed, tuple[Finding, ...]]:
    """Merges a target's documents in order.

    Two patches that give one field different values conflict, unless the later one names the earlier in its
    ``overrides``. Patches may name items of a list that is sent as a whole (``items`` of their ``meta.yaml``); the
    request then has these items only, until :func:`completed` adds the others. Directives and nulls are what
    server-side apply cannot send: a null means that the field is left to its other owner, a directive is a finding.
    """
    body: dict[str, Any] = {}
    asked: dict[Path, tuple[str, Any]] = {}
    patches: list[str] = []
    conflicts: list[PatchConflict] = []
    phase: Phase = "normal"
    fits = True
    parts = tuple(parts)
    named = {patch.id: patch for patch, _ in parts}
    schema, items, findings = _with_items(parts, schema, target)
    for patch, document in parts:
        whole = document.body.reveal()
        if unsent := [_unsent(patch, target, *found) for found in _directives(whole, "")]:
            findings += unsent
            continue
        if wrong := misfits(patch, TEMPLATE, whole, schema, target):
            findings += wrong
            fits = False
            continue
        changes = merge.diff(None, whole, schema)
        given = _without_nulls(whole) if any(change.after is None for change in changes) else whole
        for change in changes:
            earlier, wanted = asked.get(change.path, (patch.id, change.after))
            if wanted != change.after and earlier.partition("@")[0] not in patch.meta.overrides:
                values = _shown(document, change.path, wanted, change.after)
                conflicts.append(PatchConflict(named[earlier], patch, change.path, values))
            elif wanted != change.after or change.path not in asked:
                asked[change.path] = patch.id, change.after
                if wanted is not None and change.after is None:
                    # Only with its null does the merge take out what the earlier patch gave.
                    given = whole
        # Below items, lists merge as the API server merges them.
        merged = merge.overlaid if whole is given and items else merge.strategic
        try:
            body = merged(body, given, schema) if body else given
        except merge.MergeError as error:
            findings += unfit(patch, TEMPLATE, whole, error.errors, target)
            fits = False
            continue
        patches.append(patch.id)
        phase = first_phase((phase, document.phase))
    composed = Composed(
        body=body,
        origins={path: name for path, (name, value) in asked.items() if value is not None},
        unowned=frozenset(path for path, (_, value) in asked.items() if value is None),
        patches=tuple(dict.fromkeys(patches)),
        phase=phase,
        fits=fits,
        schema=schema,
        items=items,
        conflicts=tuple(conflicts),
    )
    return composed, tuple(findings)


def _unsent(patch: PatchVersion, target: str, where: str, directive: str) -> Finding:
    return Finding(
        "PAT015",
        Severity.ERROR,
        f"patch {patch.id} uses {directive} at {where or 'the top'}, which server-side apply cannot send",
        target=target,
        field=where,
        file=f"{patch.file}/{TEMPLATE}",
        remedy="write the value that the field should have, or drop the field from the patch",
    )


def _with_items(
    parts: Iterable[tuple[PatchVersion, PatchDocument]], schema: merge.Type, target: str
) -> tuple[merge.Type, dict[Path, str], list[Finding]]:
    """The type in which the lists that patches name in ``items`` merge by item, those lists, and wrong entries."""
    items: dict[Path, str] = {}
    findings = []
    for patch, document in dict(parts).items():
        several = patch.template.count("# target:") > 1 or len(patch.meta.items) > 1
        for text, key in patch.meta.items.items():
            try:
                path = Path.parse(text)
                if several and merge.value_at(schema, document.body.reveal(), path) == merge.ABSENT:
                    continue  # Another document of the patch has the list, or this one for another kind.
                if path not in items:
                    schema = merge.keyed(schema, path, key)
                    items[path] = key
            except (LookupError, ValueError) as error:
                findings.append(
                    Finding(
                        MISFIT,
                        Severity.ERROR,
                        f"items of patch {patch.id}: {error.args[0]}",
                        target=target,
                        field="items",
                        file=f"{patch.file}/{META}",
                        remedy="name a list of objects that has no list type in the schema of its kind, and a field "
                        "that identifies an item",
                    )
                )
    return schema, items, findings


def as_spelled(composed: Composed, live: Mapping[str, Any]) -> Composed:
    """The request with amounts spelled as in the object where both mean the same.

    The API server has one spelling for the kinds that it knows; in a custom resource, ``1`` and ``"1"`` differ.
    """
    body, schema = composed.body, composed.schema
    for path in composed.origins if not schema.native else ():
        if len(path) < 2 or path[-2] not in ("limits", "requests"):
            continue
        was, wanted = (merge.value_at(schema, one, path) for one in (live, body))
        if was != wanted and quantity.same(was, wanted):
            body = replaced(body, path, was)
    return composed._replace(body=body)


def completed(composed: Composed, live: Mapping[str, Any]) -> Composed:
    """The request with the items that an object has besides those that the patches change.

    Raises:
        MergeError: an item lacks the field that identifies it.
    """
    body = composed.body
    for path, key in composed.items.items():
        have, items = (_items(one, path, composed.schema) for one in (live, body))
        if not have or not items:
            continue
        order = {item.get(key): at for at, item in enumerate(have)}
        # The items of the object keep their order, whatever the order of the patches.
        items = sorted(items, key=lambda item: order.get(item.get(key), len(order)))
        wanted = replaced(body, path, items)
        every = merge.overlaid(replaced(body, path, have), wanted, composed.schema)
        body = replaced(body, path, _items(every, path, composed.schema))
    return composed._replace(body=body)


def missing_items(
    composed: Composed, live: Mapping[str, Any], target: str, groups: Mapping[str, str]
) -> Iterator[Finding]:
    """The findings about items that patches change and the object does not have.

    ``groups`` are the worker groups that the stack file names, with their workloads.
    """
    for path, key in composed.items.items():
        have = [one.get(key) for one in _items(live, path, composed.schema)]
        for item in _items(composed.body, path, composed.schema):
            # An item with everything that its type requires is a new one.
            at = path / merge.Key(((key, item.get(key)),))
            whole = _item_type(composed.schema, path).required <= item.keys()
            if item.get(key) in have or whole:
                continue
            role = groups.get(str(item.get(key)), "")
            yield Finding(
                "PAT014",
                Severity.ERROR,
                f"{target} has no {at}",
                target=target,
                field=f"targets.{role}.group" if role else str(path),
                detail="an apply would add a second, incomplete item",
                remedy=f"it has {', '.join(map(str, have)) or 'none'}; correct "
                + (f"targets.{role}.group" if role else "the template, or its parameter"),
            )


def whole_lists(composed: Composed, live: Mapping[str, Any], target: str) -> Iterator[Finding]:
    """The notes about lists that a request sends as a whole, although patches change only some of their items."""
    for path in composed.items:
        have, sent = (_items(body, path, composed.schema) for body in (live, composed.body))
        if not have or not sent or have == sent:
            continue
        same = sum(item in have for item in sent)
        yield Finding(
            WHOLE_LIST,
            Severity.ADVICE,
            f"{path} of {target} is sent as a whole: {same} of {plural(len(sent), 'item')} unchanged",
            target=target,
            field=str(path),
            detail="the API server has one owner for the whole list",
            remedy="no action needed; other changes of the list, such as by an autoscaler, conflict with an apply",
        )


def _items(body: Mapping[str, Any], path: Path, schema: merge.Type) -> list[Any]:
    found = merge.value_at(schema, body, path)
    return found if isinstance(found, list) else []


def _item_type(schema: merge.Type, path: Path) -> merge.Type:
    for name in map(str, path):
        schema = schema.child[name] or schema
    return schema.item


def misfits(patch: PatchVersion, file: str, body: dict[str, Any], schema: merge.Type, target: str) -> list[Finding]:
    """The findings about what the API server would reject in the output of a patch's file."""
    return unfit(patch, file, body, (*merge.validate(body, schema), *_percentages(body, ROOT)), target)


def unfit(
    patch: PatchVersion, file: str, body: dict[str, Any], errors: Iterable[merge.SchemaError], target: str
) -> list[Finding]:
    """The findings about errors in the output of a patch's file."""
    shown = words_without((body,))
    found = (
        Finding(
            MISFIT,
            Severity.ERROR,
            f"patch {patch.id} does not fit {body.get('kind')}: {shown(str(error))}",
            target=target,
            field=str(error.path),
            file=f"{patch.file}/{file}",
            remedy="correct the field in the template, or the parameter that fills it",
        )
        for error in errors
    )
    return [*islice(found, MOST_COUNTED + 1)]


def _percentages(value: Any, path: Path) -> Iterator[merge.SchemaError]:
    """Errors that the schema's type does not show: texts that are neither a number of pods nor a percentage."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _percentages(item, path / index)
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name in _PODS and (
            (isinstance(inner, str) and not PERCENTAGE.fullmatch(inner)) or (isinstance(inner, int) and inner < 0)
        ):
            message = f"expected a whole number or a percentage such as 25%, found {inner!r}"
            yield merge.SchemaError(path / name, message)
        elif isinstance(name, str):
            yield from _percentages(inner, path / name)


def first_phase(phases: Iterable[Phase]) -> Phase:
    """The earliest of several phases, in the order of an apply."""
    return min(phases, key=_PHASE_RANK.__getitem__)


def _shown(document: PatchDocument, path: Path, first: Any, second: Any) -> tuple[str, str]:
    """The values of two patches for one field, as findings show them."""
    body = document.body.reveal()
    key = ObjectKey(str(body.get("apiVersion")), str(body.get("kind")), "", document.target)
    one, other = hidden_change(key, path, first, second)
    return _words(one), _words(other)


def _words(value: Any) -> str:
    return "left to its owner" if value is None else repr(value)


def _directives(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and key.startswith("$"):
                yield where, key
            else:
                yield from _directives(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _directives(item, f"{where}[{index}]")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_nulls(item) for key, item in value.items() if item is not None}
        # A mapping that held only nulls says nothing.
        return {key: item for key, item in kept.items() if item != {} or value[key] == {}}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
