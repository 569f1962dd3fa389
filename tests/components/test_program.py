"""Components in a program without a stack file: from their arguments to what the engine is asked for."""

import asyncio
import json
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi.runtime.settings import SETTINGS

import modelyard
from modelyard.catalog import load_library
from modelyard.components import (
    Autoscaling,
    CeleryTraining,
    ModelService,
    OtherTargets,
    Platform,
    RayCluster,
    RemoteCluster,
    TrainingSwitch,
    arguments,
    planning,
)
from modelyard.findings import Finding, Severity
from modelyard.hardware.nodes import with_nodes
from modelyard.hiding import Confidential
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.plan.build import make_plan
from modelyard.plan.project import Planned, chosen_patches
from modelyard.plan.remotes import RemoteStart
from modelyard.probes.values import NO_DRAIN
from modelyard.stack import Stack, schema_text
from modelyard.stack.shape import spelled
from modelyard.workloads.facts.remote import remote_clusters
from tests.support.component_engine import (
    CELERY,
    HEAD,
    RAY,
    ROOT,
    ROUTE,
    SERVICE,
    Accepting,
    Engine,
    by_name,
    existing,
    objects,
    site,
)

NAMESPACE = "ml-platform"
# As stacks/Pulumi.dev.yaml has it.
SERVED = {
    "replicas": 2,
    "cpu": 4,
    "memory": "16Gi",
    "volume": "50Gi",
    "image": "images.example.com/ml-platform/model-service:23.10.4",
}
HEADED = {"cpu": 2, "memory": "16Gi", "image": "images.example.com/ml-platform/ray-head:23.10.4"}
WORKING = {
    "replicas": 1,
    "cpu": 8,
    "memory": "32Gi",
    "image": "images.example.com/ml-platform/ray-model-training-worker:23.10.4",
}
TASKS = {
    "replicas": 1,
    "cpu": 8,
    "memory": "32Gi",
    "consumer_timeout": "6h30m",
    "image": "images.example.com/ml-platform/model-training-tasks-gpu:23.10.4",
}
Run = Callable[[Callable[[], Any]], Engine]


def recorded(root: Path, stack: Stack, findings: tuple[Finding, ...], today: date, *, waits: bool = True) -> Planned:
    """The plan of a stack against the recorded platform ``dev``, to which nothing was applied."""
    _, state = site("dev")
    return planned(stack, state._replace(state_objects={}), findings, today)


def planned(stack: Stack, state: ClusterState, findings: tuple[Finding, ...], today: date) -> Planned:
    assert stack.scope is not None
    known = with_nodes(stack, state.nodes)
    starts = [
        RemoteStart(one, ClusterState("live", f"{one.name}-id", "v1.35.4", Confidential({}), (), (), state_objects={}))
        for one in remote_clusters(stack.config)
    ]
    plan = make_plan(known, load_library(stack.scope.patches), state, today=today, remotes=starts)
    states = {start.remote.name: start.state for start in starts}
    return Planned(known, plan._replace(findings=(*findings, *plan.findings)), (), state, remotes=states)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a program of the project ``it``, whose stack names the context ``dev``."""
    (tmp_path / "Pulumi.yaml").write_text("name: it\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "plan_stack_live", recorded)
    loops = []

    def go(program: Callable[[], Any]) -> Engine:
        engine = Engine()
        loops.append(asyncio.new_event_loop())
        asyncio.set_event_loop(loops[-1])
        pulumi.runtime.set_mocks(Accepting(), project="it", stack="dev", monitor=engine)
        pulumi.runtime.set_all_config({"kubernetes:context": "dev"})
        SETTINGS.callbacks = engine
        pulumi.runtime.test(program)()
        return engine

    yield go
    pulumi.runtime.set_all_config({})
    for loop in loops:
        loop.close()


def requests(engine: Engine) -> dict[str, Any]:
    return {one.name: one.inputs for one in objects(engine)}


def of_stack(*names: str, **changes: Any) -> dict[str, Any]:
    """The requests of the stack file's own plan."""
    return {
        target.name: target.applied.reveal() for target in existing("dev", **changes).targets if target.name in names
    }


def alike(found: dict[str, Any], component: str, wanted: dict[str, Any]) -> bool:
    """Whether a component asks for the same fields as the stack does."""
    plain = {name.removeprefix(f"{component}/"): _anonymous(body) for name, body in found.items()}
    return plain == {name: _anonymous(body) for name, body in wanted.items()}


