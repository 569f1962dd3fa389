"""The hardware rules check the actual sizes of pods, not only those in the stack file."""

from copy import deepcopy
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from modelyard.catalog import load_library
from modelyard.findings import Severity
from modelyard.hiding import Confidential
from modelyard.stack.config import PatchChoice
from tests.support.example_stacks import ROOT

RAY = "deployment-ray-model-training-worker"
CELERY = "deployment-model-training-tasks-gpu"


def with_params(site: Any, name: str, **params: Any) -> Any:
    return site.asking(patches=(PatchChoice(name, params=params),))


def by_code(plan: Any, severity: Severity = Severity.ERROR) -> dict[str, Any]:
    return {finding.code: finding for finding in plan.findings if finding.severity is severity}


@pytest.mark.parametrize(
    ("patch", "params", "code", "words"),
    [
        ("ray-worker", {"memory": "1Gi"}, "RES001", "rayWorker.memory is 1Gi (1.07 GB) per GPU"),
        ("ray-worker", {"cpu": "1"}, "RES002", "rayWorker.cpu is 1; the minimum is 4 cores"),
        ("ray-worker", {"gracePeriod": 60}, "RAY008", "rayWorker.gracePeriod is 1m"),
        ("ray-head", {"replicas": 2}, "RAY001", "rayHead.replicas is 2"),
        ("ray-head", {"memory": "1Gi"}, "RAY002", "rayHead.memory is 1Gi"),
        ("ray-head", {"cpu": "100m"}, "RAY003", "rayHead.cpu is 100m"),
        ("model-service", {"memory": "1Gi"}, "RES003", "modelService.memory is 1Gi"),
        ("model-service", {"cpu": "1"}, "RES004", "modelService.cpu is 1"),
        ("model-service", {"volume": "1Gi"}, "RES005", "modelService.volume is 1Gi"),
    ],
)
def test_a_patch_parameter_below_a_minimum_is_an_error(
    dev: Any, patch: str, params: dict[str, Any], code: str, words: str
) -> None:
    finding = by_code(with_params(dev, patch, **params).plan())[code]
    (name,) = params
    assert words in finding.summary
    assert finding.detail.startswith(f"The parameter {name} of {patch}@v1 sets it, ")
    assert finding.remedy == f"correct or drop the parameter {name} of {patch}@v1"
    assert finding.file == "stacks/Pulumi.dev.yaml"


def test_sizes_of_the_platform_count_while_a_patch_is_off(dev: Any) -> None:
    off = dev.asking(patches=(PatchChoice("celery-training"), PatchChoice("ray-head", enabled=False)))
    plan = off.plan()
    assert "deployment-ray-head" not in {target.name for target in plan.targets}
    assert not plan.blocked
    finding = by_code(plan, Severity.WARNING)["RAY002"]
    assert finding.summary == "memory of deployment-ray-head is 8Gi (8.58 GB); the minimum is 16 GB"
    assert finding.remedy == "turn on ray-head, which sets rayHead.memory"
    assert finding.target == "deployment-ray-head"


def test_a_value_without_effect_names_the_patch_that_is_off(dev: Any) -> None:
    site = dev.asking(patches=(PatchChoice("model-service", enabled=False),))
    found = [one for one in site.plan().findings if one.code == "RES113"]
    (one,) = (one for one in found if one.field == "modelService.replicas")
    assert one.summary == "modelService.replicas has no effect: model-service is off"
    assert (one.severity, one.file) == (Severity.WARNING, site.stack.file)
    assert one.line == site.stack.positions["modelService", "replicas"][0]
    assert not [one for one in dev.plan().findings if one.code == "RES113"]


def test_a_note_does_not_hide_that_a_value_has_no_effect(prod: Any) -> None:
    """Ray is idle in prod, so the memory of its pods is a note, which is hidden by default."""
    found = prod.asking(patches=(PatchChoice("ray-worker", enabled=False),)).plan().findings
    fields = {code: {one.field for one in found if one.code == code} for code in ("RES001", "RES113")}
    assert "rayWorker.memory" in fields["RES001"] & fields["RES113"]


@pytest.mark.parametrize(
    ("fields", "read"), [({"containers": ["ray"]}, False), ({"newer": True}, True)], ids=["invalid", "unknown"]
)
def test_an_object_is_read_while_its_patch_is_off_unless_it_is_invalid(
    dev: Any, fields: dict[str, Any], read: bool
) -> None:
    def changed(body: dict[str, Any]) -> dict[str, Any]:
        copy = deepcopy(body)
        if body["metadata"]["name"] == "deployment-ray-head":
            copy["spec"]["template"]["spec"] |= fields
        return copy

    plan = dev.asking(patches=(PatchChoice("ray-head", enabled=False),)).having(changed).plan()
    assert ("RAY002" in by_code(plan, Severity.WARNING)) is read


def test_memory_is_checked_for_the_pod_and_per_gpu(dev: Any) -> None:
    plan = with_params(dev, "ray-worker", gpus=2, memory="40Gi").plan()
    finding = by_code(plan, Severity.WARNING)["RES001"]
    assert "rayWorker.memory is 20Gi (21.47 GB) per GPU" in finding.summary
    plan = with_params(dev, "ray-worker", gpus=2, memory="20Gi").plan()
    assert "rayWorker.memory is 10Gi" in by_code(plan)["RES001"].summary


