"""The patch that ``kubectl apply`` sends: what the new configuration changes, and what the last one had and it has not.

``two_way`` is the difference of two objects as a strategic merge patch; ``three_way`` takes deletions from the last
applied configuration and additions from the live object, so that what others set stays.
"""

from collections.abc import Mapping
from typing import Any

from modelyard.merge import ordering
from modelyard.merge.errors import depth_checked
from modelyard.merge.path import ROOT, Path
from modelyard.merge.strategic import (
    DELETE_FROM,
    PATCH,
    RETAIN_KEYS,
    SET_ORDER,
    Merger,
    Object,
    fail,
    field_type,
    item_sort,
    item_type,
    require_key,
    without_marked,
)
from modelyard.merge.typed import same
from modelyard.merge.types import Type


@depth_checked
def two_way(original: Mapping[str, Any], modified: Mapping[str, Any], schema: Type) -> Object:
    """The strategic merge patch that makes ``modified`` of ``original``.

    Raises:
        MergeError: a merging list's item lacks the merge key, or items of a list differ in type.
    """
    return _Difference(changes=True, deletions=True).maps(schema, ROOT, original, modified)


@depth_checked
def three_way(
    original: Mapping[str, Any], modified: Mapping[str, Any], current: Mapping[str, Any], schema: Type
) -> Object:
    """The strategic merge patch that ``kubectl apply`` sends.

    Args:
        original: The configuration applied last (``kubectl.kubernetes.io/last-applied-configuration``), or ``{}``.
        modified: The configuration to apply.
        current: The live object.
        schema: Their type.

    Raises:
        MergeError: a merging list's item lacks the merge key, or items of a list differ in type.
    """
    additions = _Difference(changes=True, deletions=False).maps(schema, ROOT, current, modified)
    deletions = _Difference(changes=False, deletions=True).maps(schema, ROOT, original, modified)
    return _Combined().maps(schema, ROOT, deletions, additions)


class _Combined(Merger):
    """Two patches in one: directives and nulls are kept for whoever applies it."""

    def retain_keys(self, path: Path, out: Object, rest: Object) -> None:
        if RETAIN_KEYS in rest:
            kept = rest.pop(RETAIN_KEYS)
            if out.setdefault(RETAIN_KEYS, kept) != kept:
                fail(path / RETAIN_KEYS, "the two patches retain different keys")

    def delete_from(self, out: Object, directive: str, value: list[Any] | None) -> None:
        out[directive] = value

    def keep_order(self, path: Path, out: Object, directive: str, wanted: list[Any]) -> None:
        if out.setdefault(directive, wanted) != wanted:
            fail(path / directive, "the two patches want different orders")

    def null(self, out: Object, name: str) -> None:
        out[name] = None

    def added(self, value: Any) -> tuple[Any, bool]:
        return without_marked(value)

    def appended(self, item: Any) -> Any:
        return item


class _Difference:
    """Walks two objects and writes down, as a patch, how the second differs."""

    def __init__(self, changes: bool, deletions: bool) -> None:
        self.changes = changes
        self.deletions = deletions

    def maps(
        self, kind: Type, path: Path, original: Mapping[str, Any], modified: Mapping[str, Any], retain: bool = False
    ) -> Object:
        patch: Object = {}
        for name, after in modified.items():
            if name not in original:
                if self.changes:
                    patch[name] = after
                continue
            before = original[name]
            if type(before) is dict and type(after) is dict:
                self.map_field(kind, path, name, before, after, patch)
            elif type(before) is list and type(after) is list:
                self.list_field(kind, path, name, before, after, patch)
            elif self.changes and not same(before, after):
                patch[name] = after
        if self.deletions:
            patch.update({name: None for name in original if name not in modified})
        if retain:
            kept = sorted(name for name, value in modified.items() if value is not None)
            extra = any(value is not None and name not in modified for name, value in original.items())
            if kept and (patch or extra):
                patch[RETAIN_KEYS] = kept
        return patch

    def map_field(self, kind: Type, path: Path, name: str, before: Object, after: Object, patch: Object) -> None:
        if same(before, after):
            return
        type_ = field_type(kind, path, name)
        if type_.strategy == "replace":
            if self.changes:
                patch[name] = after
            return
        inner = self.maps(type_, path / name, before, after, type_.retain_keys)
        if inner:
            patch[name] = inner

    def list_field(self, kind: Type, path: Path, name: str, before: list[Any], after: list[Any], patch: Object) -> None:
        if same(before, after):
            return
        type_ = field_type(kind, path, name)
        if type_.strategy != "merge":
            if self.changes:
                patch[name] = after
            return
        if not before:
            if after and self.changes:
                patch[name] = after
            return
        here = path / name
        if item_sort(here, before, after) is dict:
            added, order = self.items(type_, here, before, after)
            deleted: list[Any] = []
        else:
            added, deleted, order = self.scalars(before, after)
        if added:
            patch[name] = added
        if deleted:
            patch[DELETE_FROM + name] = deleted
        if order:
            patch[SET_ORDER + name] = order

    def items(self, kind: Type, path: Path, before: list[Any], after: list[Any]) -> tuple[list[Any], list[Any]]:
        key = kind.merge_key
        if not key:
            fail(path, "the list merges, but the schema names no merge key")
        require_key(path, key, before, after)
        changed, deleted = [], []
        lefts, rights = (sorted(side, key=lambda item: _text(item[key])) for side in (before, after))
        left = right = 0
        while left < len(lefts) or right < len(rights):
            old = _text(lefts[left][key]) if left < len(lefts) else None
            new = _text(rights[right][key]) if right < len(rights) else None
            if old is not None and old == new:
                inner = self.maps(item_type(kind), path / right, lefts[left], rights[right], kind.retain_keys)
                if inner:
                    changed.append({**inner, key: rights[right][key]})
                left, right = left + 1, right + 1
            elif old is None or (new is not None and old > new):
                if self.changes:
                    changed.append(rights[right])
                right += 1
            else:
                if self.deletions:
                    deleted.append({key: lefts[left][key], PATCH: "delete"})
                left += 1
        patch = ordering.sort_by(changed, after, key) + deleted
        moved = [item[key] for item in before] != [item[key] for item in after]
        if (self.changes and (patch or moved)) or (self.deletions and patch):
            return patch, [{key: item[key]} for item in after]
        return patch, []

    def scalars(self, before: list[Any], after: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        lefts, rights = sorted(before, key=_text), sorted(after, key=_text)
        added, deleted = [], []
        left = right = 0
        while left < len(lefts) or right < len(rights):
            old = _text(lefts[left]) if left < len(lefts) else None
            new = _text(rights[right]) if right < len(rights) else None
            if old is not None and old == new:
                left, right = left + 1, right + 1
            elif old is None or (new is not None and old > new):
                if self.changes:
                    added.append(rights[right])
                right += 1
            else:
                if self.deletions:
                    deleted.append(lefts[left])
                left += 1
        order = after if (self.deletions and deleted) or (self.changes and not same(before, after)) else []
        return ordering.sort_by(added, after, ""), ordering.unique(deleted), order


def _text(value: Any) -> str:
    """A scalar as Go's ``%v`` prints it, by which lists are sorted."""
    return str(value).lower() if isinstance(value, bool) else str(value)