def _anonymous(body: dict[str, Any]) -> Any:
    """A request without the name of its stack's project."""
    return json.loads(json.dumps(body).replace("it/dev", "dev"))


def test_a_model_service_is_that_of_a_stack_file(run: Run) -> None:
    engine = run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED))
    assert alike(requests(engine), "m", of_stack(SERVICE))
    (one,) = objects(engine)
    assert one.parent == "modelyard:index:ModelService::m"
    assert one.before == (f"approved:Deployment/m/{SERVICE}",)
    assert one.behind == (f"rolled out:Deployment/m/{SERVICE}",)
    assert {each.name for each in engine.registered if "/" in each.name} == {
        "m/cluster",
        f"m/{SERVICE}",
        f"m/deployment/{SERVICE}",
    }


def test_a_ray_cluster_leaves_celery_alone(run: Run) -> None:
    engine = run(lambda: RayCluster("ray", gpu="A10", head=HEADED, worker=WORKING, namespace=NAMESPACE))
    assert alike(requests(engine), "ray", of_stack(HEAD, RAY))
    found = by_name(engine)
    assert f"drain ray/{HEAD}" in found[f"ray/{HEAD}"].before
    assert f"ray/deployment/{HEAD}" in found[f"ray/{RAY}"].depends_on


def test_celery_training_leaves_ray_alone(run: Run) -> None:
    engine = run(lambda: CeleryTraining("tasks", gpu={"model": "A10"}, namespace=NAMESPACE, **TASKS))
    assert alike(requests(engine), "tasks", of_stack(CELERY, training="celery"))


@pytest.mark.parametrize("training", ["ray", "celery"])
def test_a_backend_change_is_only_the_route(run: Run, training: Any) -> None:
    engine = run(lambda: TrainingSwitch("switch", training=training, namespace=NAMESPACE))
    assert alike(requests(engine), "switch", of_stack(ROUTE, training=training))


def test_autoscaling_by_annotations_sets_no_size(run: Run) -> None:
    engine = run(lambda: Autoscaling("sleep", max_replicas=3, namespace=NAMESPACE))
    (body,) = requests(engine).values()
    annotations = body["metadata"]["annotations"]
    assert annotations["autoscaling/max_replicas"] == "3"
    assert "containers" not in json.dumps(body.get("spec", {}))
    assert engine.outputs["sleep"]["maxReplicas"] == {RAY: "3"}


def test_autoscaling_by_keda_has_its_objects(run: Run) -> None:
    engine = run(
        lambda: Autoscaling(
            "sleep",
            training="celery",
            mode="keda",
            max_replicas=3,
            prometheus="http://prometheus:9090",
            cooldown_period="7h",
            namespace=NAMESPACE,
        )
    )
    found = requests(engine)
    assert sorted(found) == ["sleep/celery-training", f"sleep/{CELERY}"]
    spec = found["sleep/celery-training"]["spec"]
    assert (spec["maxReplicaCount"], spec["cooldownPeriod"]) == (3, 25200)
    assert spec["scaleTargetRef"]["name"] == CELERY
    assert engine.outputs["sleep"]["maxReplicas"] == {CELERY: "3"}


def test_a_backend_may_scale_itself(run: Run) -> None:
    scaled = {"mode": "annotations", "max_replicas": 2}
    engine = run(
        lambda: RayCluster("ray", gpu="A10", head=HEADED, worker=WORKING, autoscaling=scaled, namespace=NAMESPACE)
    )
    body = requests(engine)[f"ray/{RAY}"]
    assert body["metadata"]["annotations"]["autoscaling/max_replicas"] == "2"
    assert "replicas" not in body["spec"]


def test_a_platform_takes_the_sections_of_a_stack_file(run: Run) -> None:
    engine = run(
        lambda: Platform(
            "platform",
            training="ray",
            gpu="A10",
            model_service=SERVED,
            ray_head=HEADED,
            ray_worker=WORKING,
            celery=TASKS,
            namespace=NAMESPACE,
        )
    )
    assert alike(requests(engine), "", of_stack(ROUTE, SERVICE, HEAD, RAY, CELERY))
    parents = {one.name: one.parent for one in objects(engine)}
    assert parents[SERVICE] == "modelyard:index:ModelService::model-service"
    assert engine.outputs["platform"]["training"] == "ray"


def test_a_platform_changes_only_what_its_arguments_set(run: Run) -> None:
    engine = run(lambda: Platform("platform", model_service=SERVED, namespace=NAMESPACE))
    assert list(requests(engine)) == [SERVICE]


