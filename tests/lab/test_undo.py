"""After any sequence of applies, an undo restores every field and owner of every target."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from lab import Lab
from modelyard.engine.undoing import Undone, restore
from modelyard.kube import merge
from modelyard.kube.merge import Path
from modelyard.kube.state import ObjectKey
from modelyard.plan.undo.ledger import ledger_text, ours
from modelyard.stack.config import Config, PatchChoice
from tests.lab.support.environment import NAMESPACE
from tests.lab.support.undo_bench import HEAD, NAMES, SERVICE, Bench, Twin, project

WAYS = st.fixed_dictionaries({name: st.sampled_from(["client-side", "server-side", "scaled"]) for name in NAMES})
FIELDS: dict[Path, Any] = {
    Path.parse("spec.replicas"): st.integers(0, 2),
    Path.parse("spec.minReadySeconds"): st.integers(1, 9),
    Path.parse("spec.strategy.rollingUpdate.maxSurge"): st.integers(1, 3),
    Path.parse("spec.template.spec.terminationGracePeriodSeconds"): st.integers(20, 99),
}


CHANGES: dict[str, Any] = {
    "training": st.sampled_from(["ray", "celery"]),
    "mine": st.sampled_from(["v1", "v2", None]),
    "head": st.booleans(),
    "memory": st.sampled_from(["16Gi", "32Gi"]),
    "autoscaling": st.sampled_from(["none", "annotations"]),
}
EDIT = st.sampled_from(sorted(CHANGES)).flatmap(lambda name: st.tuples(st.just(name), CHANGES[name]))
ITEM = Path.parse("spec.template.spec.containers[name=ray-head].env[name=RAY_GRAFANA_HOST].value")
APPLY = st.tuples(st.just("apply"), st.lists(EDIT, max_size=2), st.sampled_from([None, None, None, 0, 2, 4]))
TOUCH = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda path: st.tuples(
        st.just("touch"), st.sampled_from(NAMES), st.just(path), FIELDS[path], st.sampled_from(["human", "controller"])
    )
)
TOUCH_ITEM = st.tuples(
    st.just("touch"),
    st.just(HEAD),
    st.just(ITEM),
    st.sampled_from(["5", "7"]),
    st.sampled_from(["human", "controller"]),
)
SCALE = st.tuples(
    st.just("touch"), st.sampled_from(NAMES), st.just(Path(("spec", "replicas"))), st.integers(0, 3), st.just("scaler")
)
PUT = st.tuples(st.just("put"), st.sampled_from(NAMES), st.booleans())
AGAIN = st.tuples(st.just("again"), st.sampled_from(NAMES))
MOVES = st.lists(st.one_of(APPLY, APPLY, TOUCH, TOUCH_ITEM, SCALE, PUT, AGAIN), min_size=1, max_size=7)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("undo")
    with Lab.start(folder / "lab", context="dev") as lab:
        lab.install_platform("dev")
        yield Bench(lab, project(folder / "project"))


def asking(stack: Config, wanted: dict[str, Any]) -> Config:
    """The stack's config with the values ``wanted``."""
    patches = [PatchChoice("zz-mine", enabled=False)]
    if wanted.get("mine"):
        patches = [PatchChoice("zz-mine", version=wanted["mine"])]
    if not wanted.get("head", True):
        patches.append(PatchChoice("ray-head", enabled=False))
    return stack._replace(
        training=wanted.get("training", "ray"),
        patches=tuple(patches),
        ray_head=stack.ray_head._replace(memory=wanted.get("memory", "16Gi")),
        autoscaling=stack.autoscaling._replace(mode=wanted.get("autoscaling", "none")),
    )


