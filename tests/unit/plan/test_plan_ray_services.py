"""Platforms whose Ray head and workers are a RayService of KubeRay."""

from fractions import Fraction
from pathlib import Path

import pytest

from modelyard.catalog import load_library
from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential
from modelyard.kube.merge import Path as FieldPath
from modelyard.kube.scheduling.pods import changes_template
from modelyard.kube.state import Quota
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.cost.project import cost_of
from modelyard.stack import load_text
from modelyard.stack.config import PatchChoice, RayWorker
from modelyard.workloads.training.backend import HeadService
from tests.support.example_stacks import Site
from tests.support.ray_objects import CLUSTER, groups_of, ray_object, with_ray_object
from tests.support.ray_objects import SERVICE as KEY

PATCH = f"""\
# target: {KEY.name}
apiVersion: {KEY.api_version}
kind: {KEY.kind}
spec:
  rayClusterConfig:
    workerGroupSpecs:
      - groupName: a10
        replicas: 3
"""


@pytest.fixture
def ray(dev: Site) -> Site:
    return with_ray_object(dev, KEY, ray_object(KEY))


def target_of(plan: Plan) -> TargetPlan:
    return next(target for target in plan.targets if target.key == KEY)


def findings_of(plan: Plan, code: str) -> list[Finding]:
    return [finding for finding in plan.findings if finding.code == code and finding.target == KEY.name]


def after_plan(site: Site) -> Site:
    """Returns the platform after its plan has been applied."""
    objects = {**site.state.objects.reveal(), **{one.key: one.after.reveal() for one in site.plan().targets}}
    return site._replace(state=site.state._replace(objects=Confidential(objects)))


def with_patch(site: Site, folder: Path, text: str) -> Site:
    """Returns the platform with a patch of the project instead of the built-in ones for Ray."""
    off = tuple(PatchChoice(name, enabled=False) for name in ("ray-head", "ray-worker", "training-replicas"))
    mine = folder / "patches/mine/v1"
    mine.mkdir(parents=True)
    (mine / "meta.yaml").write_text("items: {spec.rayClusterConfig.workerGroupSpecs: groupName}\n")
    (mine / "schema.json").write_text("{}")
    (mine / "patch.yaml.j2").write_text(text)
    return site.asking(patches=off)._replace(library=load_library(folder))


def test_a_service_gets_the_same_cluster_as_a_raycluster(dev: Site, ray: Site) -> None:
    plan = ray.plan()
    assert not plan.blocked
    target = target_of(plan)
    assert target.patches == ("ray-head@v4", "ray-worker@v4", "training-replicas@v4")
    service = target.after.reveal()
    groups = groups_of(service)
    assert groups["a10"]["template"]["metadata"]["annotations"].pop("modelyard.dev/replicas") == "1"
    theirs = with_ray_object(dev, CLUSTER, ray_object(CLUSTER)).plan()
    cluster = next(one for one in theirs.targets if one.key == CLUSTER).after.reveal()
    assert groups == groups_of(cluster)
    assert service["spec"]["rayClusterConfig"]["headGroupSpec"] == cluster["spec"]["headGroupSpec"]
    (finding,) = findings_of(plan, "OWN018")
    assert finding.field == "spec.rayClusterConfig.workerGroupSpecs"


def test_an_upgrade_replaces_all_pods_with_those_of_a_second_cluster(ray: Site) -> None:
    plan = ray.plan()
    target = target_of(plan)
    assert (target.role, target.replicas, target.gpus) == ("rayWorker", (1, 1), (1, 1))
    assert (target.replaces_pods, target.upgrades) == (4, True)
    assert findings_of(plan, "RES110") == []
    (finding,) = findings_of(plan, "RES112")
    assert finding.severity is Severity.ADVICE
    assert finding.summary == "the upgrade of models starts 4 pods with 1 GPU beside the running ones"
    (drain,) = plan.drains
    assert (drain.targets, drain.source) == ((KEY.name,), HeadService("dev", "ml-platform", KEY.name, "RayService"))
    (step,) = (one for one in plan.steps if one.target == KEY.name and one.phase != "drain")
    assert step.why == (
        "replaces 4 running pods once Ray is idle; "
        "meanwhile a second RayCluster runs beside the old one: 4 pods with 1 GPU more"
    )
    (cost,) = (one for one in cost_of(plan, ray.state).targets if one.name == KEY.name)
    assert (cost.pods, cost.gpus) == (((4, 4), (4, 4)), ((1, 1), (1, 1)))