def test_the_objects_of_keda_are_autoscalings(run: Run) -> None:
    scaled = {"mode": "keda", "prometheus": "http://prometheus:9090", "cooldown_period": "7h"}
    engine = run(lambda: Platform("platform", gpu="A10", ray_worker=WORKING, autoscaling=scaled, namespace=NAMESPACE))
    parents = {one.name: one.parent for one in objects(engine)}
    assert parents["ray-training"] == "modelyard:index:Autoscaling::autoscaling"
    assert parents[RAY] == "modelyard:index:RayCluster::ray-cluster"
    assert engine.outputs["autoscaling"]["patches"] == {"ScaledObject/ray-training": ["keda-ray@v1"]}


def test_two_components_of_one_kind_do_not_conflict(run: Run) -> None:
    def program() -> None:
        ModelService("a", namespace=NAMESPACE, **SERVED)
        own = {"platform": {"mode": "managed"}, "deployment": "second", "container": "main"}
        ModelService("b", namespace=NAMESPACE, **{**SERVED, **own})

    assert {one.name for one in objects(run(program)) if one.type.endswith("Patch")} == {f"a/{SERVICE}"}
    assert "b/second" in by_name(run(program))


def test_a_component_waits_for_what_it_depends_on(run: Run) -> None:
    def program() -> None:
        first = ModelService("m", namespace=NAMESPACE, **SERVED)
        opts = pulumi.ResourceOptions(depends_on=[first])
        TrainingSwitch("switch", namespace=NAMESPACE, opts=opts)

    engine = run(program)
    (cluster,) = (one for one in engine.registered if one.name == "switch/cluster")
    assert f"m/{SERVICE}" in cluster.depends_on
    assert "switch/cluster" in by_name(engine)[f"switch/{ROUTE}"].depends_on


def test_two_components_cannot_change_one_object(run: Run) -> None:
    def program() -> None:
        RayCluster("ray", gpu="A10", head=HEADED, worker=WORKING, namespace=NAMESPACE)
        Autoscaling("sleep", namespace=NAMESPACE)

    with pytest.raises(pulumi.RunError, match=f"Autoscaling sleep changes Deployment {RAY}, which RayCluster ray"):
        run(program)


