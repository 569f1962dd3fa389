"""The conformance cases, sent to the real API server: each of its answers must equal the offline one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import Lab
from modelyard.kube.merge import MergeError, strategic
from modelyard.kube.merge.schema import OPERATORS
from tests.conformance import record
from tests.conformance.casefile import (
    HERE,
    Case,
    cases,
    changed,
    comparable,
    essence,
    expected_owners,
    named_in,
    owned,
    quantities,
    recorded,
    without_nulls,
)
from tests.conformance.comparison import difference, send
from tests.conformance.server import APPLY, NAMESPACE, STRATEGIC, Server, conformance_server
from tests.conformance.steps import play, update

pytestmark = pytest.mark.lab

Object = dict[str, Any]


@pytest.fixture(scope="module")
def server(lab: Lab) -> Iterator[Server]:
    with conformance_server(lab) as started:
        yield started


@pytest.mark.parametrize("case", list(cases("server_side")), ids=str)
def test_server_side(case: Case, server: Server) -> None:
    path = f"{server.collection(case.api_version, case.kind, NAMESPACE)}/case"
    live = before = _restored(server, path, recorded(case))
    for step in case.spec["steps"]:
        live = _stepped(server, path, case, step, live)
    server.remove(path)
    if case.spec.get("server refuses"):
        return
    live = live or {}
    if "result" in case.spec:
        assert _got(case, essence(live), case.spec["result"]) == case.spec["result"]
    if "changes" in case.spec:
        assert changed(case.type, before, live) == case.spec["changes"]
    if "owners" in case.spec:
        assert owned(live) == expected_owners(case.spec["owners"])


def _stepped(server: Server, path: str, case: Case, step: Object, live: Object | None) -> Object | None:
    """Sends one step, compares the answers, and returns the resulting object."""
    ours = play(case, step, live)
    status, theirs = send(server, path, case, step)
    assert not (differs := difference(case, step, live, ours, status, theirs)), differs
    if status < 300:
        return theirs
    assert ours.error or ours.conflicts or case.spec.get("server refuses"), theirs
    return live


def _got(case: Case, got: Object, expected: Object) -> Object:
    """The comparable part of the server's answer: without defaults if the case expects some."""
    shown: Object = without_nulls(got) if case.type.native else got
    return named_in(shown, expected) if case.spec.get("server adds") else shown


@pytest.mark.parametrize("case", [case for case in cases("strategic") if case.kind], ids=str)
def test_strategic(case: Case, server: Server) -> None:
    path = f"{server.collection(case.api_version, case.kind, NAMESPACE)}/case"
    live = _restored(server, path, recorded(case))
    if live is None:
        original = case.whole(case.spec["original"])
        status, live = server.request("POST", path.rpartition("/")[0], original, fieldManager="maker")
        assert status == 201, live
    patch = case.spec["patch"]
    status, theirs = server.request("PATCH", path, patch, content_type=STRATEGIC, fieldManager="patcher")
    server.remove(path)
    try:
        ours = update(live, strategic(live, patch, case.type), "patcher", case.type)
    except MergeError:
        assert status in (400, 422, 500), theirs
        return
    assert status == 200, theirs
    expected = without_nulls(comparable(ours))
    if case.spec.get("server adds"):
        # The owner of a defaulted field is the last writer, which a merge cannot know.
        del expected["metadata"]["managedFields"]
    assert _got(case, comparable(theirs), expected) == expected
    if "changes" in case.spec and not case.spec.get("server adds"):
        assert changed(case.type, live, theirs) == case.spec["changes"]


def test_unknown_fields_are_those_that_strict_validation_rejects(server: Server) -> None:
    for case in cases("validate"):
        if case.spec.get("whole"):
            continue
        path = f"{server.collection(case.api_version, case.kind, NAMESPACE)}/case"
        server.remove(path)
        unknown = [path for path, message in case.spec["errors"].items() if message.startswith("unknown field")]
        query = {"fieldManager": "x", "force": "true", "dryRun": "All"}
        status, answer = server.request("PATCH", path, case.whole(case.spec["object"]), content_type=APPLY, **query)
        if unknown:
            assert status in (400, 422, 500), (case.name, answer)
            assert "field not declared in schema" in answer["message"], (case.name, answer)


def test_quantities_are_spelled_as_on_the_server(server: Server) -> None:
    path = f"{server.collection('v1', 'LimitRange', NAMESPACE)}/case"
    server.remove(path)
    table = quantities()
    limits = [{"type": f"example.com/{at}", "default": {"example.com/q": text}} for at, text in enumerate(table)]
    sent = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "case"}, "spec": {"limits": limits}}
    status, theirs = server.request("PATCH", path, sent, content_type=APPLY, fieldManager="x", dryRun="All")
    assert status == 201, theirs
    found = [limit["default"]["example.com/q"] for limit in theirs["spec"]["limits"]]
    assert dict(zip(table, found, strict=True)) == table


def test_schemas_match_those_that_the_server_publishes(server: Server) -> None:
    kept = json.loads(record.SAMPLE.read_text())
    assert record.published(server, "conformance.modelyard.dev/v1", ("Sample",)) == kept
    for line in OPERATORS.read_text().splitlines():
        name, gvk, text = line.split("\t", 2)
        api_version, _, kind = gvk.rpartition("/")
        # The lab's CRD of EC2NodeClass is made from the shipped schema.
        if api_version != "karpenter.k8s.aws/v1":
            found = record.published(server, api_version, (kind,))["components"]["schemas"]
            assert found[name] == json.loads(text), name


@pytest.mark.parametrize("source", sorted((HERE / "live").glob("*.yaml")), ids=lambda path: path.stem)
def test_recorded_objects_match_those_of_the_server(source: Path, server: Server) -> None:
    kept = json.loads(source.with_suffix(".json").read_text())
    made = record.live(server, NAMESPACE, source)
    for obj in (kept, made):
        for name in ("uid", "creationTimestamp", "namespace"):
            del obj["metadata"][name]
    assert comparable(made) == comparable(kept)


def _restored(server: Server, path: str, kept: Object | None) -> Object | None:
    """Replaces the object under ``path`` with the recorded one, including its owners."""
    server.remove(path)
    if kept is None:
        return None
    metadata = {k: v for k, v in kept["metadata"].items() if k in ("labels", "annotations", "finalizers")}
    fresh = {**kept, "metadata": {**metadata, "name": path.rpartition("/")[2]}}
    status, live = server.request("POST", path.rpartition("/")[0], fresh, fieldManager="restore")
    assert status == 201, live
    live["metadata"]["managedFields"] = kept["metadata"]["managedFields"]
    status, live = server.request("PUT", path, live, fieldManager="restore")
    assert status == 200, live
    return live
