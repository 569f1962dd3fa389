"""Zero values and defaults of the API server: a repeated apply changes nothing, on the server and offline.

Each request of ``tests/conformance/requests.yaml`` is applied, applied again, and applied with one field after another
at its zero value. Then every field with a default is set to its default and removed. Then every field
that the server always writes is omitted, and set to null. Each answer must equal the offline one.
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
"""Path prefixes of fields that a merge cannot know."""
GATED = {"clusterTrustBundle", "podCertificate", "stopSignal", "workloadRef"}
"""Fields that the server removes because a feature gate is off."""
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
    # The first write after a create may still normalise the object.
    for _ in range(2):
        status, live = server.request("PATCH", path, request, content_type=APPLY, fieldManager="one")
        assert status in (200, 201), live
    ours = server_side(live, request, "one", kind)
    status, theirs = server.request("PATCH", path, request, content_type=APPLY, fieldManager="one")
    assert status == 200, theirs
    try:
        assert theirs == live
        assert ours.object == live
        for place, zeroed in _zeroed(kind, request):
            _compare(server, path, kind, live, zeroed, place)
    finally:
        server.remove(path)


@pytest.mark.parametrize("spec", REQUESTS, ids=lambda spec: spec["kind"])
def test_defaults_are_set_where_the_server_sets_them(server: Server, spec: Object) -> None:
    """A CronJob's jobTemplate has the type of a Job, but the server sets none of a Job's defaults there."""
    request = {**spec, "metadata": {**spec.get("metadata", {}), "name": "settles"}}
    path = f"{server.collection(spec['apiVersion'], spec['kind'], NAMESPACE)}/settles"
    schema = schema_of(spec["apiVersion"])
    kind = schema.of_object(spec)
    server.remove(path)
    assert server.request("PATCH", path, request, content_type=APPLY, fieldManager="one")[0] in (200, 201)
    try:
        for steps, default in _defaulted(schema, kind, request, ()):
            if not _knowable(steps):
                continue
            given = _with(request, steps, default)
            status, live = server.request("PATCH", path, given, content_type=APPLY, fieldManager="one", force="true")
            if status == 200:
                _compare(server, path, kind, live, request, ".".join(map(str, steps)))
    finally:
        server.remove(path)


@pytest.mark.parametrize("spec", REQUESTS, ids=lambda spec: spec["kind"])
def test_fields_that_the_server_always_writes_may_be_omitted(server: Server, spec: Object) -> None:
    """Each field of the schema, including parts that the request lacks. Rejected requests are not compared."""
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
            status, live = server.request("PATCH", path, sent, content_type=APPLY, fieldManager="one")
            if status in (200, 201):
                accepted += 1
                _compare(server, path, kind, live, sent, f"{'.'.join(map(str, steps))} {missing}")
                server.remove(path)
    # Requests with pods have many such fields.
    assert accepted > 20 or "containers" not in str(request), accepted


def _knowable(steps: tuple[Any, ...]) -> bool:
    """Whether a merge can know the server's value of a field."""
    return (
        steps[0] not in ("apiVersion", "kind", "metadata", "status")
        and not GATED.intersection(steps)
        and not ".".join(map(str, steps)).startswith(tuple(DECIDED_LATER))
    )


def _always_written(kind: Type, value: Object, above: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Paths of fields that the Go struct always writes, in the request or in parts that it could have."""
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
    """A copy of the value with ``leaf``, or nothing, at a path; missing parents get their required fields."""
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
    """A value with only the required fields of its type."""
    if kind.scalar in LEAST:
        return LEAST[kind.scalar]
    if kind.is_list and not kind.is_map:
        return [_least(kind.item)]
    return {name: _least(kind.child[name] or kind) for name in kind.required}


def _defaulted(
    schema: MergeSchema, kind: Type, value: Object, above: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The omitted fields of a request that have a default, at this path or elsewhere in the same type."""
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
    """Applies in a dry run and offline, and compares. A request that the server rejects as invalid is skipped."""
    status, theirs = server.request("PATCH", path, request, content_type=APPLY, fieldManager="one", dryRun="All")
    if status != 200:
        return
    ours = server_side(live, request, "one", kind).object
    # This field counts the changes of a DaemonSet's pods.
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
