"""The example program with components and without a stack file, on the real engine: applied, changed, restored."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lab import Lab
from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, ROOT, Environment, comparable, environment

EXAMPLE = ROOT / "examples" / "program"
SERVICE, HEAD, WORKER = "deployment-model-service", "deployment-ray-head", "deployment-ray-model-training-worker"
OTHERS = ("deployment-api-server", "deployment-model-training-tasks-gpu")
MODELS = 'ModelService("models",'


class Site:
    """The platform ``dev``, with the example as the project."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        shutil.rmtree(env.folder)
        shutil.copytree(EXAMPLE, env.folder, ignore=shutil.ignore_patterns("__pycache__"))
        (env.folder / ".venv").symlink_to(sys.prefix)
        env.init()
        self.installed = self.objects()

    def objects(self) -> Mapping[str, dict[str, Any]]:
        return {name: comparable(self.env.deployment(name)) for name in (SERVICE, HEAD, WORKER, *OTHERS)}

    def edit(self, before: str, after: str) -> None:
        """Replaces text that occurs once in the program."""
        program = self.env.folder / "__main__.py"
        text = program.read_text()
        assert text.count(before) == 1, (before, text)
        program.write_text(text.replace(before, after))

    def container(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.env.deployment(name)["spec"]["template"]["spec"]["containers"][0]
        return found

    def up_fails(self) -> str:
        """The output of an update that must fail, on one line."""
        done = self.env.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", check=False)
        assert done.returncode != 0
        return " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with environment("dev", tmp_path_factory.mktemp("program")) as env:
        yield Site(env)


@pytest.mark.quick
def test_pulumi_up_changes_only_what_the_arguments_set(site: Site) -> None:
    assert site.env.up().changed == [f"models/{SERVICE}", f"ray/{HEAD}", f"ray/{WORKER}"]
    site.env.settle()
    assert site.env.deployment(SERVICE)["spec"]["replicas"] == 2
    assert site.container(SERVICE)["resources"]["requests"]["memory"] == "16Gi"
    assert site.container(WORKER)["resources"]["requests"]["nvidia.com/gpu"] == "1"
    assert site.env.deployment(WORKER)["metadata"]["annotations"]["autoscaling/max_replicas"] == "2"
    now = site.objects()
    assert {name: now[name] for name in OTHERS} == {name: site.installed[name] for name in OTHERS}


def test_a_second_run_changes_nothing(site: Site) -> None:
    before = site.objects()
    run = site.env.up()
    assert run.changed == []
    assert "19 unchanged" in run.output
    assert site.objects() == before


def test_an_argument_changes_only_its_own_object(site: Site) -> None:
    site.edit("replicas=2", "replicas=3")
    assert site.env.up().changed == [f"models/{SERVICE}"]
    site.env.settle()
    assert site.env.deployment(SERVICE)["spec"]["replicas"] == 3


def test_errors_stop_the_run_before_any_change(site: Site) -> None:
    before = site.objects()
    site.edit('"memory": "32Gi"', '"memory": "1Gi"')
    said = site.up_fails()
    assert "RayCluster ray was not changed, because its plan has errors" in said
    assert "rayWorker.memory is 1Gi" in said
    assert "__main__.py:11" in said
    assert site.objects() == before
    site.edit('"memory": "1Gi"', '"memory": "32Gi"')


def test_a_renamed_component_needs_an_alias(site: Site) -> None:
    """Without an alias, Pulumi would apply the new name first and then restore the objects of the old one."""
    before = site.objects()
    site.edit(MODELS, 'ModelService("service",')
    said = site.up_fails()
    assert f"Deployment {SERVICE} belongs to ModelService models of this stack, which would restore it" in said
    site.edit('"service",', '"service", opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="models")]),')
    assert site.env.up().changed == []
    assert site.objects() == before
    assert site.env.up().changed == []


def test_removing_a_component_restores_its_objects(site: Site) -> None:
    program = site.env.folder / "__main__.py"
    text = program.read_text()
    program.write_text(text[: text.index("RayCluster(\n")])
    site.env.up()
    site.env.settle()
    now = site.objects()
    assert {name: now[name] for name in (HEAD, WORKER)} == {name: site.installed[name] for name in (HEAD, WORKER)}
    assert site.env.deployment(SERVICE)["spec"]["replicas"] == 3
    program.write_text(text)
    assert sorted(site.env.up().changed) == [f"ray/{HEAD}", f"ray/{WORKER}"]


def test_an_argument_adds_and_removes_keda_objects(site: Site) -> None:
    site.env.lab.install_crds()
    key = ObjectKey("keda.sh/v1alpha1", "ScaledObject", NAMESPACE, "ray-training")
    annotated = '{"mode": "annotations", "max_replicas": 2}'
    scaled = '{"mode": "keda", "max_replicas": 3, "prometheus": "http://prometheus:9090", "cooldown_period": "7h"}'
    site.edit(annotated, scaled)
    assert "ray/ray-training" in site.env.up().changed
    found = site.env.get(key)
    assert found is not None
    assert found["spec"]["maxReplicaCount"] == 3
    site.edit(scaled, annotated)
    site.env.up()
    assert site.env.get(key) is None
    assert site.env.deployment(WORKER)["metadata"]["annotations"]["autoscaling/max_replicas"] == "2"


def test_destroy_restores_every_object(site: Site) -> None:
    site.env.pulumi("destroy", "--yes", "--skip-preview", "--stack", "dev")
    site.env.settle()
    assert site.objects() == site.installed


def test_a_platform_and_a_remote_cluster_are_planned_separately(
    site: Site, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Neither deletes the objects of the other from the engine's state."""
    with Lab.start(tmp_path_factory.mktemp("farm"), context="farm") as farm:
        farm.install_crds()
        site.env.env["KUBECONFIG"] += f":{farm.kubeconfig}"
        program = site.env.folder / "__main__.py"
        program.write_text(f'''
from modelyard.components import Platform, RemoteCluster

Platform("platform", training="ray", model_service={{"replicas": 3}}, namespace="{NAMESPACE}")
quota = {{"cpu": 64, "memory": "256Gi", "gpus": 8}}
RemoteCluster("far", controller="{farm.server}", context="farm", namespace="far-jobs", quota=quota)
''')
        there = {"far/far", "far/far-jobs", "far/remote-far", "far/remote-far-nodes", "far/remote-job"}
        assert set(site.env.up().changed) == {SERVICE, "deployment-api-server", *there}
        assert farm.request("GET", "/api/v1/namespaces/far-jobs").status == 200
        assert site.env.deployment(SERVICE)["spec"]["replicas"] == 3
        assert site.env.up().changed == []
        program.write_text(program.read_text().partition("quota = ")[0])
        assert site.env.up().changed != []
        assert farm.request("GET", "/api/v1/namespaces/far-jobs").status == 404
        assert site.env.up().changed == []
        site.env.pulumi("destroy", "--yes", "--skip-preview", "--stack", "dev")
        assert site.objects() == site.installed