def test_an_upgrade_without_capacity_for_a_second_cluster_is_a_warning(ray: Site) -> None:
    most = sum(int(node.allocatable.get("nvidia.com/gpu", 0)) for node in ray.state.nodes)
    body = ray_object(KEY, replicas=most, maxReplicas=most)
    plan = with_ray_object(ray, KEY, body).asking(ray_worker=RayWorker(replicas=most)).plan()
    (finding,) = findings_of(plan, "RES112")
    assert finding.severity is Severity.WARNING
    assert finding.summary.endswith("but the nodes have no room for group a10 of models")


def test_a_quota_must_allow_both_clusters(ray: Site) -> None:
    applied = after_plan(ray).asking(ray_worker=RayWorker(cpu="5"))

    def errors(hard: int) -> list[Finding]:
        quota = Quota(KEY.namespace, "team", {"pods": Fraction(hard)}, {"pods": Fraction(10)})
        return findings_of(applied._replace(state=applied.state._replace(quotas=(quota,))).plan(), "RES108")

    assert [len(errors(hard)) for hard in (14, 13)] == [0, 1]


def test_a_plan_against_its_own_result_changes_nothing(ray: Site) -> None:
    assert {target.action for target in after_plan(ray).plan().targets} == {"none"}


def test_a_service_that_kuberay_does_not_upgrade_keeps_its_pods(dev: Site) -> None:
    body = ray_object(KEY)
    body["spec"]["upgradeStrategy"] = {"type": "None"}
    plan = with_ray_object(dev, KEY, body).asking(ray_worker=RayWorker(replicas=3)).plan()
    assert (target_of(plan).replaces_pods, findings_of(plan, "RES112")) == (0, [])
    assert all(KEY.name not in drain.targets for drain in plan.drains)
    (kept,), (size,) = findings_of(plan, "RES110"), findings_of(plan, "RES111")
    assert kept.remedy == "set upgradeStrategy.type of the RayService to NewCluster"
    assert size.summary == "KubeRay will keep 1 pod of group a10 of models"


def test_a_service_without_upgrades_keeps_its_pods_for_any_field(dev: Site, tmp_path: Path) -> None:
    body = ray_object(KEY)
    body["spec"]["upgradeStrategy"] = {"type": "None"}
    text = PATCH.partition("    workerGroupSpecs")[0] + "    rayVersion: 2.53.0\n"
    (kept,) = findings_of(with_patch(with_ray_object(dev, KEY, body), tmp_path, text).plan(), "RES110")
    assert kept.summary == "running pods of models will keep the old template"


def test_a_switch_to_celery_upgrades_to_a_cluster_without_the_workers(ray: Site) -> None:
    plan = after_plan(ray).asking(training="celery").plan()
    target = target_of(plan)
    assert (target.replicas, target.gpus, target.phase, target.upgrades) == ((1, 0), (1, 0), "down", True)
    assert [step.phase for step in plan.steps if step.target == KEY.name] == ["drain", "down"]
    assert findings_of(plan, "RES111") == []


def test_more_workers_need_capacity_for_a_second_cluster(ray: Site) -> None:
    idle = with_ray_object(ray.asking(training="celery"), KEY, ray_object(KEY, replicas=0))
    plan = after_plan(idle).asking(training="ray").plan()
    target = target_of(plan)
    assert (target.replicas, target.phase, target.upgrades) == ((0, 1), "up", True)
    (finding,) = findings_of(plan, "RES112")
    assert finding.summary == "the upgrade of models starts 4 pods with 1 GPU beside the running ones"


