"""Whether nodes can hold the pods of a plan, with sizes from the stack, from parameters or from the platform."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from modelyard.stack.config import PatchChoice

RAY = "deployment-ray-model-training-worker"
SERVICE = "deployment-model-service"


def finding_of(plan: Any, code: str) -> Any:
    (finding,) = (finding for finding in plan.findings if finding.code == code)
    return finding


def codes(plan: Any) -> set[str]:
    return {finding.code for finding in plan.findings if finding.blocks}


@pytest.mark.parametrize(
    ("section", "changes", "target", "words"),
    [
        ("model_service", {"replicas": 100_000_000}, SERVICE, "needs 100000000 pods"),
        ("model_service", {"cpu": "500"}, SERVICE, "each pod needs 500"),
        ("model_service", {"memory": "5Ti"}, SERVICE, "each pod needs 5Ti"),
        ("ray_head", {"cpu": "500"}, "deployment-ray-head", "each pod needs 500"),
    ],
)
def test_cpu_workloads_that_no_node_can_hold_are_an_error(
    dev: Any, section: str, changes: dict[str, Any], target: str, words: str
) -> None:
    plan = dev.asking(**{section: getattr(dev.stack.config, section)._replace(**changes)}).plan()
    finding = finding_of(plan, "RES101")
    assert finding.blocks
    assert finding.target == target
    assert words in finding.summary + finding.detail


@pytest.mark.parametrize(
    ("gpu", "field"),
    [
        ({"model": "a30"}, "gpu.model"),
        ({"model": "a100-80gb"}, "gpu.model"),
        ({"model": "a100"}, "gpu.model"),
        ({"model": "a30", "per_worker": 2}, "gpu.model"),
        ({"per_worker": 4}, "gpu.perWorker"),
    ],
    ids=["one product", "two products", "four products", "two keys", "number"],
)
def test_a_gpu_that_no_node_has_is_a_finding_at_the_gpu_key(
    dev: Any, gpu: dict[str, Any], field: str, golden: Any
) -> None:
    finding = finding_of(dev.asking(gpu=dev.stack.config.gpu._replace(**gpu)).plan(), "RES101")
    assert (finding.blocks, finding.target, finding.field) == (True, RAY, field)
    assert (finding.file, finding.line) == ("stacks/Pulumi.dev.yaml", 11 + (field == "gpu.perWorker"))
    assert ("A10" in re.split(r"[ ,]+", finding.remedy)) is (field == "gpu.model")  # as stack files have it
    golden(finding.summary, finding.detail, finding.remedy)


def test_a_cluster_without_gpus_is_reported(dev: Any, golden: Any) -> None:
    names = [node.name for node in dev.state.nodes if "nvidia.com/gpu.product" not in node.labels]
    finding = finding_of(dev.on_nodes(*names).plan(), "RES101")
    assert finding.field == "gpu.model"
    golden(finding.summary, finding.detail, finding.remedy)


@pytest.mark.parametrize(
    ("patch", "params", "words"),
    [
        ("ray-worker", {"gpus": 8, "memory": "256Gi", "cpu": "8"}, "but the nodes can hold 0"),
        ("training-replicas", {"rayReplicas": 50}, "needs 50 pods, but the nodes can hold 2"),
    ],
)
def test_parameters_are_checked_against_the_nodes(dev: Any, patch: str, params: dict[str, Any], words: str) -> None:
    finding = finding_of(dev.asking(patches=(PatchChoice(patch, params=params),)).plan(), "RES101")
    assert finding.blocks
    assert words in finding.summary
    # Fewer pods help only if a node can hold one.
    assert ("run fewer pods" in finding.remedy) == finding.summary.endswith("2")


def test_the_maximum_of_an_autoscaler_is_read_from_the_object(staging: Any) -> None:
    plan = staging.asking(patches=(PatchChoice("autoscaling-ray", params={"maxReplicas": 500}),)).plan()
    finding = finding_of(plan, "RES101")
    assert [word for word in finding.summary.split() if word in (RAY, "500", "2")] == [RAY, "500", "2"]
    assert not finding.blocks


def test_a_patch_that_replaces_tolerations_names_the_missing_one(dev: Any, tmp_path: Path) -> None:
    spec = "{template: {spec: {tolerations: [{key: team, operator: Exists}]}}}"
    plan = dev.patched(tmp_path, spec, target=RAY).plan()
    finding = finding_of(plan, "RES101")
    assert finding.blocks
    assert finding.target == RAY
    assert "dev-gpu-1 has the taint nvidia.com/gpu" in finding.detail
    assert finding.remedy == "let the pods tolerate the taint nvidia.com/gpu, or add nodes without it"
    lost = finding_of(plan, "OWN007")
    assert (lost.target, lost.field) == (RAY, "spec.template.spec.tolerations")
    assert "nvidia.com/gpu" in lost.detail


def test_pods_without_gpus_are_not_sent_to_gpu_nodes(dev: Any, tmp_path: Path) -> None:
    sizes = "{requests: {memory: 64Gi}, limits: {memory: 64Gi}}"
    spec = f"{{template: {{spec: {{containers: [{{name: api-server, resources: {sizes}}}]}}}}}}"
    finding = finding_of(dev.patched(tmp_path, spec, target="deployment-api-server").plan(), "RES101")
    assert "has the taint nvidia.com/gpu" in finding.detail
    assert finding.remedy == "reduce what a pod requests to what one node has, or add nodes"


def test_the_remedy_ignores_taints_of_nodes_that_are_too_small(dev: Any, tmp_path: Path) -> None:
    small = tuple(node._replace(allocatable={**node.allocatable, "cpu": Fraction(1)}) for node in dev.state.nodes)
    spec = "{template: {spec: {tolerations: [{key: team, operator: Exists}]}}}"
    plan = dev._replace(state=dev.state._replace(nodes=small)).patched(tmp_path, spec, target=RAY).plan()
    assert "taint" not in next(one for one in plan.findings if (one.code, one.target) == ("RES101", RAY)).remedy


def test_a_patch_that_repeats_the_tolerations_loses_nothing(dev: Any, tmp_path: Path) -> None:
    kept = next(body for key, body in dev.state.objects.reveal().items() if key.name == RAY)
    own = kept["spec"]["template"]["spec"]["tolerations"]
    spec = "{template: {spec: {tolerations: [%s, {key: team, operator: Exists}]}}}" % ", ".join(map(str, own))  # noqa: UP031
    plan = dev.patched(tmp_path, spec, target=RAY).plan()
    assert not {"RES101", "OWN007"} & {finding.code for finding in plan.findings}


def test_workers_without_affinity_may_run_on_another_gpu(dev: Any) -> None:
    first, *rest = dev.state.nodes
    labels = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.present": "true"}
    gpu = next(node for node in rest if "nvidia.com/gpu.product" in node.labels)
    site = dev._replace(state=dev.state._replace(nodes=(first, *rest, gpu._replace(name="t4", labels=labels))))
    assert "RES103" not in codes(site.plan())
    finding = finding_of(site.asking(patches=(PatchChoice("ray-worker", params={"products": []}),)).plan(), "RES103")
    assert finding.blocks
    assert finding.detail == "t4 has Tesla-T4"


def test_workers_without_affinity_may_get_a_slice(dev: Any) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A10-SHARED", "nvidia.com/gpu.replicas": "4"}
    gpu = next(node for node in dev.state.nodes if "nvidia.com/gpu.product" in node.labels)
    site = dev._replace(state=dev.state._replace(nodes=(*dev.state.nodes, gpu._replace(name="shared", labels=labels))))
    finding = finding_of(site.asking(patches=(PatchChoice("ray-worker", params={"products": []}),)).plan(), "RES103")
    assert finding.detail == "shared has NVIDIA-A10-SHARED, divided among pods (shared)"


def test_a_head_that_may_run_on_gpu_nodes_is_reported(dev: Any, tmp_path: Path) -> None:
    site = dev._replace(state=dev.state._replace(nodes=tuple(node._replace(taints=()) for node in dev.state.nodes)))
    assert "RES103" not in codes(site.plan())
    anywhere = "[{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]"
    terms = f"{{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {anywhere}}}}}"
    spec = f"{{template: {{spec: {{affinity: {{nodeAffinity: {terms}}}}}}}}}"
    finding = finding_of(site.patched(tmp_path, spec, "overrides: [ray-head]\n").plan(), "RES103")
    assert finding.target == "deployment-ray-head"
    assert "dev-gpu-1 is a GPU node" in finding.detail


def test_a_rollout_with_a_surge_needs_capacity_for_one_more_pod(dev: Any) -> None:
    service = dev.stack.config.model_service._replace(cpu="16", memory="40Gi")
    cpu = next(node for node in dev.state.nodes if "nvidia.com/gpu.product" not in node.labels)
    plan = dev.asking(model_service=service).on_nodes(cpu.name).plan()
    assert finding_of(plan, "RES104").target == SERVICE


def test_a_rollout_that_may_stop_a_pod_needs_no_more_capacity(dev: Any) -> None:
    def stopping(body: dict[str, Any]) -> dict[str, Any]:
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
        return {**body, "spec": {**body["spec"], "strategy": rolling}} if body["kind"] == "Deployment" else body

    service = dev.stack.config.model_service._replace(cpu="16", memory="40Gi")
    cpu = next(node for node in dev.state.nodes if "nvidia.com/gpu.product" not in node.labels)
    plan = dev.asking(model_service=service).on_nodes(cpu.name).having(stopping).plan()
    assert "RES104" not in {finding.code for finding in plan.findings}


def test_each_example_switches_with_one_key(sites: Any) -> None:
    for name in ("dev", "prod", "staging"):
        site = sites[name].applied()
        other = {"ray": "celery", "celery": "ray"}[site.stack.config.training]
        plan = site.asking(training=other).plan()
        assert not plan.blocked, (name, plan.findings)
        assert len(plan.changed) == 3
        assert plan.changed[0].name == "deployment-api-server"
