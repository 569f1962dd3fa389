"""The server-side apply cases, offline."""

import copy

import pytest

from tests.conformance.casefile import Case, cases, changed, essence, expected_owners, owned, recorded
from tests.conformance.steps import play


@pytest.mark.parametrize("case", list(cases("server_side")), ids=str)
def test_server_side(case: Case) -> None:
    live = recorded(case)
    for step in case.spec["steps"]:
        before = copy.deepcopy((live, step))
        outcome = play(case, step, live)
        assert outcome.error == step.get("error", {})
        assert outcome.conflicts == step.get("conflicts", {})
        assert (live, step) == before, "inputs are never changed"
        live = outcome.object
    if "result" in case.spec:
        assert live is not None
        assert essence(live) == case.spec["result"]
    if "changes" in case.spec:
        assert changed(case.type, recorded(case), live) == case.spec["changes"]
    if "owners" in case.spec:
        assert live is not None
        assert owned(live) == expected_owners(case.spec["owners"])
