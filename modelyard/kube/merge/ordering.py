"""Order of merged lists, as strategic merge patch keeps it: the patch's own order first, the live one where it fits."""

from typing import Any

Items = list[Any]


def place(order: Items, item: Any, merge_key: str) -> int:
    """Index of the item in ``order``, by merge key where there is one; -1 when it is not there."""
    wanted = _identity(item, merge_key)
    return next((at for at, other in enumerate(order) if _identity(other, merge_key) == wanted), -1)


def _identity(item: Any, merge_key: str) -> tuple[type, Any]:
    value = item.get(merge_key) if merge_key and isinstance(item, dict) else item
    return type(value), value


def sort_by(items: Items, order: Items, merge_key: str) -> Items:
    """The items as they stand in ``order``, those to delete last."""
    doomed = [item for item in items if _to_delete(item)] if merge_key else []
    kept = [item for item in items if not _to_delete(item)] if merge_key else items
    return [*sorted(kept, key=lambda item: place(order, item, merge_key)), *doomed]


def _to_delete(item: Any) -> bool:
    return isinstance(item, dict) and item.get("$patch") == "delete"


def split(items: Items, by: Items, merge_key: str) -> tuple[Items, Items]:
    """The items that ``by`` has, and the others."""
    inside: Items = []
    outside: Items = []
    for item in items:
        (inside if place(by, item, merge_key) >= 0 else outside).append(item)
    return inside, outside


def arrange(patched: Items, others: Items, patch_order: Items, live_order: Items, merge_key: str) -> Items:
    """Both lists in one: each keeps its order, and one of the others goes before a patched item it stood before."""
    patched = sort_by(patched, patch_order, merge_key)
    others = sort_by(others, live_order, merge_key)
    out: Items = []
    left = right = 0
    while left < len(others) and right < len(patched):
        at = place(live_order, others[left], merge_key)
        if 0 <= at < place(live_order, patched[right], merge_key):
            out.append(others[left])
            left += 1
        else:
            out.append(patched[right])
            right += 1
    return out + patched[right:] + others[left:]


def after_in_place_merge(live: Items, patch: Items, merge_key: str) -> Items:
    """The live order by which the API server puts items that the patch does not name, once it merged the patch.

    It merges in place: an item that the patch deletes makes the others move up, and new items take the room this
    leaves at the end. So the order is that of what stands in the old list's memory by then.
    """
    if not merge_key:
        return live
    memory = list(live)
    size = len(memory)
    for item in patch:
        if _to_delete(item):
            while (at := place(memory[:size], item, merge_key)) >= 0:
                memory[at : size - 1] = memory[at + 1 : size]
                size -= 1
    for item in patch:
        if size < len(memory) and "$patch" not in item and place(memory[:size], item, merge_key) < 0:
            memory[size] = item
            size += 1
    return memory


def unique(items: Items) -> Items:
    """Scalars without repeats; the last one takes the place of a repeat, as upstream has it."""
    out = list(items)
    i = 0
    while i < len(out) - 1:
        j = i + 1
        while j < len(out):
            if _identity(out[i], "") == _identity(out[j], ""):
                out[j] = out[-1]
                out.pop()
            else:
                j += 1
        i += 1
    return out
