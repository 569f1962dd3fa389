"""Platforms whose Ray head and workers are a RayCluster of KubeRay."""

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from modelyard.catalog import load_library
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.rollouts import old_pods
from modelyard.kube.scheduling.pods import container_requests, pods_of, ray_pods, replaced_pods
from modelyard.kube.state import Pod
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.cost.project import cost_of
from modelyard.plan.project import state_after
from modelyard.plan.verification import VerifyCheck, checks_of
from modelyard.probes import BackendDrain
from modelyard.stack import load_text
from modelyard.stack.config import PatchChoice, RayHead, RayWorker, Target
from modelyard.workloads.training.backend import HeadService
from modelyard.workloads.training.ray import RAY as RAY_BACKEND
from tests.support.example_stacks import ROOT, Site
from tests.support.ray_objects import CLUSTER as KEY
from tests.support.ray_objects import HEAD, WORKERS, groups_of, ray_object, with_ray_object

CELERY = "deployment-model-training-tasks-gpu"


@pytest.fixture
def ray(dev: Site) -> Site:
    return with_ray_object(dev, KEY, ray_object(KEY))


def target_of(plan: Plan) -> TargetPlan:
    return next(target for target in plan.targets if target.key == KEY)


def codes(plan: Plan) -> list[str]:
    return [finding.code for finding in plan.findings if finding.target == KEY.name]


def test_head_and_workers_get_the_same_pods_as_in_deployments(dev: Site, ray: Site) -> None:
    plan = ray.plan()
    assert not plan.blocked
    target = target_of(plan)
    assert target.patches == ("ray-head@v4", "ray-worker@v4", "training-replicas@v4")
    after = target.after.reveal()
    theirs = {one.name: one.after.reveal()["spec"]["template"]["spec"] for one in dev.plan().targets}
    head, worker = after["spec"]["headGroupSpec"], groups_of(after)["a10"]["template"]["spec"]
    (variable,) = head["template"]["spec"]["containers"][0]["env"]
    assert variable in theirs[HEAD]["containers"][0]["env"]
    for ours, name in ((head["template"]["spec"], HEAD), (worker, WORKERS)):
        assert ours["affinity"] == theirs[name]["affinity"]
        assert container_requests(ours["containers"][0]) == container_requests(theirs[name]["containers"][0])
        assert ours["containers"][0]["image"] == "ray:2.52.0"
    assert worker["terminationGracePeriodSeconds"] == 21900
    assert groups_of(after)["cpu"] == groups_of(ray.state.objects.reveal()[KEY])["cpu"]


def test_pods_of_all_groups_are_counted_and_not_replaced(ray: Site) -> None:
    plan = ray.plan()
    target = target_of(plan)
    assert (target.role, target.replicas, target.gpus, target.replaces_pods) == ("rayWorker", (1, 1), (1, 1), 0)
    (finding,) = (one for one in plan.findings if one.code == "RES110")
    assert finding.target == KEY.name
    assert all(KEY.name not in drain.targets for drain in plan.drains)
    (cost,) = (one for one in cost_of(plan, ray.state).targets if one.name == KEY.name)
    assert (cost.pods, cost.gpus) == (((4, 4), (4, 4)), ((1, 1), (1, 1)))


