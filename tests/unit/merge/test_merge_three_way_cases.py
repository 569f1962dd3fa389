"""The cases of what ``kubectl apply`` sends, offline."""

import copy

import pytest

from modelyard.merge import MergeError, strategic, three_way
from modelyard.merge.types import DEDUCED
from tests.conformance.casefile import Case, cases


@pytest.mark.parametrize("case", list(cases("three_way")), ids=str)
def test_three_way(case: Case) -> None:
    spec = case.spec
    original, modified = case.whole(spec["original"]), case.whole(spec["modified"])
    current = case.whole(spec["current"]) if "current" in spec else strategic(original, spec["others"], DEDUCED)
    before = copy.deepcopy((original, modified, current))
    try:
        patch = three_way(original, modified, current, case.type)
    except MergeError as error:
        assert {str(problem.path): problem.message for problem in error.errors} == spec.get("error")
        return
    assert "error" not in spec, patch
    assert patch == spec["patch"]
    assert (original, modified, current) == before, "inputs are never changed"
    if "result" in spec:
        expected = case.whole({name: value for name, value in spec["result"].items() if name != "status"})
        assert strategic(current, patch, case.type) == expected
