"""Sets of field paths, and their algebra.

A set is held as it stands in ``metadata.managedFields[].fieldsV1``, so that nothing is parsed on the way in or out: a
dict from path element to subset. An empty dict is a member; a dict with children is a member when it also holds
``"."``. ``{"f:spec": {"f:replicas": {}}}`` holds ``spec.replicas`` and not ``spec``. Sets are never changed once made;
results share subsets with their operands.

The operations are those of structured-merge-diff's ``fieldpath.Set``: paths are compared exactly, so taking away a
parent leaves its children.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from modelyard.kube.merge.path import ROOT, Path, from_wire, to_wire

FieldSet = dict[str, Any]

SELF = "."


def is_set(value: Any) -> bool:
    """Whether a value that somebody else wrote is a set of field paths."""
    # Most subsets are empty.
    return (
        isinstance(value, dict)
        and all(map(_is_element, value))
        and all(subset == {} or is_set(subset) for subset in value.values())
    )


@lru_cache(maxsize=4096)
def _is_element(text: str) -> bool:
    try:
        hash(text == SELF or from_wire(text))
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths of either set."""
    if not left:
        return right
    if not right:
        return left
    out = dict(left)
    for element, subset in right.items():
        mine = out.get(element)
        if mine is None:
            out[element] = subset
        elif mine is not subset and mine != subset:
            out[element] = union(mine or {SELF: {}}, subset or {SELF: {}})
    return out


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths of both sets."""
    out: FieldSet = {}
    for element, subset in left.items():
        other = right.get(element)
        if other is None:
            continue
        if element == SELF:
            out[SELF] = {}
        elif not subset and not other:
            out[element] = {}
        else:
            common = intersection(subset or {SELF: {}}, other or {SELF: {}})
            if common:
                out[element] = _compact(common)
    return out


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths of ``left`` that ``right`` does not hold itself; children of its members stay."""
    if not right:
        return left
    out: FieldSet = {}
    for element, subset in left.items():
        other = right.get(element)
        if other is None:
            out[element] = subset
        elif element == SELF:
            continue
        elif not subset:
            if other and SELF not in other:
                out[element] = subset
        else:
            rest = difference(subset, other or {SELF: {}})
            if rest:
                out[element] = _compact(rest)
    return left if len(out) == len(left) and all(out[e] is left[e] for e in out) else out


def _compact(subset: FieldSet) -> FieldSet:
    """A node's subset, where a member without children is the empty dict."""
    return {} if len(subset) == 1 and SELF in subset else subset


def contains(outer: FieldSet, inner: FieldSet) -> bool:
    """Whether every path of ``inner`` is in ``outer``."""
    for element, subset in inner.items():
        other = outer.get(element)
        if other is None:
            return False
        if element == SELF or other is subset:
            continue
        if not subset:
            if other and SELF not in other:
                return False
        elif not contains(other or {SELF: {}}, subset):
            return False
    return True


def paths(fields: FieldSet, prefix: Path = ROOT) -> Iterator[Path]:
    """Every member, parents before children."""
    for element, subset in sorted(fields.items()):
        if element == SELF:
            continue
        here = prefix / from_wire(element)
        if not subset or SELF in subset:
            yield here
        if subset:
            yield from paths(subset, here)


def of(*members: Path) -> FieldSet:
    """The set of the given paths."""
    out: FieldSet = {}
    for member in members:
        node = out
        for depth, element in enumerate(member, 1):
            wire = to_wire(element)
            known = wire in node
            inner = node.setdefault(wire, {})
            if depth < len(member):
                if known and not inner:
                    inner[SELF] = {}
            elif inner:
                inner[SELF] = {}
            node = inner
    return out