def test_a_cluster_that_kuberay_recreates_is_drained(dev: Site) -> None:
    body = ray_object(KEY)
    body["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    plan = with_ray_object(dev, KEY, body).plan()
    assert target_of(plan).replaces_pods == 4
    assert "RES110" not in codes(plan)
    assert plan.drains[0].targets == (KEY.name,)
    # The head keeps the jobs that wait for workers.
    body["spec"]["workerGroupSpecs"][1]["replicas"] = 0
    assert with_ray_object(dev, KEY, body).plan().drains[0].targets == (KEY.name,)
    # KubeRay keeps the pods, and there are no workers.
    del body["spec"]["upgradeStrategy"]
    assert all(KEY.name not in drain.targets for drain in with_ray_object(dev, KEY, body).plan().drains)


@pytest.mark.parametrize(
    ("field", "replaced"),
    [
        ("spec.headGroupSpec.rayStartParams.num-cpus", 4),
        ("spec.workerGroupSpecs[groupName=gpu].template.spec.priorityClassName", 4),
        ("spec.workerGroupSpecs[groupName=gpu]", 4),
        ("spec.enableInTreeAutoscaling", 4),
        ("spec.workerGroupSpecs[groupName=gpu].replicas", 0),
        ("spec.workerGroupSpecs[groupName=gpu].minReplicas", 0),
        ("spec.workerGroupSpecs[groupName=gpu].scaleStrategy.workersToDelete", 0),
        ("spec.workerGroupSpecs[groupName=gpu].template.spec.tolerations", 0),
        ("spec.headGroupSpec.template.spec.tolerations", 0),
        ("spec.upgradeStrategy.type", 0),
        ("metadata.annotations.team", 0),
    ],
)
def test_kuberay_recreates_the_pods_for_most_fields_of_the_spec(field: str, replaced: int) -> None:
    body = ray_object(KEY)
    assert replaced_pods(body, body, [merge.Path.parse(field)]) == 0
    body["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    assert replaced_pods(body, body, [merge.Path.parse(field)]) == replaced


@pytest.mark.parametrize("upgrade", ["None", "Recreate"])
def test_each_group_has_its_pods_after_a_plan(dev: Site, upgrade: str) -> None:
    body = ray_object(KEY)
    body["spec"]["upgradeStrategy"] = {"type": upgrade}
    site = with_ray_object(dev, KEY, body)
    places = [ray_pods(KEY.kind), *(ray_pods(KEY.kind, group) for group in ("cpu", "cpu", "a10"))]
    running = [Pod("dev-gpu-01", KEY.name, pods_of(body, place).requests, KEY.namespace) for place in places]
    state = site.state._replace(pods=tuple(running))
    plan = site.asking(ray_worker=site.stack.config.ray_worker._replace(replicas=0))._replace(state=state).plan()
    kept = body if upgrade == "None" else target_of(plan).after.reveal()
    have = [pod.requests for pod in state_after(state, plan).pods if pod.owner == KEY.name]
    assert have == [pods_of(kept, place).requests for place in places[:-1]]
    gone = target_of(plan)._replace(action="delete", after=Confidential({}))
    assert not state_after(state, plan._replace(targets=(gone,))).pods


def test_a_plan_against_its_own_result_changes_nothing(ray: Site) -> None:
    objects = {**ray.state.objects.reveal(), **{one.key: one.after.reveal() for one in ray.plan().targets}}
    plan = ray._replace(state=ray.state._replace(objects=Confidential(objects))).plan()
    assert {target.action for target in plan.targets} == {"none"}


def test_a_switch_to_celery_stops_the_workers_once_they_are_idle(dev: Site) -> None:
    ray = with_ray_object(dev, KEY, ray_object(KEY, minReplicas=1))
    plan = ray.asking(training="celery").plan()
    target = target_of(plan)
    assert (target.replicas, target.gpus, target.phase) == ((1, 0), (1, 0), "down")
    size = groups_of(target.after.reveal())["a10"]
    assert (size["replicas"], size["minReplicas"]) == (0, 0)
    assert "RES111" not in codes(plan)
    (drain,) = plan.drains
    source = HeadService("dev", "ml-platform", KEY.name, "RayCluster")
    assert (drain.targets, drain.source) == ((KEY.name,), source)
    changed = [step.target for step in plan.steps if step.target in ("deployment-api-server", KEY.name, CELERY)]
    assert changed[0] == "deployment-api-server"
    assert [step.phase for step in plan.steps if step.target == KEY.name] == ["drain", "down"]


def test_a_switch_to_ray_starts_the_workers_when_the_nodes_have_gpus(dev: Site) -> None:
    ray = with_ray_object(dev.asking(training="celery"), KEY, ray_object(KEY, replicas=0))
    plan = ray.asking(training="ray").plan()
    target = target_of(plan)
    assert (target.replicas, target.gpus, target.phase) == ((0, 1), (0, 1), "up")
    # Nothing runs in the group, but the head keeps its pod.
    assert "RES110" in codes(plan)


def test_minreplicas_and_maxreplicas_limit_the_pods_of_a_group(dev: Site) -> None:
    ray = with_ray_object(dev, KEY, ray_object(KEY, maxReplicas=2)).asking(ray_worker=RayWorker(replicas=3))
    plan = ray.plan()
    assert target_of(plan).replicas == (1, 2)
    (finding,) = (one for one in plan.findings if one.code == "RES111")
    assert finding.summary == "KubeRay will run 2 pods of group a10 of training, not 3"
    assert finding.field == "spec.workerGroupSpecs[groupName=a10].replicas"
    assert finding.detail == "the RayCluster has maxReplicas 2, and training-replicas@v4 sets replicas to 3"


def test_replicas_with_the_in_tree_autoscaler_are_an_error(dev: Site) -> None:
    body = ray_object(KEY)
    body["spec"]["enableInTreeAutoscaling"] = True
    plan = with_ray_object(dev, KEY, body).plan()
    (finding,) = (one for one in plan.findings if one.code == "OWN002")
    assert finding.blocks
    assert "drop training-replicas under modelyard:patches" in finding.remedy
    without = with_ray_object(dev, KEY, body).asking(patches=(PatchChoice("training-replicas", enabled=False),)).plan()
    assert "OWN002" not in codes(without)


def test_pods_that_no_node_can_hold_name_their_group(dev: Site) -> None:
    ray = with_ray_object(dev, KEY, ray_object(KEY, maxReplicas=90))
    plan = ray.asking(ray_worker=RayWorker(replicas=50), ray_head=RayHead(cpu="1000")).plan()
    found = {one.field: one.summary for one in plan.findings if one.code == "RES101"}
    assert found["rayWorker.replicas"].startswith("group a10 of training needs 50 pods")
    assert found["rayHead.replicas"].startswith("head of training needs 1 pod")


def test_sizes_that_a_patch_of_the_project_sets_are_checked(ray: Site, tmp_path: Path) -> None:
    copytree(ROOT / "patches", tmp_path / "patches")
    mine = tmp_path / "patches/zz-mine/v1"
    mine.mkdir(parents=True)
    (mine / "meta.yaml").write_text("description: mine\noverrides: [ray-head]\n")
    (mine / "schema.json").write_text("{}")
    limits = "{limits: {memory: 2Gi}, requests: {memory: 2Gi}}"
    spec = f"{{headGroupSpec: {{template: {{spec: {{containers: [{{name: ray-head, resources: {limits}}}]}}}}}}}}"
    head = f"# target: {KEY.name}\napiVersion: {KEY.api_version}\nkind: {KEY.kind}\n"
    (mine / "patch.yaml.j2").write_text(f"{head}spec: {spec}\n")
    plan = ray._replace(library=load_library(tmp_path)).plan()
    (finding,) = (one for one in plan.findings if one.code == "RAY002")
    assert finding.detail.startswith("zz-mine@v1 sets it")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"ray_worker": Target(WORKERS, "trainer", ray_cluster=KEY.name, group="a10")}, "targets.rayWorker.container"),
        ({"ray_head": Target(HEAD, "head", ray_cluster=KEY.name)}, "targets.rayHead.container"),
        (
            {"ray_worker": Target(WORKERS, "ray-worker", ray_cluster=KEY.name, group="a100")},
            "targets.rayWorker.group",
        ),
    ],
)
def test_a_wrong_name_is_an_error_with_its_field(ray: Site, change: dict[str, Any], field: str) -> None:
    plan = ray.asking(targets=ray.stack.config.targets._replace(**change)).plan()
    (finding,) = (one for one in plan.findings if one.code == "PAT014" and one.blocks)
    assert (finding.field, finding.file) == (field, ray.stack.file)