# Every example takes seconds on a real API server; shrinking a failing one would take minutes.
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate))
@given(ways=WAYS, moves=MOVES, killed=st.booleans())
def test_an_undo_restores_every_target(bench: Bench, ways: dict[str, str], moves: list[Any], killed: bool) -> None:
    bench.install(ways)
    twins = {name: Twin(bench.get(name), bench.schema) for name in NAMES}
    wanted: dict[str, Any] = {}
    for move in moves:
        note(str(move))
        if move[0] == "apply":
            wanted |= dict(move[1])
            plan = bench.plan(asking(bench.stack.config, wanted))
            bench.up(plan, move[2])
            carried_out = {target.name: target for target in plan.targets}
            if move[2] is not None:
                carried_out = {target.name: target for target in plan.targets[: move[2] + 1]}
            for name, twin in twins.items():
                if name in carried_out:
                    twin.planned(carried_out[name].applied.reveal())
                elif move[2] is None:
                    twin.planned(None)
        elif move[0] == "put":
            _, name, adopting = move
            before = bench.get(name)
            bench.put(name, "deployer", adopting)
            twins[name].written(before, bench.get(name), "deployer")
        elif move[0] == "again":
            name, way = move[1], ways[move[1]]
            if way == "client-side":
                before = bench.get(name)
                bench.install_again(name, way)
                twins[name].written(before, bench.get(name), "kubectl-client-side-apply")
            elif way == "server-side" and twins[name].untouched and not twins[name].touched:
                # A field that others have set to the same value would only get a second owner.
                bench.install_again(name, way)
                twins[name].installed_again()
        else:
            _, name, path, value, manager = move
            if merge.value_at(bench.schema, bench.get(name), path) == value:
                # Setting the same value does not change the owner.
                continue
            bench.update(name, path, value, manager)
            twins[name].update(path, value, manager)
    if killed:
        bench.half_destroy()
    bench.destroy()
    for name, twin in twins.items():
        twin.planned(None)
        twin.check(bench.get(name))


def memory(body: dict[str, Any]) -> Any:
    return body["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"].get("memory")


@pytest.mark.quick
def test_an_undo_never_passes_through_a_default(bench: Bench) -> None:
    """If a field were removed before it is restored, replicas would be 1 and memory unlimited for a moment."""
    bench.install(dict.fromkeys(NAMES, "scaled"))
    before = bench.get(SERVICE)
    assert before["spec"]["replicas"] == 3
    bench.up(bench.plan(bench.stack.config))
    ours = bench.get(SERVICE)
    assert ours["spec"]["replicas"] == 2
    assert memory(ours) != memory(before)
    dropped = bench.stack.config._replace(patches=(PatchChoice("model-service", enabled=False),))
    bench.up(bench.plan(dropped))
    bench.up(bench.plan(bench.stack.config))
    bench.destroy()
    seen = bench.history(SERVICE, before["metadata"]["resourceVersion"])
    assert {(body["spec"]["replicas"], memory(body)) for body in seen} == {(3, memory(before)), (2, memory(ours))}


def test_an_undo_of_a_missing_or_unmodified_object_does_nothing(bench: Bench) -> None:
    bench.install(dict.fromkeys(NAMES, "server-side"))
    twin = Twin(bench.get(SERVICE), bench.schema)
    key = ObjectKey("apps/v1", "Deployment", NAMESPACE, SERVICE)
    assert restore(bench.client, key, "") == Undone(True)
    twin.check(bench.get(SERVICE))
    assert restore(bench.client, key._replace(name="nobody"), "") == Undone(False)


def test_an_undo_without_a_ledger_uses_the_copy_in_the_state(bench: Bench) -> None:
    bench.install(dict.fromkeys(NAMES, "client-side"))
    twin = Twin(bench.get(SERVICE), bench.schema)
    bench.up(bench.plan(bench.stack.config))
    bench.lab.kubectl("annotate", "deployment", SERVICE, "--namespace", NAMESPACE, "modelyard.dev/ledger-")
    bench.destroy()
    twin.check(bench.get(SERVICE))


@pytest.mark.parametrize("readable", [True, False], ids=["the plan reads the state", "the plan cannot read the state"])
def test_an_undo_restores_the_first_values_after_a_full_update(bench: Bench, readable: bool) -> None:
    bench.install(dict.fromkeys(NAMES, "client-side"))
    before = {name: bench.get(name) for name in NAMES}
    bench.up(bench.plan(bench.stack.config))
    for name in NAMES:
        bench.put(name, "kubectl-replace", adopting=True)
        assert not ledger_text(bench.get(name))
    plan = bench.plan(bench.stack.config, readable)
    assert ("OWN012" in {finding.code for finding in plan.findings}) != readable
    bench.up(plan)
    bench.destroy()
    for name, body in before.items():
        live = bench.get(name)
        assert live["spec"] == body["spec"], name
        assert not ours(live)
