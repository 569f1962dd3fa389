"""Platforms of different shapes are recognised by what their pods run, and described as they are."""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelyard.cluster.pods import pod_of
from modelyard.hiding import Confidential
from modelyard.kube.state import Node, Pod, node_of
from modelyard.stack.yaml.formatting import formatted
from modelyard.workloads.discovery import Discovery, PatchOff, discover, stack_text
from modelyard.workloads.discovery.values import FoundScaling
from tests.support.discovered_platforms import PLATFORMS, objects_in
from tests.support.golden import hold

RECORDED = Path(__file__).parents[3] / "stacks/recorded"
NODES = tuple(map(node_of, objects_in("nodes")))


def found(
    objects: Iterable[Mapping[str, Any]],
    answers: Mapping[str, str] | None = None,
    nodes: tuple[Node, ...] = NODES,
    pods: tuple[Pod, ...] = (),
) -> Discovery:
    return discover(Confidential(tuple(objects)), nodes, pods, answers or {})


def places(platform: Discovery) -> dict[str, str]:
    return {role: str(one.place) for role, one in platform.roles.items()}


def changed(name: str, workload: str, /, **container: Any) -> list[dict[str, Any]]:
    """The objects of a platform, with other settings of the only container of one workload."""
    objects = deepcopy(list(objects_in(name)))
    (body,) = (one for one in objects if one["metadata"]["name"] == workload and "template" in one["spec"])
    body["spec"]["template"]["spec"]["containers"][0] |= container
    return objects


@pytest.mark.parametrize("name", [name for name in PLATFORMS if name != "unrelated"])
def test_stack_files_of_platforms(name: str) -> None:
    """The texts are in tests/golden/discovered; they are laid out as `modelyard fmt` does it, and YAML."""
    text = stack_text(found(objects_in(name)), context=name, kubernetes="1.35")
    hold(f"discovered/{name}.yaml", text)
    assert formatted(text).text == text
    assert yaml.safe_load(text)["config"]["kubernetes:context"] == name


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
def test_the_vendors_platform_is_certain(environment: str) -> None:
    folder = RECORDED / environment
    cluster = json.loads((folder / "cluster.json").read_text())
    nodes, pods = tuple(map(node_of, cluster["nodes"])), tuple(map(pod_of, cluster["pods"]))
    platform = found([json.loads(path.read_text()) for path in folder.glob("deployment.*.json")], {}, nodes, pods)
    assert platform.questions == ()
    assert places(platform) == {
        "apiServer": "Deployment deployment-api-server",
        "modelService": "Deployment deployment-model-service",
        "rayHead": "Deployment deployment-ray-head",
        "rayWorker": "Deployment deployment-ray-model-training-worker",
        "celery": "Deployment deployment-model-training-tasks-gpu",
    }
    assert (platform.training, platform.gpu, platform.release) == {
        "dev": ("ray", "A10", "23.10"),
        "staging": ("ray", "a100-40gb", "23.10"),
        "prod": ("celery", "A30", "23.07"),
    }[environment]


def test_roles_are_found_by_commands_with_any_names(golden: Any) -> None:
    platform = found(objects_in("statefulsets"))
    assert platform.questions == ()
    assert places(platform) == {
        "apiServer": "Deployment gateway",
        "rayHead": "StatefulSet coordinator",
        "rayWorker": "StatefulSet compute",
    }
    golden(*(f"{role}: {', '.join(one.evidence)}" for role, one in platform.roles.items()))


def test_commands_in_shell_scripts_and_component_labels_are_evidence(golden: Any) -> None:
    platform = found(objects_in("helm"))
    assert platform.questions == ()
    assert places(platform)["rayHead"] == "Deployment prod-mlplat-ray-head"
    golden(*(f"{role}: {platform.roles[role].evidence[0]}" for role in ("rayHead", "modelService")))
    assert platform.roles["rayWorker"].sizes.memory == "96Gi"


def test_kuberay_groups_are_workloads_and_its_operator_is_not() -> None:
    platform = found(objects_in("raycluster"))
    assert platform.questions == ()
    assert places(platform) == {
        "apiServer": "Deployment train-api",
        "rayHead": "RayCluster training",
        "rayWorker": "RayCluster training, group a10",
    }
    assert platform.roles["rayWorker"].sizes._replace(image="") == platform.roles["rayWorker"].sizes._replace(
        replicas=3, cpu="8", memory="32Gi", gpus=2, grace_period=120, image=""
    )


def test_a_cluster_created_by_a_rayservice_is_not_a_candidate() -> None:
    platform = found(objects_in("rayservice"))
    assert platform.questions == ()
    assert places(platform)["rayWorker"] == "RayService models, group a10"


def test_the_head_is_in_the_cluster_of_the_workers() -> None:
    objects = deepcopy(list(objects_in("raycluster")))
    other = deepcopy(objects[-1])
    other["metadata"]["name"] = "experiments"
    (question,) = found((*objects, other)).questions
    assert question.why == "2 candidates, experiments/a10 and training/a10"
    platform = found((*objects, other), {"rayWorker": "RayCluster training, group a10"})
    assert (platform.questions, places(platform)["rayHead"]) == ((), "RayCluster training")