def test_sizes_of_the_platform_are_checked_after_a_patch_is_dropped(dev: Any) -> None:
    plan = dev.asking(patches=(PatchChoice("ray-worker", enabled=False),)).plan()
    finding = by_code(plan)["RES001"]
    assert " 12Gi (12.88 GB) " in finding.summary
    assert finding.detail.startswith(f"{RAY} has this value without a patch: no patch sets spec.template")


def test_sizes_that_a_broken_patch_would_set_are_not_checked(dev: Any, tmp_path: Path) -> None:
    site = dev.asking(patches=(PatchChoice("ray-worker", enabled=False),))
    assert "RES001" in by_code(site.patched(tmp_path / "other", "{paused: {{ nope }}}").plan())
    plan = site.patched(tmp_path / "mine", "{paused: {{ nope }}}", target=RAY).plan()
    assert plan.blocked
    assert "RES001" not in by_code(plan)


def test_a_wrong_size_in_a_base_names_its_patch(dev: Any, tmp_path: Path) -> None:
    """A patch that owns its Deployment may set a size in its base, which only the patch can correct."""
    copytree(ROOT / "patches", tmp_path / "patches")
    folder = tmp_path / "patches/ray-worker/v1"
    patch, base = folder / "patch.yaml.j2", folder / "base.yaml.j2"
    patch.write_text(patch.read_text().replace("              memory: {{ memory }}\n", ""))
    resources = "          resources: {requests: {memory: 1Gi}, limits: {memory: 1Gi}}\n"
    base.write_text(base.read_text().replace("          imagePull", f"{resources}          imagePull", 1))
    site = dev.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    site = site._replace(
        library=load_library(tmp_path)._replace(findings=()), state=dev.state._replace(objects=Confidential({}))
    )
    finding = by_code(site.plan())["RES001"]
    assert finding.detail.startswith("ray-worker@v1 sets it, ")
    assert finding.remedy == "correct ray-worker@v1"
    assert (finding.file, finding.line) == (
        "patches/ray-worker/v1/base.yaml.j2",
        1 + base.read_text().splitlines().index(resources.rstrip()),
    )


def test_an_invalid_field_in_a_base_has_the_file_of_the_base(dev: Any, tmp_path: Path) -> None:
    copytree(ROOT / "patches", tmp_path / "patches")
    base = tmp_path / "patches/ray-worker/v1/base.yaml.j2"
    base.write_text(base.read_text().replace("\nspec:\n", "\nspec:\n  paused: never\n", 1))
    site = dev.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    site = site._replace(
        library=load_library(tmp_path)._replace(findings=()), state=dev.state._replace(objects=Confidential({}))
    )
    (finding,) = [one for one in site.plan().findings if one.code == "PAT008"]
    assert (finding.file, finding.field) == ("patches/ray-worker/v1/base.yaml.j2", "spec.paused")


def test_a_wrong_size_in_the_stack_file_is_reported_once(dev: Any) -> None:
    plan = dev.asking(ray_worker=dev.stack.config.ray_worker._replace(memory="12Gi")).plan()
    assert [finding.code for finding in plan.findings if finding.code == "RES001"] == ["RES001"]


def test_findings_about_the_idle_backend_are_notes(dev: Any) -> None:
    plan = with_params(dev, "celery-training", memory="1Gi").plan()
    assert "RES001" in by_code(plan, Severity.ADVICE)
    assert "RES001" not in by_code(plan)


def test_more_gpus_than_a_celery_job_can_use_are_a_warning(prod: Any) -> None:
    plan = with_params(prod, "celery-training", gpus=2, memory="64Gi").plan()
    finding = by_code(plan, Severity.WARNING)["CEL007"]
    assert finding.target == CELERY
    assert "celery.gpus" not in finding.detail  # not a key of the stack file


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_the_examples_have_no_errors_or_warnings(sites: Any, name: str) -> None:
    plan = sites[name].plan()
    assert not by_code(plan)
    assert not by_code(plan, Severity.WARNING)


@pytest.mark.parametrize("stated", ["4", "0", "many"])
def test_a_wrong_number_of_gpus_in_a_patch_is_an_error(dev: Any, tmp_path: Path, stated: str) -> None:
    variable = f"{{name: NUM_GPUS_REQUESTED, value: '{stated}'}}"
    spec = f"{{template: {{spec: {{containers: [{{name: ray-model-training-worker, env: [{variable}]}}]}}}}}}"
    finding = by_code(dev.patched(tmp_path, spec, target=RAY).plan())["RAY010"]
    assert f"is {stated!r}, but its pods have 1 GPU" in finding.summary
    assert (finding.file, finding.target) == ("patches/zz-mine/v1/patch.yaml.j2", RAY)
    assert finding.line


def test_a_wrong_number_of_gpus_in_the_cluster_is_an_error(dev: Any) -> None:
    ((key, worker),) = [item for item in dev.state.objects.reveal().items() if item[0].name == RAY]
    changed = deepcopy(worker)
    (container,) = changed["spec"]["template"]["spec"]["containers"]
    (variable,) = [one for one in container["env"] if one["name"] == "NUM_GPUS_REQUESTED"]
    assert variable["value"] == "1"
    variable["value"] = "4"
    plan = dev._replace(
        state=dev.state._replace(objects=Confidential({**dev.state.objects.reveal(), key: changed}))
    ).plan()
    assert by_code(plan)["RAY010"].detail.startswith(f"{RAY} has this value without a patch")
    assert "RAY010" not in by_code(dev.plan())
