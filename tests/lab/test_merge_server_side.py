"""The server-side apply cases, sent to the real API server: its answer and the offline one must be equal."""

from typing import Any

import pytest

from tests.conformance.casefile import Case, cases, comparable, essence, expected_owners, owned
from tests.conformance.server import APPLY, MERGE, Server
from tests.conformance.steps import play, start

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("case", list(cases("server_side")), ids=str)
def test_the_server_answers_the_same(case: Case, server: Server, namespace: str) -> None:
    path = f"{server.collection(case.api_version, case.kind, namespace)}/case"
    server.remove(path)
    live = _restore(server, path, start(case))
    for step in case.spec["steps"]:
        live = _step(server, path, case, step, live)
    server.remove(path)
    assert live is not None
    if "result" in case.spec and not case.spec.get("server adds"):
        assert essence(live) == case.spec["result"]
    if "owners" in case.spec and not case.spec.get("server adds"):
        assert owned(live) == expected_owners(case.spec["owners"])


def _step(server: Server, path: str, case: Case, step: dict[str, Any], live: dict[str, Any] | None) -> dict[str, Any]:
    ours = play(case, step, live)
    by = {"fieldManager": step["by"]}
    if "create" in step:
        status, theirs = server.request("POST", path.rpartition("/")[0], case.whole(step["create"]), **by)
    elif "merge-patch" in step:
        status, theirs = server.request("PATCH", path, step["merge-patch"], MERGE, **by)
    else:
        force = {"force": "true"} if step.get("force") else {}
        status, theirs = server.request("PATCH", path, case.whole(step["apply"]), APPLY, **by, **force)
    if ours.error:
        assert status in (400, 422, 500), theirs
        return live or {}
    if ours.conflicts or status == 409:
        found: dict[str, list[str]] = {}
        for cause in theirs["details"]["causes"]:
            found.setdefault(cause["field"], []).append(cause["message"].removeprefix("conflict with "))
        assert {field: sorted(owners) for field, owners in found.items()} == ours.conflicts
        assert live is not None
        return live
    assert status in (200, 201), theirs
    assert ours.object is not None
    if not (step.get("server adds") or case.spec.get("server adds")):
        expected = comparable(ours.object)
        got = comparable(theirs)
        for name in ("uid", "creationTimestamp", "namespace"):
            if name not in expected["metadata"]:
                got["metadata"].pop(name, None)
        assert got == expected
    return theirs


def _restore(server: Server, path: str, recorded: dict[str, Any] | None) -> dict[str, Any] | None:
    """The recorded object on the server, with the ownership that it was recorded with."""
    if recorded is None:
        return None
    metadata = {k: v for k, v in recorded["metadata"].items() if k in ("labels", "annotations", "finalizers")}
    fresh = {**recorded, "metadata": {**metadata, "name": "case"}}
    status, live = server.request("POST", path.rpartition("/")[0], fresh, fieldManager="restore")
    assert status == 201, live
    live["metadata"]["managedFields"] = recorded["metadata"]["managedFields"]
    status, live = server.request("PUT", path, live, fieldManager="restore")
    assert status == 200, live
    return live