def test_the_autoscaler_of_ray_is_found() -> None:
    objects = deepcopy(list(objects_in("raycluster")))
    objects[-1]["spec"]["enableInTreeAutoscaling"] = True
    scaling = found(objects).scaling
    assert (scaling.mode, "RayCluster training" in scaling.by) == ("none", True)


def test_an_image_and_a_gpu_alone_are_never_certain(golden: Any) -> None:
    serving = changed("two-candidates", "ray-workers-spot", command=["serve", "run"], name="app")
    (body,) = (one for one in serving if one["metadata"]["name"] == "ray-workers-spot")
    body["metadata"]["name"], body["metadata"]["labels"] = "chat", {}
    body["spec"]["template"]["metadata"]["labels"] = {}
    (question,) = found([body]).questions
    assert question.about == "rayWorker"
    golden(question.why)
    certain = found(serving)
    assert (certain.questions, places(certain)["rayWorker"]) == ((), "Deployment ray-workers")


def test_two_equal_candidates_are_a_question() -> None:
    platform = found(objects_in("two-candidates"))
    (question,) = platform.questions
    assert question.about == "rayWorker"
    assert [one.value for one in question.options] == ["Deployment ray-workers", "Deployment ray-workers-spot", ""]
    answered = found(objects_in("two-candidates"), {"rayWorker": "Deployment ray-workers-spot"})
    assert answered.questions == ()
    assert answered.roles["rayWorker"].sizes.replicas == 4
    assert "guess" not in stack_text(answered, context="c", kubernetes="")


def test_without_workers_chosen_there_is_no_platform() -> None:
    assert found(objects_in("two-candidates"), {"rayWorker": ""}).namespace == ""


def test_celery_workers_without_gpus_do_not_train() -> None:
    platform = found(objects_in("celery-only"))
    assert platform.questions == ()
    assert places(platform) == {"celery": "Deployment gpu-jobs"}
    assert (platform.training, platform.queue) == ("celery", "gpu-training")
    assert platform.scaling == FoundScaling("none", "HorizontalPodAutoscaler gpu-jobs", 5)


@pytest.mark.parametrize(
    ("args", "env", "queue"),
    [
        (["celery -A site worker -Qgpu"], (), "gpu"),
        (["celery -A site worker --queues=$(QUEUE)"], ({"name": "QUEUE", "value": "gpu"},), "gpu"),
        (["celery -A site worker"], ({"name": "CELERY_QUEUES", "value": "gpu"},), "gpu"),
        (["celery -A site worker -Q gpu,cpu"], (), ""),
        (["celery -A site worker -Q $QUEUE"], (), ""),
    ],
)
def test_the_queue_is_read_as_a_check_of_the_worker_reads_it(args: list[str], env: Any, queue: str) -> None:
    assert found(changed("celery-only", "gpu-jobs", args=args, env=list(env))).queue == queue


def test_training_workers_without_gpus_are_never_certain(golden: Any) -> None:
    objects = [one for one in objects_in("two-candidates") if one["metadata"]["name"] == "ray-workers"]
    objects = deepcopy(objects)
    del objects[0]["spec"]["template"]["spec"]["containers"][0]["resources"]
    (question,) = found(objects).questions
    assert question.about == "rayWorker"
    golden(question.why)


def test_workers_on_slices_of_gpus_are_certain_and_have_no_whole_gpu() -> None:
    slices = {"requests": {"nvidia.com/mig-1g.10gb": 1, "cpu": 4, "memory": "16Gi"}}
    platform = found(changed("statefulsets", "compute", resources=slices))
    assert platform.questions == ()
    assert "requests nvidia.com/mig-1g.10gb" in platform.roles["rayWorker"].evidence
    assert "# perWorker: " in stack_text(platform, context="c", kubernetes="")


def test_the_container_of_a_role_is_the_one_that_trains() -> None:
    objects = deepcopy(list(objects_in("helm")))
    sidecar = {"name": "metrics", "image": "example/metrics:1"}
    objects[3]["spec"]["template"]["spec"]["containers"].insert(0, sidecar)
    assert found(objects).roles["rayWorker"].container == "main"


def test_several_namespaces_are_a_question_and_the_best_guess_has_most_parts() -> None:
    platform = found(objects_in("namespaces"))
    (question,) = platform.questions
    assert (question.about, [one.value for one in question.options]) == ("namespace", ["team-a", "team-b"])
    named = found(objects_in("namespaces"), {"namespace": "team-b"})
    assert (named.questions, places(named)) == ((), {"celery": "Deployment training-tasks"})
    assert any({"triton", "serving"} <= set(one.split()) for one in named.other_namespaces)


@pytest.mark.parametrize("objects", [(), objects_in("unrelated")])
def test_a_namespace_without_training_workers_has_no_platform(objects: Any) -> None:
    assert found(objects) == Discovery("")


def test_keda_scales_by_prometheus() -> None:
    expected = FoundScaling("keda", "ScaledObject mlplat-trainers", 6, "http://prometheus.monitoring.svc:9090")
    assert found(objects_in("helm")).scaling == expected


