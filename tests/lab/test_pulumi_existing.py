"""Mode existing: ``pulumi up`` on the vendor's platform makes exactly the planned changes."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from modelyard.names import FIELD_MANAGER
from modelyard.plan import Plan
from tests.lab.support.environment import GPUS, Environment, Object, Run, comparable, environment

TRAINS = {
    "dev": "ray-model-training-worker",
    "staging": "ray-model-training-worker",
    "prod": "model-training-tasks-gpu",
}


class Applied(NamedTuple):
    """A first ``preview`` and ``up`` of an environment, with the objects before them."""

    environment: Environment
    plan: Plan
    before: dict[str, Object]
    replica_sets: dict[str, int]
    preview: Run
    previewed: dict[str, Object]
    up: Run
    stack_file: tuple[str, str]


@pytest.fixture(scope="module", params=["dev", "staging", "prod"])
def applied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Applied]:
    with environment(request.param, tmp_path_factory.mktemp(request.param)) as env:
        text = env.stack_file.read_text()
        env.init()
        plan = env.plan()
        before = {target.name: target.before.reveal() or {} for target in plan.targets}
        sets = env.replica_sets()
        preview = env.preview()
        previewed = {target.name: env.get(target.key) or {} for target in plan.targets}
        up = env.up()
        env.settle()
        yield Applied(env, plan, before, sets, preview, previewed, up, (text, env.stack_file.read_text()))


def test_the_preview_names_every_target_once_and_changes_nothing(applied: Applied) -> None:
    assert sorted(applied.preview.changed) == sorted(target.name for target in applied.plan.targets)
    assert {operation for _, operation, _ in applied.preview.steps} == {"create"}
    versions = {name: body["metadata"]["resourceVersion"] for name, body in applied.before.items()}
    assert {name: body["metadata"]["resourceVersion"] for name, body in applied.previewed.items()} == versions


def test_live_objects_match_the_plan(applied: Applied) -> None:
    assert len(applied.plan.targets) == 5
    for target in applied.plan.targets:
        live = applied.environment.get(target.key)
        assert live is not None
        assert comparable(live) == comparable(target.after.reveal())


def test_every_target_is_patched_once_by_modelyard(applied: Applied) -> None:
    assert sorted(applied.up.changed) == sorted(target.name for target in applied.plan.targets)
    for target in applied.plan.targets:
        metadata = applied.environment.deployment(target.name)["metadata"]
        ours = [entry for entry in metadata["managedFields"] if entry["manager"] == FIELD_MANAGER]
        assert [entry["operation"] for entry in ours] == ["Apply"]
        assert metadata["annotations"]["modelyard.dev/patches"] == ",".join(target.patches)


def test_a_target_is_written_once_and_rolls_out_at_most_once(applied: Applied) -> None:
    sets = applied.environment.replica_sets()
    for target in applied.plan.targets:
        template = any(change.path[:2] == ("spec", "template") for change in target.changes)
        assert sets[target.name] - applied.replica_sets[target.name] == template
        live = applied.environment.deployment(target.name)
        assert live["metadata"]["generation"] == applied.before[target.name]["metadata"]["generation"] + 1


def test_training_targets_change_one_by_one_in_the_order_of_the_plan(applied: Applied) -> None:
    chain = [target.name for target in applied.plan.targets if target.phase != "normal"]
    assert [step for step in applied.up.steps if step[2] in chain] == [
        (event, "create", name) for name in chain for event in ("begin", "end")
    ]


def test_pods_run_on_the_planned_nodes(applied: Applied) -> None:
    env = applied.environment
    side = TRAINS[env.name]
    replicas = env.deployment(f"deployment-{side}")["spec"]["replicas"]
    trainers = env.nodes_of(side)
    assert len(trainers) == replicas
    assert {node["metadata"]["labels"]["nvidia.com/gpu.product"] for node in trainers} == {GPUS[env.name]}
    for app in ("ray-head", "model-service"):
        nodes = env.nodes_of(app)
        assert len(nodes) == env.deployment(f"deployment-{app}")["spec"]["replicas"]
        assert not [node for node in nodes if "nvidia.com/gpu.product" in node["metadata"]["labels"]]


def test_the_engine_only_adds_its_salt_to_the_stack_file(applied: Applied) -> None:
    before, after = applied.stack_file
    assert after.startswith(before)
    assert [line.partition(":")[0] for line in after.removeprefix(before).splitlines()] == ["encryptionsalt"]


def test_outputs_include_headline_cluster_patches_and_replicas(applied: Applied) -> None:
    found = json.loads(
        applied.environment.pulumi("stack", "output", "--json", "--stack", applied.environment.name).stdout
    )
    assert found["headline"] == applied.plan.headline
    assert found["cluster"] == applied.plan.cluster
    assert found["patches"] == {target.name: list(target.patches) for target in applied.plan.targets}
    assert (
        found["replicas"]["deployment-model-service"]
        == applied.environment.deployment("deployment-model-service")["spec"]["replicas"]
    )


def test_a_second_run_changes_nothing(applied: Applied) -> None:
    env = applied.environment
    assert env.plan().changed == ()
    versions = {
        target.name: env.deployment(target.name)["metadata"]["resourceVersion"] for target in applied.plan.targets
    }
    assert env.preview().changed == []
    assert env.up().changed == []
    assert {name: env.deployment(name)["metadata"]["resourceVersion"] for name in versions} == versions


def test_the_next_apply_resets_a_manual_change(applied: Applied) -> None:
    env = applied.environment
    name = "deployment-model-service"
    body = {
        "spec": {
            "template": {"spec": {"containers": [{"name": "model-service", "resources": {"limits": {"cpu": "9"}}}]}}
        }
    }
    env.lab.kubectl("patch", "--namespace", "ml-platform", "deployment", name, "--patch", json.dumps(body))
    plan = env.plan()
    assert [target.name for target in plan.changed] == [name]
    assert env.preview().changed == [name]
    assert env.up().changed == [name]
    (target,) = plan.changed
    live = env.get(target.key)
    assert live is not None
    assert comparable(live) == comparable(target.after.reveal())
