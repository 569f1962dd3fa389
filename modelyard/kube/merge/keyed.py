"""Lists that the API server takes only as a whole, merged item by item before they are sent."""

from typing import Any

from modelyard.kube.merge.errors import depth_checked
from modelyard.kube.merge.path import Path
from modelyard.kube.merge.typed import UnfitError, merge
from modelyard.kube.merge.types import Children, Type
from modelyard.kube.merge.validate import unfit


def keyed(kind: Type, path: Path, key: str) -> Type:
    """The type in which the atomic list at a path merges by a field of its items.

    Raises:
        LookupError: there is no atomic list of maps with this field; the message says what is wrong.
    """
    return _keyed(kind, path, path, key)


def _keyed(kind: Type, path: Path, rest: Path, key: str) -> Type:
    made = Type(kind.name)
    for slot in Type.__slots__:
        setattr(made, slot, getattr(kind, slot))
    if not rest:
        if not kind.is_list or kind.list_kind != "atomic":
            raise LookupError(f"{path} is not a list that is sent as a whole")
        if key not in kind.item.child.properties:
            raise LookupError(f"the items of {path} have no field {key}")
        made.list_kind, made.keys = "map", (key,)
        made.strategy, made.merge_key = "merge", key
        return made
    name = str(rest[0])
    field = kind.child[name]
    if field is None or not kind.declares(name):
        raise LookupError(f"{path} is not a field of this kind")
    made.child = Children(kind.child.properties, kind.child.element, kind.child.read)
    made.child[name] = _keyed(field, path, Path(rest[1:]), key)
    return made


@depth_checked
def overlaid(base: dict[str, Any], partial: dict[str, Any], schema: Type) -> dict[str, Any]:
    """A partial object laid over another as by a server-side apply; nothing is removed.

    Raises:
        MergeError: an item of a list lacks the field by which the list merges.
    """
    try:
        found: dict[str, Any] = merge(schema, base, partial)
    except UnfitError:
        raise unfit(partial, schema) from None
    return found