def test_an_address_with_a_login_is_not_copied() -> None:
    objects = deepcopy(list(objects_in("helm")))
    objects[-1]["spec"]["triggers"][0]["metadata"]["serverAddress"] = "http://ada:secret@prometheus:9090"
    assert found(objects).scaling == FoundScaling("none", "ScaledObject mlplat-trainers", 6)


def test_the_platforms_own_autoscaler_is_known_by_its_annotations() -> None:
    objects = deepcopy(list(objects_in("statefulsets")))
    objects[2]["metadata"]["annotations"] = {"autoscaling/enabled": "true", "autoscaling/max_replicas": "7"}
    assert found(objects).scaling == FoundScaling("annotations", "annotation autoscaling/enabled", 7)


@pytest.mark.parametrize(("flag", "backend"), [("True", "ray"), ("false", "celery")])
def test_the_flag_of_the_api_server_decides_the_backend(flag: str, backend: str) -> None:
    env = [{"name": "ENABLE_RAY_MODEL_TRAINING", "value": flag}]
    platform = found((*changed("statefulsets", "gateway", env=env), *_celery("research")))
    assert (platform.training, platform.questions) == (backend, ())


def test_without_a_flag_the_backend_with_pods_is_in_use_and_two_are_a_question() -> None:
    objects = [one for one in objects_in("statefulsets") if one["metadata"]["name"] != "gateway"]
    (question,) = found((*objects, *_celery("research"))).questions
    assert (question.about, [one.value for one in question.options]) == ("training", ["ray", "celery"])
    idle = _celery("research")
    idle[0]["spec"]["replicas"] = 0
    platform = found((*objects, *idle))
    assert (platform.training, platform.questions) == ("ray", ())
    sizes = yaml.safe_load(stack_text(platform, context="c", kubernetes=""))["config"]["modelyard:celery"]
    assert "replicas" not in sizes, "its pods would count if training moved there"


def test_nodes_with_several_gpus_are_a_question_unless_pods_show_or_select_one() -> None:
    other = NODES[0]._replace(name="gpu-3", labels={"nvidia.com/gpu.product": "NVIDIA-A30"})
    nodes = (*NODES, other)
    (question,) = found(objects_in("statefulsets"), nodes=nodes).questions
    assert (question.about, [one.value for one in question.options]) == ("gpu", ["A10", "A30"])
    running = (Pod("gpu-3", "compute", {}, "research"),)
    assert found(objects_in("statefulsets"), nodes=nodes, pods=running).gpu == "A30"
    selecting = deepcopy(list(objects_in("statefulsets")))
    selecting[2]["spec"]["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-A30"}
    chosen = found(selecting, nodes=nodes)
    assert (chosen.gpu, chosen.questions) == ("A30", ())
    gone = found(selecting, nodes=())
    assert (gone.gpu, gone.questions) == ("A30", ())


def test_no_gpu_at_all_is_a_question_with_a_guess() -> None:
    platform = found(objects_in("statefulsets"), nodes=())
    (question,) = platform.questions
    assert question.about == "gpu"
    assert f"model: {platform.gpu} # guess: {question.why[:10]}" in stack_text(platform, context="c", kubernetes="")


def test_pods_without_requests_have_a_comment_instead_of_a_size() -> None:
    platform = found(changed("statefulsets", "coordinator", resources={}))
    text = stack_text(platform, context="c", kubernetes="")
    assert "    # cpu: " in text
    assert "    # memory: " in text
    assert set(yaml.safe_load(text)["config"]["modelyard:rayHead"]) == {"replicas"}


def test_evidence_never_quotes_arguments() -> None:
    args = ["start", "--head", "--redis-password=hunter2"]
    platform = found(changed("statefulsets", "coordinator", command=["ray"], args=args))
    assert "rayHead" in platform.roles
    assert "hunter2" not in repr(platform) + stack_text(platform, context="c", kubernetes="")


def test_texts_that_yaml_would_read_as_another_type_are_quoted() -> None:
    text = stack_text(found(objects_in("statefulsets")), context="on", kubernetes="1.35")
    assert yaml.safe_load(text)["config"]["kubernetes:context"] == "on"


def test_disabled_patches_have_a_comment_with_their_effect() -> None:
    off = [PatchOff("ray-worker", ("ray-worker changes Deployment w:", "  maxSurge 25% → 0"))]
    text = stack_text(found(objects_in("statefulsets")), context="c", kubernetes="1.35", off=off)
    assert yaml.safe_load(text)["config"]["modelyard:patches"] == [{"name": "ray-worker", "enabled": False}]
    assert "    #   maxSurge 25% → 0\n    - {name: ray-worker, enabled: false}\n" in text


def _celery(namespace: str) -> list[dict[str, Any]]:
    """Celery workers that train, in a namespace."""
    (body,) = (deepcopy(one) for one in objects_in("namespaces") if one["metadata"]["name"] == "training-tasks")
    body["metadata"]["namespace"] = namespace
    return [body]
