"""What the API server makes of zero values and of its defaults: a repeated apply changes nothing, offline as there.

Each request of ``tests/conformance/requests.yaml`` is applied, applied again, and applied with one field after another
at its zero value. Then every field that has a default somewhere is given its default and given up. Then every field
that the server always writes is left out, and null. Every answer must be the offline one.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lab import Lab
from modelyard.kube.merge import MergeSchema, Type, server_side
from tests.conformance.casefile import HERE, comparable, schema_of, without_nulls
from tests.conformance.server import APPLY, NAMESPACE, Server, conformance_server

pytestmark = pytest.mark.lab

Object = dict[str, Any]
ZEROS = {"string": "", "integer": 0, "number": 0, "boolean": False}
LEAST = {"string": "a", "integer": 1, "number": 1, "boolean": True, "int-or-string": 1, "quantity": "1"}
LEFT_OUT = "left out"
DEEPEST = 12
DECIDED_LATER = {
    "spec.clusterIP": "the registry of services keeps the address",
    "spec.dataSource": "the registry of claims drops a source of an unknown kind",
    "spec.updateStrategy.type": "a struct that was not there gets defaults",
}
"""What no merge can know, by the path that it begins with."""
GATED = {"clusterTrustBundle", "podCertificate", "stopSignal", "workloadRef"}
"""Fields that the server drops because a feature gate is off."""
REQUESTS: list[Object] = yaml.safe_load((HERE / "requests.yaml").read_text())


@pytest.fixture(scope="module")
def server(lab: Lab) -> Iterator[Server]:
    with conformance_server(lab) as started:
        yield started


@pytest.mark.parametrize("spec", REQUESTS, ids=lambda spec: spec["kind"])
def test_a_repeated_apply_changes_nothing(server: Server, spec: Object) -> None:
    request = {**spec, "metadata": {**spec.get("metadata", {}), "name": "settles"}}
    path = f"{server.collection(spec['apiVersion'], spec['kind'], NAMESPACE)}/settles"
    kind = schema_of(spec["apiVersion"]).of_object(spec)
    server.remove(path)
    # The first write over a new object may still put it into the form that stays.
    for _ in range(2):
        status, live = server.request("PATCH", path, request, APPLY, fieldManager="one")
        assert status in (200, 201), live
    ours = server_side(live, request, "one", kind)
    status, theirs = server.request("PATCH", path, request, APPLY, fieldManager="one")
    assert status == 200, theirs
    try:
        assert theirs == live
        assert ours.object == live
        for place, zeroed in _zeroed(kind, request):
            _compare(server, path, kind, live, zeroed, place)
    finally:
        server.remove(path)


@pytest.mark.parametrize("spec", REQUESTS, ids=lambda spec: spec["kind"])
def test_a_default_holds_where_the_server_sets_it(server: Server, spec: Object) -> None:
    """A CronJob's jobTemplate is of a Job's type, and the server gives it none of a Job's defaults."""
    request = {**spec, "metadata": {**spec.get("metadata", {}), "name": "settles"}}
    path = f"{server.collection(spec['apiVersion'], spec['kind'], NAMESPACE)}/settles"
    schema = schema_of(spec["apiVersion"])
    kind = schema.of_object(spec)
    server.remove(path)
    assert server.request("PATCH", path, request, APPLY, fieldManager="one")[0] in (200, 201)
    try:
        for steps, default in _defaulted(schema, kind, request, ()):
            if not _knowable(steps):
                continue
            given = _with(request, steps, default)
            status, live = server.request("PATCH", path, given, APPLY, fieldManager="one", force="true")
            if status == 200:
                _compare(server, path, kind, live, request, ".".join(map(str, steps)))
    finally:
        server.remove(path)


@pytest.mark.parametrize("spec", REQUESTS, ids=lambda spec: spec["kind"])
def test_a_field_that_the_server_always_writes_may_be_left_out(server: Server, spec: Object) -> None:
    """Each field of the schema, those in parts that the request lacks too. What the server refuses has no answer."""
    request = {**spec, "metadata": {**spec.get("metadata", {}), "name": "settles"}}
    path = f"{server.collection(spec['apiVersion'], spec['kind'], NAMESPACE)}/settles"
    kind = schema_of(spec["apiVersion"]).of_object(spec)
    accepted = 0
    server.remove(path)
    for steps in _always_written(kind, request, ()):
        if not _knowable(steps):
            continue
        for missing in (LEFT_OUT, None):
            sent = _put(kind, request, steps, missing)
            status, live = server.request("PATCH", path, sent, APPLY, fieldManager="one")
            if status in (200, 201):
                accepted += 1
                _compare(server, path, kind, live, sent, f"{'.'.join(map(str, steps))} {missing}")
                server.remove(path)
    # Of pods there is enough to leave out.
    assert accepted > 20 or "containers" not in str(request), accepted