def test_objects_of_another_component_are_not_taken_over(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a component got another name: both names would have the objects, and the old one gives them back."""

    def applied(root: Path, stack: Stack, findings: tuple[Finding, ...], today: date, *, waits: bool) -> Planned:
        first = recorded(root, stack, findings, today)
        assert first.plan is not None
        assert first.state is not None
        changed = {target.key: target.after.reveal() for target in first.plan.targets}
        after = {**first.state.objects.reveal(), **changed}
        return planned(stack, first.state._replace(objects=Confidential(after)), findings, today)

    owners = {ObjectKey("apps/v1", "Deployment", NAMESPACE, SERVICE): "ModelService::models"}
    monkeypatch.setattr(planning, "plan_stack_live", applied)
    monkeypatch.setattr(planning, "component_of_each", lambda *_: owners)
    with pytest.raises(pulumi.RunError, match=r'belongs to ModelService models .*pulumi\.Alias\(name="models"\)'):
        run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED))
    owners[ObjectKey("apps/v1", "Deployment", NAMESPACE, SERVICE)] = ""
    with pytest.raises(pulumi.RunError, match="belongs to a Platform of this stack"):
        run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED))
    # A state that was lost is found again by an apply, as for a stack file.
    owners.clear()
    assert list(requests(run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED)))) == [f"m/{SERVICE}"]


def test_all_errors_are_reported_at_once_with_the_line_of_the_call(run: Run) -> None:
    with pytest.raises(pulumi.RunError) as error:
        run(lambda: RayCluster("ray", gpu="A10", head={"cpu": "many"}, worker={"memori": "4Gi"}, namespace=NAMESPACE))
    text = str(error.value)
    assert text.startswith("RayCluster ray cannot")
    assert 'rayHead.cpu is "many"' in text
    assert "rayWorker.memori" in text
    assert re.search(r"test_program\.py:\d+", text)


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        (RayCluster, {"workers": {"replicas": 3}}, r"^RayCluster x at .*test_program\.py:\d+ has no argument workers$"),
        (OtherTargets, {"namspace": "a"}, r"has no argument namspace; did you mean namespace\?$"),
        (Platform, {"opts": pulumi.ResourceOptions()}, "has no argument opts$"),
    ],
)
def test_unknown_arguments_are_refused(run: Run, kind: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(pulumi.RunError, match=words):
        run(lambda: kind("x", **given))


def test_the_rules_for_hardware_are_those_of_a_stack_file(run: Run) -> None:
    small = {"cpu": 1, "memory": "1Gi"}
    with pytest.raises(pulumi.RunError) as error:
        run(lambda: RayCluster("ray", gpu="A10", head=small, worker={**WORKING, "cpu": 1}, namespace=NAMESPACE))
    text = str(error.value)
    assert text.startswith("RayCluster ray was")
    for field in ("rayHead.cpu", "rayHead.memory", "rayWorker.cpu"):
        assert field in text
    assert "celery" not in text


def test_warnings_are_logged_with_their_remedies(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def warned(root: Path, stack: Stack, findings: tuple[Finding, ...], today: date, *, waits: bool) -> Planned:
        slow = Finding("GPU008", Severity.WARNING, "it is slow", remedy="take another")
        quiet = slow._replace(severity=Severity.ADVICE)
        return recorded(root, stack, (*findings, slow, slow._replace(waived="is fine"), quiet), today)

    lines: list[str] = []
    monkeypatch.setattr(planning, "plan_stack_live", warned)
    monkeypatch.setattr("pulumi.log.warn", lines.append)
    run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED))
    assert lines == ["GPU008 it is slow\n→ take another"]


def test_absent_sections_have_no_findings(run: Run) -> None:
    """Neither the GPU that a stack file needs, nor the sizes of training that its defaults would have."""
    run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED))
    with pytest.raises(pulumi.RunError) as error:
        run(lambda: ModelService("m", namespace=NAMESPACE, **{**SERVED, "memory": "1Gi"}))
    assert re.findall(r"[A-Z]{3}\d{3}", str(error.value)) == ["RES003"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RayCluster("ray", worker=WORKING, namespace=NAMESPACE),
        lambda: Platform("platform", ray_worker=WORKING, namespace=NAMESPACE),
        lambda: Platform("platform", celery=TASKS, namespace=NAMESPACE),
    ],
    ids=["RayCluster", "ray_worker", "celery"],
)
def test_training_pods_need_a_gpu(run: Run, make: Callable[[], Any]) -> None:
    with pytest.raises(pulumi.RunError, match=r"cannot be planned[\s\S]*gpu.model is empty"):
        run(make)


def test_an_unknown_gpu_is_reported(run: Run) -> None:
    with pytest.raises(pulumi.RunError, match="unknown GPU 'A11'"):
        run(lambda: CeleryTraining("tasks", gpu="A11", namespace=NAMESPACE, **TASKS))


def test_an_output_is_refused_as_an_argument(run: Run) -> None:
    def program() -> None:
        size: Any = pulumi.Output.from_input("16Gi")
        ModelService("m", namespace=NAMESPACE, memory=size)

    with pytest.raises(pulumi.RunError, match=r"ModelService m at .*test_program\.py:\d+: an argument is an output"):
        run(program)


def test_a_provider_is_refused(run: Run) -> None:
    def program() -> None:
        other = pulumi.ProviderResource("kubernetes", "other", {})
        ModelService("m", namespace=NAMESPACE, opts=pulumi.ResourceOptions(providers=[other]))

    with pytest.raises(pulumi.RunError, match="pass context instead"):
        run(program)


def test_the_planned_cluster_is_the_changed_one(run: Run) -> None:
    engine = run(lambda: ModelService("m", namespace=NAMESPACE, context="far", **SERVED))
    (provider,) = (one for one in engine.registered if one.type == "pulumi:providers:kubernetes")
    assert (provider.name, provider.inputs["context"]) == ("model-service-m", "far")


def test_own_patches_need_no_workload(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "patches" / "route-label" / "v1"
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text("description: A label on the API server.\n")
    (folder / "patch.yaml.j2").write_text(
        f"# target: {ROUTE}\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  labels:\n    team: {{{{ team }}}}\n"
    )
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
    }
    schema["properties"] = {"team": {"type": "string"}}
    (folder / "schema.json").write_text(json.dumps(schema))
    listed = [{"name": "route-label", "params": {"team": "search"}}]
    engine = run(lambda: OtherTargets("own", patches=listed, namespace=NAMESPACE))
    assert requests(engine)[f"own/{ROUTE}"]["metadata"]["labels"]["team"] == "search"


@pytest.mark.parametrize(("off", "waits"), [("", True), ("true", False)])
def test_a_variable_makes_the_plan_of_an_apply_that_does_not_wait(
    off: str, waits: bool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noting(root: Path, stack: Stack, findings: tuple[Finding, ...], today: date, *, waits: bool) -> Planned:
        seen.append(waits)
        return recorded(root, stack, findings, today)

    monkeypatch.setattr(planning, "plan_stack_live", noting)
    monkeypatch.setenv(NO_DRAIN, off)
    run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED))
    assert seen == [waits]


def test_an_installed_package_brings_its_patches(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "modelyard"
    shutil.copytree(ROOT / "patches", package / "patches")
    monkeypatch.setattr(modelyard, "__file__", str(package / "__init__.py"))
    seen = []

    def noting(root: Path, stack: Stack, findings: tuple[Finding, ...], today: date, *, waits: bool) -> Planned:
        assert stack.scope is not None
        seen.append([one.patch.file for one in chosen_patches(root, stack)])
        return recorded(root, stack, findings, today)

    monkeypatch.setattr(planning, "plan_stack_live", noting)
    run(lambda: ModelService("m", namespace=NAMESPACE, **SERVED))
    assert seen == [["modelyard/patches/model-service/v1"]]
    (tmp_path / "empty" / "patches").mkdir(parents=True)
    (tmp_path / "empty" / "patches" / "patches.lock").write_text("# none\n")
    with pytest.raises(pulumi.RunError, match="unknown patch"):
        run(lambda: OtherTargets("own", project="empty", patches=[{"name": "model-service"}], namespace=NAMESPACE))


def test_a_remote_cluster_has_objects_only_in_that_cluster(run: Run) -> None:
    quota = {"cpu": 8, "memory": "32Gi", "gpus": 1}
    engine = run(lambda: RemoteCluster("farm", controller="10.8.0.5", context="farm", namespace="jobs", quota=quota))
    assert {one.type.rpartition(":")[2] for one in objects(engine)} == {
        *("Namespace", "ServiceAccount", "ResourceFlavor", "ClusterQueue", "LocalQueue")
    }
    assert {one.parent for one in objects(engine)} == {"modelyard:index:RemoteCluster::farm"}
    (provider,) = (one for one in engine.registered if one.type == "pulumi:providers:kubernetes")
    assert provider.inputs["context"] == "farm"
    assert engine.outputs["farm"] == {"cluster": "farm-id", "namespace": "jobs"}


def test_a_remote_cluster_needs_its_address(run: Run) -> None:
    with pytest.raises(pulumi.RunError, match=r"RemoteCluster farm cannot be planned[\s\S]*controller is missing"):
        run(lambda: RemoteCluster("farm", context="farm"))


SECTIONS = {
    "modelService": (arguments.ModelServiceSection, "modelService"),
    "rayHead": (arguments.RayHeadSection, "rayHead"),
    "rayWorker": (arguments.RayWorkerSection, "rayWorker"),
    "celery": (arguments.CelerySection, "celery"),
    "celeryVariables": (arguments.CeleryVariablesSection, ""),
    "gpu": (arguments.GpuSection, ""),
    "autoscaling": (arguments.AutoscalingSection, ""),
    "drain": (arguments.DrainSection, ""),
    "drainRay": (arguments.RayJobsSection, ""),
    "drainCelery": (arguments.CeleryJobsSection, ""),
    "platform": (arguments.PlatformSection, ""),
    "target": (arguments.RayTargetSection, ""),
    "patch": (arguments.PatchEntry, ""),
    "waiver": (arguments.WaiverEntry, ""),
    "remoteQuota": (arguments.RemoteQuotaSection, ""),
}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_arguments_are_the_keys_of_the_stack_file(section: str) -> None:
    kind, target = SECTIONS[section]
    keys = set(json.loads(schema_text())["$defs"][section]["properties"])
    # A GPU of the model service and of the head is rejected by the rules: there is no such argument.
    keys -= {"gpu"}
    names = {spelled(name) for name in kind.__annotations__}
    own = {"deployment", "statefulSet", "rayCluster", "rayService", "group", "container"} if target else set()
    assert names - own == keys


def test_the_guide_shows_the_example() -> None:
    program = (ROOT / "examples" / "program" / "__main__.py").read_text()
    assert f"```python\n{program}```" in (ROOT / "docs" / "guides" / "components.md").read_text()
    assert len(program.splitlines()) < 30
