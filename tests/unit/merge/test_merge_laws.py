"""Properties of merges, tested on random objects."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelyard.kube.merge import (
    ABSENT,
    MergeError,
    Path,
    diff,
    server_side,
    stored,
    strategic,
    validate,
)
from modelyard.kube.merge.fieldset import paths
from modelyard.kube.merge.managed import entries
from modelyard.kube.merge.typed import field_set
from modelyard.kube.merge.values import value_at
from tests.conformance.casefile import merge_items, schema_of
from tests.conformance.generate import merge_items as items
from tests.conformance.generate import sample, samples
from tests.conformance.steps import update

Object = dict[str, Any]

SAMPLE = schema_of("conformance.modelyard.dev/v1").of("conformance.modelyard.dev/v1", "Sample")
ITEM = merge_items().of("mergeItem")

# The same examples in each run, so that a failure in CI can be reproduced.
law = settings(max_examples=100, deadline=None, derandomize=True)
objects = samples.map(sample)


def leaves(obj: Object) -> set[Path]:
    """Returns the fields that a manager owns after an apply of the object."""
    own = set(paths(field_set(SAMPLE, obj)))
    return {path for path in own if path[0] not in ("apiVersion", "kind") and path != Path(("metadata", "name"))}


def applied(live: Object | None, obj: Object, manager: str, force: bool = False) -> Any:
    """Returns the answer, or None if the API server would reject a remaining null."""
    try:
        return server_side(live, obj, manager, SAMPLE, force)
    except MergeError:
        return None


@law
@given(objects)
def test_applying_again_changes_nothing(obj: Object) -> None:
    first = server_side(None, obj, "one", SAMPLE)
    again = server_side(first.object, obj, "one", SAMPLE)
    assert again.conflicts == ()
    if leaves(obj):
        assert again.object is first.object


@law
@given(objects)
def test_a_manager_owns_exactly_what_it_applies(obj: Object) -> None:
    (managed,) = server_side(None, obj, "one", SAMPLE).ownership or (None,)
    assert (set(managed.paths()) if managed else set()) == leaves(obj)


@law
@given(objects, objects)
def test_a_forced_apply_sets_its_fields_and_keeps_the_others(first: Object, second: Object) -> None:
    before = copy.deepcopy((first, second))
    live = server_side(None, first, "one", SAMPLE).object
    forced = server_side(live, second, "two", SAMPLE, force=True)
    for path in leaves(second):
        mine = value_at(SAMPLE, second, path)
        if not isinstance(mine, dict | list) and mine is not None:
            assert value_at(SAMPLE, forced.object, path) == mine
    for change in diff(live, forced.object, SAMPLE):
        if change.path[:2] != ("metadata", "managedFields") and not change.reordered:
            touched = leaves(second)
            assert change.after is not ABSENT or any(change.path[: len(p)] == p for p in touched), change
    assert (first, second) == before, "inputs are never changed"


@law
@given(objects, objects)
def test_an_apply_after_a_forced_one_has_no_conflict(first: Object, second: Object) -> None:
    live = server_side(None, first, "one", SAMPLE).object
    forced = server_side(live, second, "two", SAMPLE, force=True).object
    again = server_side(forced, second, "two", SAMPLE)
    assert again.conflicts == ()
    assert entries(again.object) == entries(forced)


@law
@given(objects, objects)
def test_force_takes_exactly_the_conflicting_fields(first: Object, second: Object) -> None:
    live = server_side(None, first, "one", SAMPLE).object
    asked = server_side(live, second, "two", SAMPLE)
    forced = server_side(live, second, "two", SAMPLE, force=True)
    assert forced.taken == asked.conflicts
    assert forced.conflicts == ()
    if asked.conflicts:
        assert asked.object is live
    else:
        assert asked == forced
    for conflict in asked.conflicts:
        if leaves(first):
            assert [owner.manager for owner in conflict.owners] == ["one"]
            assert conflict.path in leaves(first)


@law
@given(objects, objects)
def test_scalar_conflicts_do_not_depend_on_the_order(first: Object, second: Object) -> None:
    def scalars(a: Object, b: Object) -> set[Path]:
        found = server_side(server_side(None, a, "one", SAMPLE).object, b, "two", SAMPLE).conflicts
        sides = [(c, value_at(SAMPLE, a, c.path), value_at(SAMPLE, b, c.path)) for c in found]
        return {c.path for c, x, y in sides if not isinstance(x, dict | list) and not isinstance(y, dict | list)}

    assert scalars(first, second) == scalars(second, first)


@law
@given(objects)
def test_dropping_all_fields_leaves_only_defaults(obj: Object) -> None:
    live = server_side(None, obj, "one", SAMPLE).object
    nothing = {name: obj[name] for name in ("apiVersion", "kind", "metadata")}
    left = applied(live, nothing, "one")
    # An untracked object belongs to ``before-first-apply`` after the first apply.
    if left is not None and leaves(obj):
        assert left.ownership == ()
        assert set(left.object.get("spec") or {}) <= {"level"} | {k for k, v in obj["spec"].items() if v == []}


@law
@given(objects, objects)
def test_diff_is_empty_for_equal_objects_and_reversible(first: Object, second: Object) -> None:
    assert diff(first, copy.deepcopy(first), SAMPLE) == ()
    there = {(change.path, change.reordered): (change.before, change.after) for change in diff(first, second, SAMPLE)}
    back = {(change.path, change.reordered): (change.after, change.before) for change in diff(second, first, SAMPLE)}
    assert there == back


@law
@given(objects, objects)
def test_each_change_has_two_different_values(first: Object, second: Object) -> None:
    for change in diff(first, second, SAMPLE):
        if not change.reordered:
            assert value_at(SAMPLE, first, change.path) == change.before
            assert value_at(SAMPLE, second, change.path) == change.after
            assert change.before != change.after or type(change.before) is not type(change.after)


@law
@given(items)
def test_an_empty_patch_changes_nothing(obj: Object) -> None:
    assert strategic(obj, {}, ITEM) == obj


@law
@given(items, items)
def test_a_second_strategic_patch_changes_nothing(original: Object, patch: Object) -> None:
    once = strategic(original, patch, ITEM)
    assert strategic(once, patch, ITEM) == once


@law
@given(st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), objects), min_size=1, max_size=4))
def test_each_owned_field_exists(steps: list[tuple[str, Object]]) -> None:
    live: Object | None = None
    for manager, obj in steps:
        answer = applied(live, obj, manager, force=True)
        if answer is None:
            return
        live = answer.object
        for managed in answer.ownership:
            for path in managed.paths():
                assert value_at(SAMPLE, live, path) is not ABSENT or value_at(SAMPLE, obj, path) in (None, {}, ABSENT)


def nested(levels: int, lists: bool) -> Object:
    value: Any = {}
    for _ in range(levels):
        value = [value] if lists else {"a": value}
    return {"apiVersion": "conformance.modelyard.dev/v1", "kind": "Sample", "spec": {"free": {"a": value}}}


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda deep, flat: server_side(None, deep, "one", SAMPLE),
        lambda deep, flat: server_side(flat, deep, "one", SAMPLE),
        lambda deep, flat: update(None, deep, "one", SAMPLE),
        lambda deep, flat: update(flat, deep, "one", SAMPLE),
        lambda deep, flat: strategic(flat, deep, SAMPLE),
        lambda deep, flat: diff(deep, flat, SAMPLE),
        lambda deep, flat: stored(SAMPLE, deep),
        lambda deep, flat: validate(deep, SAMPLE),
    ],
)
@pytest.mark.parametrize("levels", [40, 900, 5000])
def test_deep_objects_do_not_crash(write: Callable[[Object, Object], object], levels: int, lists: bool) -> None:
    flat = {"apiVersion": "conformance.modelyard.dev/v1", "kind": "Sample", "metadata": {}, "spec": {"free": {"a": 1}}}
    try:
        write(nested(levels, lists), flat)
    except MergeError as error:
        assert levels > 40, error