def test_a_worker_may_have_several_gpus(ray: Site) -> None:
    plan = ray.asking(gpu=ray.stack.config.gpu._replace(per_worker=2)).plan()
    target = target_of(plan)
    assert "ray-worker-multi-gpu@v4" in target.patches
    (container,) = groups_of(target.after.reveal())["a10"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "NUM_GPUS_REQUESTED", "value": "2"}]
    assert target.gpus == (1, 2)


def test_a_stack_that_drops_its_patches_restores_the_cluster(ray: Site) -> None:
    target = target_of(ray.asking(training="celery").plan())
    objects = {**ray.state.objects.reveal(), KEY: target.after.reveal()}
    off = tuple(PatchChoice(name, enabled=False) for name in ("ray-head", "ray-worker", "training-replicas"))
    plan = (
        ray.asking(patches=off, training="celery")
        ._replace(state=ray.state._replace(objects=Confidential(objects)))
        .plan()
    )
    restored = target_of(plan)
    assert (restored.action, restored.role) == ("restore", "rayWorker")
    assert (restored.replicas, restored.gpus) == ((0, 1), (0, 1))
    assert groups_of(restored.after.reveal())["a10"]["replicas"] == 1


BASE = """\
config:
  modelyard:training: ray
  modelyard:platform: {release: "23.10"%s}
  modelyard:gpu: {model: A10}
  modelyard:autoscaling: {mode: none}
  modelyard:targets:
    rayHead: {%s}
    rayWorker: {%s}
"""


