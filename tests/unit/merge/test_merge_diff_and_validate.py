"""``diff`` and ``validate``: their cases and further properties."""

import copy
import pickle
from typing import Any

import pytest

from modelyard.kube.merge import ABSENT, Change, MergeSchema, Path, diff, validate
from tests.conformance.casefile import Case, cases, recorded, schema_of

DEPLOYMENT = MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")


def as_in_case(change: Change) -> list[Any]:
    sides = [None if side is ABSENT else side for side in (change.before, change.after)]
    return [[str(Path([element])) for element in side] for side in sides] if change.reordered else sides


@pytest.mark.parametrize("case", list(cases("diff")), ids=str)
def test_diff(case: Case) -> None:
    before, after = case.spec["before"], case.spec["after"]
    found = diff(before, after, case.type)
    assert {str(change.path): as_in_case(change) for change in found} == case.spec["changes"]
    assert [change.path for change in found] == sorted((c.path for c in found), key=lambda path: path.sort_key)
    back = {change.path: (change.after, change.before) for change in diff(after, before, case.type)}
    assert back == {change.path: (change.before, change.after) for change in found}


@pytest.mark.parametrize("case", list(cases("validate")), ids=str)
def test_validate(case: Case) -> None:
    found = validate(case.spec["object"], case.type, partial=not case.spec.get("whole"))
    assert {str(error.path): error.message for error in found} == case.spec["errors"]


def test_absent_differs_from_null() -> None:
    (change,) = diff({"spec": {}}, {"spec": {"replicas": None}}, DEPLOYMENT)
    assert change == (Path(("spec", "replicas")), ABSENT, None, False)
    assert ABSENT is not None
    assert not ABSENT
    assert repr(ABSENT) == "ABSENT"
    assert pickle.loads(pickle.dumps(ABSENT)) is ABSENT


def test_a_new_or_deleted_object_is_a_change_of_each_leaf() -> None:
    obj = {"metadata": {"name": "x"}, "spec": {"replicas": 1}}
    assert [str(change.path) for change in diff(None, obj, DEPLOYMENT)] == ["metadata.name", "spec.replicas"]
    assert {change.after for change in diff(obj, None, DEPLOYMENT)} == {ABSENT}
    assert diff(None, None, DEPLOYMENT) == ()


def test_a_recorded_object_fits_its_type_and_equals_its_copy() -> None:
    case = next(case for case in cases("server_side") if "start" in case.spec)
    live = recorded(case)
    assert validate(live, case.type, partial=False) == ()
    assert diff(live, copy.deepcopy(live), case.type) == ()


def test_an_error_is_printed_as_path_and_message() -> None:
    (error,) = validate({"spec": {"replica": 1}}, DEPLOYMENT)
    assert str(error) == "spec.replica: unknown field; did you mean replicas?"
    (error,) = validate([], DEPLOYMENT)
    assert str(error) == "expected a map, got a list"


def test_a_key_that_is_not_a_string_is_an_error() -> None:
    (error,) = validate({"data": {1: "x"}}, schema_of("v1").of("v1", "ConfigMap"))
    assert str(error) == "data: the key 1 is not a string; quote it"


def test_a_yaml_date_is_an_error() -> None:
    import datetime

    (error,) = validate({"metadata": {"annotations": {"day": datetime.date(2026, 1, 1)}}}, DEPLOYMENT)
    assert error.message == "expected a string, got a date"
