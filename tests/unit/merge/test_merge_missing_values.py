"""Requests with missing or empty fields: the merge answers or raises MergeError, and never crashes."""

import copy
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
import yaml

from modelyard.kube.merge import MergeError, Type, server_side
from tests.conformance.casefile import HERE, schema_of

pytestmark = pytest.mark.slow

Object = dict[str, Any]
LEFT_OUT = object()
NOTHING = (LEFT_OUT, None, "", 0)
REQUESTS: list[Object] = yaml.safe_load((HERE / "requests.yaml").read_text())


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request["kind"])
def test_two_missing_values_do_not_crash(request_: Object) -> None:
    """Two fields of a map that have to do with a default are missing or empty at a time."""
    kind = schema_of(request_["apiVersion"]).of_object(request_)
    whole = {**request_, "metadata": {**request_.get("metadata", {}), "name": "a"}}
    live = server_side(None, whole, "one", kind).object
    for sent in _spoiled(kind, whole):
        for before in (None, live):
            try:
                server_side(before, copy.deepcopy(sent), "two", kind, force=True)
            except MergeError:
                continue


def _spoiled(kind: Type, request: Object) -> Iterator[Object]:
    for steps, names in _maps(kind, request, ()):
        for pair in combinations(names, 2):
            for values in ((first, second) for first in NOTHING for second in NOTHING):
                sent = copy.deepcopy(request)
                target: Any = sent
                for step in steps:
                    target = target[step]
                for name, value in zip(pair, values, strict=True):
                    target.pop(name, None)
                    if value is not LEFT_OUT:
                        target[name] = value
                yield sent


def _maps(kind: Type, value: Object, above: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], list[str]]]:
    """Yields the path of each map in a value, with its fields that have a default, are copied, or are copied from."""
    sources = {name for names in kind.copied.get("fill", {}).values() for name in names}
    named = {*kind.code_defaults, *kind.derived, *kind.defaults, *kind.copied.get("fill", {}), *sources, *kind.zeros}
    yield above, sorted(named)
    for name, inner in value.items():
        type_ = kind.child[name]
        if type_ is None or name in ("metadata", "apiVersion", "kind"):
            continue
        if isinstance(inner, dict):
            yield from _maps(type_, inner, (*above, name))
        elif isinstance(inner, list):
            for index, item in enumerate(inner):
                if isinstance(item, dict):
                    yield from _maps(type_.item, item, (*above, name, index))
