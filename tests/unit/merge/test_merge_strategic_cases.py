"""The strategic merge patch cases, offline."""

import copy

import pytest

from modelyard.kube.merge import MergeError, stored, strategic
from tests.conformance.casefile import Case, cases, changed, recorded


@pytest.mark.parametrize("case", list(cases("strategic")), ids=str)
def test_strategic(case: Case) -> None:
    original = recorded(case) or case.whole(case.spec.get("original", {}))
    patch = case.spec["patch"]
    before = copy.deepcopy((original, patch))
    try:
        result = strategic(original, patch, case.type)
    except MergeError as error:
        assert {str(problem.path): problem.message for problem in error.errors} == case.spec.get("error")
        return
    finally:
        assert (original, patch) == before, "inputs are never changed"
    assert "error" not in case.spec, result
    if "result" in case.spec:
        expected = case.whole(case.spec["result"])
        assert result == expected
    if "changes" in case.spec:
        assert changed(case.type, original, stored(case.type, result, original)) == case.spec["changes"]
