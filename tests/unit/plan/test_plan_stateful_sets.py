"""Platforms whose workloads are StatefulSets."""

from copy import deepcopy
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey
from modelyard.plan.keda import scalings
from modelyard.plan.store import drain_from_json, drain_to_json
from modelyard.probes import BackendDrain
from modelyard.stack import load_text
from modelyard.stack.config import PatchChoice, Target
from modelyard.workloads.training.backend import HeadService
from modelyard.workloads.training.ray import RAY as RAY_BACKEND
from tests.support.example_stacks import Site

RAY = "deployment-ray-model-training-worker"
SET = ObjectKey("apps/v1", "StatefulSet", "ml-platform", "ray-workers")


def as_set(body: dict[str, Any], strategy: str) -> dict[str, Any]:
    """Returns the StatefulSet that an installer would create instead of a Deployment."""
    made = deepcopy(body)
    made["kind"] = "StatefulSet"
    made["metadata"]["name"] = SET.name
    for key in ("strategy", "progressDeadlineSeconds"):
        made["spec"].pop(key, None)
        for entry in made["metadata"]["managedFields"]:
            entry["fieldsV1"].get("f:spec", {}).pop(f"f:{key}", None)
    made["spec"] |= {"serviceName": "ray", "updateStrategy": {"type": strategy}}
    return made


def with_set(site: Site, strategy: str = "RollingUpdate") -> Site:
    targets = site.stack.config.targets._replace(ray_worker=Target(RAY, "ray-model-training-worker", SET.name))
    objects = {
        SET if key.name == RAY else key: as_set(body, strategy) if key.name == RAY else body
        for key, body in site.state.objects.reveal().items()
    }
    return site.asking(targets=targets)._replace(state=site.state._replace(objects=Confidential(objects)))


@pytest.fixture
def rolling(dev: Site) -> Site:
    return with_set(dev)


def test_a_stateful_set_gets_the_same_pods_as_a_deployment(dev: Site, rolling: Site) -> None:
    ours = next(target for target in rolling.plan().targets if target.key == SET)
    theirs = next(target for target in dev.plan().targets if target.name == RAY)
    assert ours.after.reveal()["spec"]["template"] == theirs.after.reveal()["spec"]["template"]
    assert (ours.role, ours.replaces_pods, ours.replicas, ours.gpus) == ("rayWorker", 1, (1, 1), (1, 1))
    assert "strategy" not in ours.applied.reveal()["spec"]
    assert ours.patches == ("ray-worker@v2", "training-replicas@v2")


def test_a_plan_against_its_own_result_changes_nothing(rolling: Site) -> None:
    plan = rolling.plan()
    assert not plan.blocked
    assert {target.action for target in rolling.applied().plan().targets} == {"none"}


def test_jobs_are_drained_and_rules_check_the_pods(rolling: Site) -> None:
    plan = rolling.plan()
    assert SET.name in plan.drains[0].targets
    wide = rolling.asking(ray_worker=rolling.stack.config.ray_worker._replace(replicas=50)).plan()
    (finding,) = (one for one in wide.findings if one.code == "RES101")
    assert (finding.target, finding.field) == (SET.name, "rayWorker.replicas")


def test_pods_of_an_ondelete_strategy_keep_their_template(dev: Site) -> None:
    plan = with_set(dev, "OnDelete").plan()
    ours = next(target for target in plan.targets if target.key == SET)
    assert ours.replaces_pods == 0
    (finding,) = (one for one in plan.findings if one.code == "RES110")
    assert finding.target == SET.name
    assert all(SET.name not in drain.targets for drain in plan.drains)


def test_a_patch_version_for_deployments_is_an_error(rolling: Site) -> None:
    plan = rolling.asking(patches=(PatchChoice("ray-worker", "v1"),)).plan()
    (finding,) = (one for one in plan.findings if one.blocks)
    assert (finding.code, finding.target) == ("PAT013", SET.name)
    assert finding.summary == "ray-worker@v1 changes a Deployment, but ray-workers is a StatefulSet"


def test_keda_scales_the_stateful_set(rolling: Site) -> None:
    scaling = rolling.stack.config.autoscaling._replace(mode="keda", prometheus="http://prometheus.monitoring.svc:9090")
    plan = rolling.asking(autoscaling=scaling).plan()
    scaler = next(target for target in plan.targets if target.name == "ray-training")
    assert scaler.after.reveal()["spec"]["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": SET.name,
    }
    (found,) = (one for one in scalings(plan.targets).values() if one.scaler.name == "ray-training")
    assert found.scaled is not None
    assert found.scaled.key == SET


def test_the_drain_asks_the_jobs_api_of_a_head_in_a_statefulset(dev: Site) -> None:
    head = dev.stack.config.targets.ray_head._replace(stateful_set="heads")
    stack = dev.asking(targets=dev.stack.config.targets._replace(ray_head=head)).stack
    source = RAY_BACKEND.source(stack)
    assert source == HeadService("dev", "ml-platform", "heads", "StatefulSet")
    drain = BackendDrain("ray", ("heads",), 60, 10, source)
    assert drain_from_json(drain_to_json(drain)) == drain


BASE = """\
config:
  modelyard:training: ray
  modelyard:platform: {release: "23.10"%s}
  modelyard:gpu: {model: A10}
  modelyard:targets:
    rayWorker: {statefulSet: workers%s}
"""


@pytest.mark.parametrize(
    ("platform", "target", "words"),
    [
        ("", ", deployment: d", "names both a Deployment and a StatefulSet"),
        (", mode: managed", "", "mode managed creates Deployments"),
    ],
)
def test_invalid_combinations_of_targets_are_errors(platform: str, target: str, words: str) -> None:
    stack, (finding,) = load_text(BASE % (platform, target), "dev", "stacks/Pulumi.dev.yaml")
    assert stack is None
    assert (finding.code, finding.line) == ("CFG018", 6)
    assert words in finding.summary


def test_the_container_has_its_default_name(dev: Site) -> None:
    stack, findings = load_text(BASE % ("", ""), "dev", "stacks/Pulumi.dev.yaml")
    assert not findings
    assert stack is not None
    target = stack.config.targets.ray_worker
    assert (target.kind, target.name, target.container) == ("StatefulSet", "workers", "ray-model-training-worker")