def test_a_patch_that_sets_only_replicas_changes_no_pod(ray: Site, tmp_path: Path) -> None:
    plan = with_patch(ray, tmp_path, PATCH).plan()
    target = target_of(plan)
    assert (target.action, target.upgrades) == ("update", False)
    (finding,) = findings_of(plan, "RES111")
    assert finding.field == "spec.rayClusterConfig.workerGroupSpecs[groupName=a10].replicas"
    assert finding.summary == "KubeRay will keep 1 pod of group a10 of models"


@pytest.mark.parametrize(
    ("field", "upgrades"),
    [
        ("spec.serveConfigV2", False),
        ("metadata.annotations.note", False),
        ("spec.rayClusterConfig.workerGroupSpecs[groupName=a10].replicas", False),
        ("spec.rayClusterConfig.workerGroupSpecs[groupName=a10].minReplicas", False),
        ("spec.rayClusterConfig.workerGroupSpecs[groupName=a10].maxReplicas", False),
        ("spec.rayClusterConfig.workerGroupSpecs[groupName=a10].scaleStrategy.workersToDelete", False),
        ("spec.rayClusterConfig.workerGroupSpecs[groupName=a10].numOfHosts", True),
        ("spec.rayClusterConfig.workerGroupSpecs[groupName=a10].template.metadata.labels.replicas", True),
        ("spec.rayClusterConfig.workerGroupSpecs[groupName=new].template.spec.hostNetwork", False),
        ("spec.rayClusterConfig.workerGroupSpecs", True),
        ("spec.rayClusterConfig.headGroupSpec.rayStartParams.num-cpus", True),
        ("spec.rayClusterConfig.rayVersion", True),
    ],
)
def test_only_some_fields_make_kuberay_start_a_second_cluster(field: str, upgrades: bool) -> None:
    body = ray_object(KEY)
    assert changes_template(body, body, [FieldPath.parse(field)]) is upgrades


def test_a_stack_that_drops_its_patches_restores_the_service(ray: Site) -> None:
    applied = after_plan(ray.asking(training="celery"))
    off = tuple(PatchChoice(name, enabled=False) for name in ("ray-head", "ray-worker", "training-replicas"))
    restored = target_of(applied.asking(patches=off, training="celery").plan())
    assert (restored.action, restored.role) == ("restore", "rayWorker")
    assert (restored.replicas, restored.gpus, restored.upgrades) == ((0, 1), (0, 1), True)
    assert groups_of(restored.after.reveal()) == groups_of(ray_object(KEY))


STACK = """\
config:
  modelyard:training: ray
  modelyard:platform: {release: "23.10"}
  modelyard:gpu: {model: A10}
  modelyard:autoscaling: {mode: %s}
  modelyard:targets:
    rayHead: {%s}
    rayWorker: {%s}
"""


@pytest.mark.parametrize(
    ("mode", "head", "worker", "words"),
    [
        ("none", "rayService: s", "rayService: s, group: g", ""),
        ("none", "rayService: s", "rayService: s", "lacks group: a RayService may have"),
        ("none", "rayService: s", "rayService: t, group: g", "is not in the same RayService as rayWorker"),
        ("none", "rayCluster: s", "rayService: s, group: g", "is not in the same RayCluster as rayWorker"),
        ("none", "rayService: s", "rayCluster: c, rayService: s, group: g", "both a RayCluster and a RayService"),
        ("none", "rayService: s, group: g", "rayService: s, group: g", "only rayWorker has a group"),
        ("annotations", "rayService: s", "rayService: s, group: g", "annotations, which cannot scale a RayService"),
    ],
)
def test_invalid_combinations_of_targets_are_errors(mode: str, head: str, worker: str, words: str) -> None:
    stack, findings = load_text(STACK % (mode, head, worker), "dev", "stacks/Pulumi.dev.yaml")
    assert (stack is None) == bool(words)
    assert all(one.line in (5, 7, 8) for one in findings)
    assert any(words in one.summary for one in findings) == bool(words)
