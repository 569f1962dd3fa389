"""The difference of two objects as a JSON Patch (RFC 6902), which every tool applies in the same way."""

from collections.abc import Iterator, Mapping
from typing import Any

Operation = dict[str, Any]


def json_patch(before: Any, after: Any) -> list[Operation]:
    """Operations that turn ``before`` into exactly ``after``, order of lists included.

    Items are compared in their places; a list that lost items or changed their order is replaced as a whole.
    """
    return list(_operations("", before, after))


def _operations(path: str, before: Any, after: Any) -> Iterator[Operation]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in after:
                yield {"op": "remove", "path": _below(path, name)}
        for name, value in after.items():
            if name in before:
                yield from _operations(_below(path, name), before[name], value)
            else:
                yield {"op": "add", "path": _below(path, name), "value": value}
    elif isinstance(before, list) and isinstance(after, list) and _grown(before, after):
        for index, value in enumerate(before):
            yield from _operations(f"{path}/{index}", value, after[index])
        for value in after[len(before) :]:
            yield {"op": "add", "path": f"{path}/-", "value": value}
    elif before != after or type(before) is not type(after):
        yield {"op": "replace", "path": path, "value": after}


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


def _grown(before: list[Any], after: list[Any]) -> bool:
    """Whether each item still stands in its place, whatever happened inside it; named items tell by their name."""
    if len(after) < len(before):
        return False

    def identity(item: Any) -> Any:
        return item.get("name", item.get("mountPath")) if isinstance(item, Mapping) else item

    return all(identity(old) == identity(new) for old, new in zip(before, after, strict=False))
