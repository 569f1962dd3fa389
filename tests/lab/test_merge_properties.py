"""Random writes to random objects, sent to the real API server: every answer must be the offline one."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab import Lab
from modelyard.merge import strategic, three_way
from tests.conformance.casefile import Case, comparable, essence, schema_of, without_nulls
from tests.conformance.fuzz import Found, known, random_steps, replay, seeds, smallest
from tests.conformance.generate import samples
from tests.conformance.server import APPLY, MERGE, NAMESPACE, STRATEGIC, Server, conformance_server
from tests.conformance.steps import play

pytestmark = pytest.mark.lab

Object = dict[str, Any]
EXAMPLES = 120

SECONDS = float(os.environ.get("MODELYARD_FUZZ_SECONDS", "0"))
"""How long random writes are sent: minutes or hours, with another ``MODELYARD_FUZZ_SEED`` each time."""
SEED = os.environ.get("MODELYARD_FUZZ_SEED", "1")
ZERO_VALUES = False
"""Whether zero values (``""``, 0, false) stand among the odd values. The server drops those of ``omitempty`` fields."""
KARPENTER = Path(__file__).parent / "crds" / "karpenter.sh_nodepools.yaml"

GAPS: dict[str, Callable[[Found], bool]] = {
    # The server stores such items in updates, ends the tracking of owners, and refuses every apply from then on.
    "items of an associative list without their key": lambda found: (
        found.sort == "refused offline"
        and any(text in found.difference for text in ("the item needs", "the live object is not of"))
    ),
    # Whether the server keeps it depends on how the object is created; no client has a reason to send one.
    "a deletionTimestamp of a new object": lambda found: (
        found.sort == "object" and "deletionTimestamp" in found.difference
    ),
    # Go decodes a list of numbers as bytes.
    "lists in binaryData": lambda found: found.sort == "object" and "binaryData" in str(found.steps),
    # The server compares before it drops what is empty, so that whoever sends [] or {} for null becomes the owner.
    "empty values inside LimitRanges": lambda found: found.seed.type == "v1 LimitRange" and found.sort == "owners",
}
"""What is known to differ, by name and with the reason. Nothing else is passed over."""


bounded = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


managers = st.sampled_from(["one", "two", "three"])
applies = st.fixed_dictionaries({"by": managers, "apply": samples.map(lambda s: {"spec": s}), "force": st.booleans()})
updates = st.fixed_dictionaries({"by": managers, "merge-patch": samples.map(lambda s: {"spec": s})})
steps = st.lists(st.one_of(applies, applies, updates), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def server(lab: Lab) -> Iterator[Server]:
    lab.kubectl("apply", "--server-side", f"--filename={KARPENTER}")
    with conformance_server(lab) as started:
        yield started


@bounded
@given(steps)
def test_server_side(server: Server, steps: list[Object]) -> None:
    case = Case("properties", "random", "conformance.modelyard.dev/v1", "Sample", {})
    path = f"{server.collection(case.api_version, case.kind, NAMESPACE)}/random"
    server.remove(path)
    live: Object | None = None
    for step in steps:
        if "merge-patch" in step and live is None:
            continue
        if "apply" in step:
            step = {**step, "apply": {**step["apply"], "metadata": {"name": "random"}}}
        ours = play(case, step, live)
        if "merge-patch" in step:
            status, theirs = server.request("PATCH", path, step["merge-patch"], MERGE, fieldManager=step["by"])
        else:
            query = {"fieldManager": step["by"], "force": str(step["force"]).lower()}
            status, theirs = server.request("PATCH", path, case.whole(step["apply"]), APPLY, **query)
        if ours.error:
            assert status == 422, (ours.error, theirs)
        elif ours.conflicts or status == 409:
            found: dict[str, list[str]] = {}
            for cause in theirs["details"]["causes"]:
                found.setdefault(cause["field"], []).append(cause["message"].removeprefix("conflict with "))
            assert {field: sorted(owners) for field, owners in found.items()} == ours.conflicts
        else:
            assert status in (200, 201), theirs
            assert ours.object is not None
            expected, got = comparable(ours.object), comparable(theirs)
            for name in ("uid", "creationTimestamp", "namespace"):
                if name not in expected["metadata"]:
                    got["metadata"].pop(name)
            assert got == expected
            live = theirs


@pytest.mark.skipif(not SECONDS, reason="by hand: MODELYARD_FUZZ_SECONDS says how long; it still finds differences")
def test_random_writes(server: Server) -> None:
    """What fails here is printed as a case, ready for a file of tests/conformance/cases."""
    deadline = time.monotonic() + SECONDS
    kinds = seeds()
    for number in itertools.count():
        if time.monotonic() > deadline:
            break
        kind, steps = random_steps(f"{SEED}-{number}", kinds, ZERO_VALUES)
        found = replay(server, kind, steps)
        if found is not None and not known(found, GAPS):
            pytest.fail(str(smallest(server, found)), pytrace=False)
    assert number > SECONDS, "the server answers too slowly to find anything"


_names = st.lists(st.sampled_from("abcdef"), max_size=5, unique=True)
accounts = _names.map(lambda names: {"secrets": [{"name": name} for name in names]} if names else {})


@bounded
@given(accounts, accounts, accounts)
def test_three_way_and_strategic(server: Server, original: Object, modified: Object, current: Object) -> None:
    kind = schema_of("v1").of("v1", "ServiceAccount")
    path = f"{server.collection('v1', 'ServiceAccount', NAMESPACE)}/random"
    server.remove(path)
    whole = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "random"}}
    status, live = server.request("POST", path.rpartition("/")[0], {**whole, **current})
    assert status == 201, live
    patch = three_way({**whole, **original}, {**whole, **modified}, live, kind)
    status, theirs = server.request("PATCH", path, patch, STRATEGIC)
    assert status == 200, theirs
    ours = essence(strategic(live, patch, kind))
    assert without_nulls(essence(theirs)) == {name: value for name, value in ours.items() if value}
    if current == original:
        assert without_nulls(essence(theirs)) == modified


_directives = st.sampled_from(
    [{"$patch": "delete"}, {"$patch": "replace"}, {}, {}, {}],
)


@bounded
@given(
    accounts,
    st.lists(st.tuples(st.sampled_from("abcdefgh"), _directives), max_size=5, unique_by=lambda p: p[0]),
    _names,
)
def test_strategic(server: Server, original: Object, items: list[tuple[str, Object]], order: list[str]) -> None:
    kind = schema_of("v1").of("v1", "ServiceAccount")
    path = f"{server.collection('v1', 'ServiceAccount', NAMESPACE)}/random"
    server.remove(path)
    whole = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "random"}}
    status, live = server.request("POST", path.rpartition("/")[0], {**whole, **original})
    assert status == 201, live
    patch: Object = {"secrets": [{"name": name, **directive} for name, directive in items]}
    if order:
        plain = [name for name, directive in items if not directive]
        patch["$setElementOrder/secrets"] = [{"name": name} for name in [*plain, *(n for n in order if n not in plain)]]
    status, theirs = server.request("PATCH", path, patch, STRATEGIC)
    try:
        ours = essence(strategic(live, patch, kind))
    except ValueError:
        assert status >= 400, theirs
        return
    assert status == 200, theirs
    assert without_nulls(essence(theirs)) == {name: value for name, value in ours.items() if value}