def _knowable(steps: tuple[Any, ...]) -> bool:
    """Whether a merge can know what the server makes of a field."""
    return (
        steps[0] not in ("apiVersion", "kind", "metadata", "status")
        and not GATED.intersection(steps)
        and not ".".join(map(str, steps)).startswith(tuple(DECIDED_LATER))
    )


def _always_written(kind: Type, value: Object, above: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Where a field is that its Go struct writes even if nothing is in it, in the request or in what it could have."""
    if len(above) > DEEPEST:
        return
    for name in kind.child.properties:
        inner = kind.child[name]
        assert inner is not None
        here, there = (*above, name), value.get(name)
        if name in kind.written or name in kind.zeros:
            yield here
        if inner.is_list and inner.item.is_map:
            for index, item in enumerate(there or [{}]):
                yield from _always_written(inner.item, item or {}, (*here, index))
        elif inner.is_map:
            yield from _always_written(inner, there or {}, here)


def _put(kind: Type, value: Any, steps: tuple[Any, ...], leaf: Any) -> Any:
    """The value with something else, or nothing, at a place; what is not there on the way has what it must have."""
    step, *rest = steps
    if isinstance(step, int):
        items = list(value or [_least(kind.item)])
        items[step] = _put(kind.item, items[step], tuple(rest), leaf)
        return items
    inner = kind.child[step]
    assert inner is not None
    out = dict(value or _least(kind))
    if rest:
        out[step] = _put(inner, out.get(step), tuple(rest), leaf)
    elif leaf is LEFT_OUT:
        out.pop(step, None)
    else:
        out[step] = leaf
    return out


def _least(kind: Type) -> Any:
    """A value with no more than its type requires."""
    if kind.scalar in LEAST:
        return LEAST[kind.scalar]
    if kind.is_list and not kind.is_map:
        return [_least(kind.item)]
    return {name: _least(kind.child[name] or kind) for name in kind.required}


def _defaulted(
    schema: MergeSchema, kind: Type, value: Object, above: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The fields that a request leaves out and that have a default, here or elsewhere in the same type."""
    defaults = schema.of(kind.name).code_defaults if kind.name in schema.definitions else {}
    yield from (((*above, name), default) for name, default in defaults.items() if name not in value)
    for name, inner in value.items():
        type_ = kind.child[name]
        if type_ is None:
            continue
        if isinstance(inner, dict):
            yield from _defaulted(schema, type_, inner, (*above, name))
        elif isinstance(inner, list) and type_.is_list:
            for index, item in enumerate(inner):
                if isinstance(item, dict):
                    yield from _defaulted(schema, type_.item, item, (*above, name, index))


def _compare(server: Server, path: str, kind: Type, live: Object, request: Object, place: str) -> None:
    """Applies in a dry run and offline. What the server refuses as invalid says nothing about the merge."""
    status, theirs = server.request("PATCH", path, request, APPLY, fieldManager="one", dryRun="All")
    if status != 200:
        return
    ours = server_side(live, request, "one", kind).object
    # Counts the changes of a DaemonSet's pods.
    theirs["metadata"].get("annotations", {}).update(live["metadata"].get("annotations", {}))
    assert without_nulls(comparable(ours)) == without_nulls(comparable(theirs)), place


def _zeroed(kind: Type, request: Object) -> Iterator[tuple[str, Object]]:
    """The request with one scalar field at a time at its zero value, and the field's path."""
    for steps, zero in _scalars(kind, request, ()):
        if _knowable(steps):
            yield ".".join(map(str, steps)), _with(request, steps, zero)


def _scalars(kind: Type, value: Object, above: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for name in kind.child.properties:
        inner = kind.child[name]
        assert inner is not None
        here = (*above, name)
        if isinstance(value.get(name), dict):
            yield from _scalars(inner, value[name], here)
        elif isinstance(value.get(name), list):
            for index, item in enumerate(value[name]):
                if isinstance(item, dict):
                    found = _scalars(inner.item, item, (*here, index))
                    yield from ((steps, zero) for steps, zero in found if steps[-1] not in inner.keys)
        elif inner.scalar in ZEROS:
            yield here, ZEROS[inner.scalar]


def _with(value: Any, steps: tuple[Any, ...], leaf: Any) -> Any:
    if not steps:
        return leaf
    step, *rest = steps
    out = value.copy()
    out[step] = _with(value[step], tuple(rest), leaf) if rest else leaf
    return out
