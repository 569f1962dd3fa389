"""Mode managed: the stack owns its workloads, made from the bases; the platform's API server is patched."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from modelyard.names import FIELD_MANAGER
from modelyard.plan import Plan
from tests.lab.support.environment import GPUS, NAMESPACE, Environment, Object, Run, comparable, environment
from tests.lab.support.managed_mode import WORKLOADS, manage

ASSIGNED = {
    "Service": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"),
}
"""Fields of ``spec`` that a plan cannot know: the API server assigns them."""


class Applied(NamedTuple):
    """A first ``preview`` and ``up`` in mode managed."""

    environment: Environment
    plan: Plan
    preview: Run
    up: Run


@pytest.fixture(scope="module", params=["dev", "staging", "prod"])
def applied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Applied]:
    with environment(request.param, tmp_path_factory.mktemp(request.param)) as env:
        manage(env)
        env.init()
        plan = env.plan()
        applied = Applied(env, plan, env.preview(), env.up())
        env.settle()
        yield applied


def without_assigned(body: Object, kind: str) -> Object:
    spec = {name: value for name, value in body["spec"].items() if name not in ASSIGNED.get(kind, ())}
    return {**body, "spec": spec}


def test_the_plan_creates_whole_objects(applied: Applied) -> None:
    assert not applied.plan.blocked
    kinds = [target.key.kind for target in applied.plan.targets if target.managed]
    assert {kind: kinds.count(kind) for kind in kinds} == {"Deployment": 4, "Service": 2, "PodDisruptionBudget": 4}
    (patched,) = [target for target in applied.plan.targets if not target.managed]
    assert patched.name == "deployment-api-server"


def test_live_objects_match_the_plan(applied: Applied) -> None:
    for target in applied.plan.targets:
        live = applied.environment.get(target.key)
        assert live is not None
        kind = target.key.kind
        assert comparable(without_assigned(live, kind)) == comparable(without_assigned(target.after.reveal(), kind))


def test_every_object_is_created_once_and_owned_by_modelyard(applied: Applied) -> None:
    names = sorted(target.name for target in applied.plan.targets)
    assert sorted(applied.preview.changed) == names
    assert sorted(applied.up.changed) == names
    assert {operation for _, operation, _ in applied.up.steps} == {"create"}
    for target in applied.plan.targets:
        live = applied.environment.get(target.key)
        assert live is not None
        managers = {entry["manager"] for entry in live["metadata"]["managedFields"] if "subresource" not in entry}
        assert managers == {FIELD_MANAGER} if target.managed else FIELD_MANAGER in managers


def test_each_deployment_has_one_template(applied: Applied) -> None:
    sets = applied.environment.replica_sets()
    assert {name: sets[name] for name in (f"deployment-{app}" for app in WORKLOADS)} == {
        f"deployment-{app}": 1 for app in WORKLOADS
    }


def test_replicas_left_to_an_autoscaler_start_at_zero(applied: Applied) -> None:
    env = applied.environment
    replicas = {app: env.deployment(f"deployment-{app}")["spec"]["replicas"] for app in WORKLOADS[2:]}
    if env.name == "staging":
        assert replicas == dict.fromkeys(WORKLOADS[2:], 0)
        assert "AUT002" in {finding.code for finding in applied.plan.findings}
    else:
        assert sorted(replicas.values()) == [0, {"dev": 1, "prod": 3}[env.name]]


def test_pods_run_on_the_planned_nodes(applied: Applied) -> None:
    env = applied.environment
    side = "model-training-tasks-gpu" if applied.plan.training == "celery" else "ray-model-training-worker"
    asleep = env.name == "staging"
    trainers = env.nodes_of(side)
    # With an autoscaler, a new Deployment starts with zero replicas.
    assert len(trainers) == (0 if asleep else env.deployment(f"deployment-{side}")["spec"]["replicas"])
    assert asleep or trainers
    assert {node["metadata"]["labels"]["nvidia.com/gpu.product"] for node in trainers} <= {GPUS[env.name]}
    for app in ("ray-head", "model-service"):
        nodes = env.nodes_of(app)
        assert len(nodes) == env.deployment(f"deployment-{app}")["spec"]["replicas"]
        assert not [node for node in nodes if "nvidia.com/gpu.present" in node["metadata"]["labels"]]


def test_a_second_run_changes_nothing(applied: Applied) -> None:
    assert applied.environment.plan().changed == ()
    assert applied.environment.preview().changed == []
    assert applied.environment.up().changed == []


def test_a_switch_changes_three_objects(applied: Applied) -> None:
    env = applied.environment
    side = {"ray": "celery", "celery": "ray"}[applied.plan.training]
    env.edit(f"modelyard:training: {applied.plan.training}", f"modelyard:training: {side}")
    plan = env.plan()
    changed = [target.name for target in plan.changed]
    assert changed[0] == "deployment-api-server"
    assert sorted(changed) == [
        "deployment-api-server",
        "deployment-model-training-tasks-gpu",
        "deployment-ray-model-training-worker",
    ]
    assert env.up().changed == changed
    env.settle()


def test_a_managed_stack_cannot_change_to_mode_existing(applied: Applied) -> None:
    env = applied.environment
    env.edit("mode: managed", "mode: existing")
    plan = env.plan()
    refused = [finding for finding in plan.findings if finding.code == "OWN004"]
    assert plan.blocked
    assert {finding.target for finding in refused} == {f"deployment-{app}" for app in WORKLOADS}
    done = env.pulumi("up", "--yes", "--skip-preview", "--stack", env.name, check=False)
    assert done.returncode != 0
    assert "OWN004" in done.stdout
    env.edit("mode: existing", "mode: managed")
    assert env.plan().changed == ()


@pytest.mark.parametrize("applied", ["staging"], indirect=True)  # the others have no autoscaler
def test_workers_that_an_autoscaler_starts_run_on_gpus_and_stay(applied: Applied) -> None:
    env = applied.environment
    for side in ("model-training-tasks-gpu", "ray-model-training-worker"):
        env.lab.kubectl("scale", f"deployment/deployment-{side}", "--replicas=1", "--namespace", NAMESPACE)
        env.settle()
        (node,) = env.nodes_of(side)
        assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == GPUS["staging"]
    env.up()
    for side in ("model-training-tasks-gpu", "ray-model-training-worker"):
        assert env.deployment(f"deployment-{side}")["spec"]["replicas"] == 1


def test_destroy_deletes_created_objects_and_keeps_the_platform(applied: Applied) -> None:
    env = applied.environment
    env.modelyard("destroy", env.name, "--yes")
    for target in applied.plan.targets:
        live = env.get(target.key)
        if target.managed:
            assert live is None or "deletionTimestamp" in live["metadata"]
        else:
            assert live is not None
            assert FIELD_MANAGER not in {entry["manager"] for entry in live["metadata"]["managedFields"]}


def test_managed_mode_does_not_take_over_existing_objects(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        env.edit("mode: existing", "mode: managed")
        plan = env.plan()
        refused = [finding for finding in plan.findings if finding.code == "OWN004"]
        assert plan.blocked
        assert {finding.target for finding in refused} >= {f"deployment-{app}" for app in WORKLOADS}
        versions = {app: env.deployment(f"deployment-{app}")["metadata"]["resourceVersion"] for app in WORKLOADS}
        done = env.modelyard("apply", "dev", "--yes", check=False)
        assert done.returncode == 1
        assert "OWN004" in done.stdout + done.stderr
        assert {
            app: env.deployment(f"deployment-{app}")["metadata"]["resourceVersion"] for app in WORKLOADS
        } == versions
