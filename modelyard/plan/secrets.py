"""Fields of objects without secrets, as plans show and save them."""

from typing import Any

from modelyard import merge
from modelyard.cluster import ObjectKey
from modelyard.hiding import DATA, hidden, hidden_at, hidden_data, is_secret, is_secret_kind, marked


def hidden_field(key: ObjectKey | None, path: merge.Path, value: Any) -> Any:
    """The value of one field of an object, hidden where it is a secret; ``key`` is None for what is no object yet."""
    if not path:
        return hidden(value)
    if key is not None and path[0] in DATA and is_secret_kind(key.kind, key.api_version):
        return value if value is merge.ABSENT else hidden_data(value)
    item, name = path[-2] if len(path) > 1 else None, path[-1]
    secret = isinstance(item, merge.Key) and name == "value" and is_secret(str(dict(item.fields).get("name", "")))
    return hidden_at(name, value, secret) if isinstance(name, str) else hidden(value)


def hidden_change(key: ObjectKey | None, path: merge.Path, before: Any, after: Any) -> tuple[Any, Any]:
    """Both values of a field, hidden; the later one says where it hides another value than the earlier one."""
    was, now = (hidden_field(key, path, value) for value in (before, after))
    return was, marked(before, after, was, now)
