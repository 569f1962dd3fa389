"""The defaults of the API server's code inside atomic values.

Elsewhere a field that a default once filled stays when a request leaves it out. An atomic list or map is replaced as a
whole, so the server fills its defaults in again each time.
"""

from itertools import zip_longest
from typing import Any

from modelyard.kube.merge.typed import same
from modelyard.kube.merge.types import Type


def filled(kind: Type, value: Any, before: Any) -> Any:
    """``value`` with the defaults that the API server gives to it; ``before`` itself when that is the same.

    A field whose default depends on the fields beside it keeps its value of ``before`` where those are equal.
    """
    after = _filled(kind, value, before)
    return before if same(after, before) else after


def _filled(kind: Type, value: Any, before: Any) -> Any:
    if not kind.native:
        return value
    if type(value) is list and kind.is_list:
        earlier = before[: len(value)] if type(before) is list else []
        return [_filled(kind.item, *pair) for pair in zip_longest(value, earlier)]
    if type(value) is not dict or not kind.is_map:
        return value
    known = before if type(before) is dict else {}
    out = {}
    for name, inner in value.items():
        type_ = kind.child[name]
        out[name] = inner if type_ is None else _filled(type_, inner, known.get(name))
    out.update((name, default) for name, default in kind.code_defaults.items() if name not in out)
    if kind.copied and all(out.get(name) == wanted for name, wanted in kind.copied["when"].items()):
        for name, sources in kind.copied["fill"].items():
            # What comes first stays; the name itself is the first of all.
            parts = [part for one in (*reversed(sources), name) if type(part := out.get(one)) is dict]
            if whole := {key: amount for part in parts for key, amount in part.items()}:
                out[name] = whole
    # Some versions print null where nothing is.
    kept = {n: v for n, v in known.items() if n not in out and (v is None or n in kind.derived)}
    return {**out, **kept} if kept and same({**out, **kept}, known) else out