@pytest.mark.parametrize(
    ("platform", "head", "worker", "words"),
    [
        ("", "rayCluster: c", "rayCluster: c", "lacks group"),
        ("", "rayCluster: c", "rayCluster: c, group: g, statefulSet: s", "both a StatefulSet and a RayCluster"),
        ("", "rayCluster: c", "rayCluster: d, group: g", "is not in the same RayCluster as rayWorker"),
        ("", "", "rayCluster: d, group: g", "is not in the same RayCluster as rayHead"),
        ("", "rayCluster: c, group: g", "rayCluster: c, group: g", "only rayWorker has a group"),
        (", without: [rayWorker, modelService]", "rayCluster: c", "", ""),
        (", mode: managed", "rayCluster: c", "rayCluster: c, group: g", "mode managed creates Deployments"),
        ("", "rayCluster: c", "rayCluster: c, group: g", ""),
    ],
)
def test_invalid_combinations_of_targets_are_errors(platform: str, head: str, worker: str, words: str) -> None:
    text = BASE % (platform, head, worker)
    text = text.replace("training: ray", "training: celery") if "rayWorker" in platform else text
    stack, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert (stack is None) == bool(words)
    assert all(one.line in (7, 8) for one in findings)
    assert any(words in one.summary for one in findings) == bool(words)


def test_a_ray_cluster_is_not_scaled_by_keda() -> None:
    text = BASE % ("", "rayCluster: c", "rayCluster: c, group: g")
    text = text.replace("mode: none", "mode: annotations")
    stack, (finding,) = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert stack is None
    assert (finding.line, finding.summary) == (5, "autoscaling.mode is annotations, which cannot scale a RayCluster")


def test_the_drain_asks_the_jobs_api_of_the_raycluster(ray: Site) -> None:
    source = RAY_BACKEND.source(ray.stack)
    assert source == HeadService("dev", "ml-platform", KEY.name, "RayCluster")
    assert isinstance(BackendDrain("ray", (KEY.name,), 60, 10, source).source, HeadService)


def ray_pod(
    name: str, memory: str, cluster: str = "training", image: str = "ray:2.52.0", **metadata: Any
) -> dict[str, Any]:
    amounts = {"cpu": "4000m", "memory": memory, "nvidia.com/gpu": "1"}
    # Admission and KubeRay add requests and containers to pods.
    containers = [
        {"name": "ray-worker", "image": image, "resources": {"limits": amounts, "requests": amounts | {"x": "1"}}},
        {"name": "x"},
    ]
    labels = {"ray.io/cluster": cluster, "ray.io/group": "a10"}
    return {"metadata": {"name": name, "labels": labels, **metadata}, "spec": {"containers": containers}}


def test_a_verification_waits_for_pods_with_an_old_template(dev: Site) -> None:
    body = ray_object(KEY)
    body["status"] = {f"{name}WorkerReplicas": 3 for name in ("desired", "available", "ready")}
    plan = with_ray_object(dev, KEY, body).plan()

    def rollout_check(*pods: dict[str, Any]) -> VerifyCheck:
        return next(one for one in checks_of(plan, {KEY: pods}) if (one.kind, one.subject) == ("rollout", "training"))

    fine = (ray_pod("new", "12Gi"), ray_pod("gone", "8Gi", deletionTimestamp="now"), ray_pod("b", "8Gi", "another"))
    assert rollout_check(*fine).state == "ok"
    body["spec"]["workerGroupSpecs"][1]["template"]["metadata"] = {"annotations": {"a": "b"}}
    plan = with_ray_object(dev, KEY, body).plan()
    assert rollout_check(ray_pod("new", "12Gi")).state == "waiting"
    fine = (ray_pod("new", "12Gi", annotations={"a": "b", "c": "d"}),)
    assert rollout_check(*fine).state == "ok"
    old = rollout_check(*fine, ray_pod("old", "8Gi", annotations={"a": "b"}))
    assert (old.state, old.found) == ("waiting", "old has the old template")
    assert old.remedy.endswith("delete pods --selector ray.io/cluster=training,ray.io/group=a10")


@pytest.mark.parametrize(
    ("image", "old"),
    [
        ("ray:2.52.0", False),
        ("mirror.example.com:5000/docker/ray:2.52.0", False),
        ("ray:2.52.0@sha256:0123", False),
        ("ray@sha256:0123", False),
        ("ray:2.51.0", True),
        ("mirror.example.com:5000/docker/ray:2.51.0@sha256:4567", True),
    ],
)
def test_a_pod_with_another_version_of_the_image_is_old(image: str, old: bool) -> None:
    assert bool(old_pods(ray_object(KEY), [ray_pod("a", "12Gi", image=image)])) is old
