"""Stacks whose training KEDA scales: what a plan shows of them, files of them, and bad input."""

from typing import Any

import pytest
import yaml

SERVER = "http://prometheus.monitoring.svc:9090"


@pytest.fixture
def keda(project: Any) -> Any:
    """The project whose stack dev is scaled by KEDA."""
    project.edit(("    mode: none\n", f"    mode: keda\n    prometheus: {SERVER}\n    maxReplicas: 2\n"))
    return project


def test_the_plan_has_an_object_for_each_side(keda: Any, run: Any) -> None:
    result = run("plan", "dev")
    assert result.code == 0, result.err
    for name in ("ray", "celery"):
        assert f"+ ScaledObject {name}-training  keda-{name}@v1\n" in result.out
    assert "KEDA may start up to 2 pods of deployment-ray-model-training-worker" in result.words
    assert "KEDA keeps deployment-model-training-tasks-gpu at 0 pods" in result.words


def test_they_are_files_of_a_kustomization(keda: Any, run: Any) -> None:
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    made = yaml.safe_load((keda.root / "out" / "dev" / "scaledobject-celery-training.yaml").read_text())
    assert made["metadata"]["annotations"]["autoscaling.keda.sh/paused-replicas"] == "0"
    assert made["spec"]["triggers"][0]["metadata"]["serverAddress"] == SERVER


def test_parameters_of_the_patch_go_into_the_trigger(keda: Any, run: Any) -> None:
    params = "{authentication: prometheus, authModes: bearer, threshold: '3', name: mine}"
    keda.add(f"modelyard:patches: [{{name: keda-ray, params: {params}}}]")
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    (trigger,) = yaml.safe_load((keda.root / "out/dev/scaledobject-mine.yaml").read_text())["spec"]["triggers"]
    assert trigger["authenticationRef"] == {"name": "prometheus"}
    assert (trigger["metadata"]["authModes"], trigger["metadata"]["threshold"]) == ("bearer", "3")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (f"    prometheus: {SERVER}\n", "", "autoscaling.prometheus is missing: mode keda needs a Prometheus server"),
        (SERVER, "prometheus:9090", "autoscaling.prometheus"),
        ("mode: keda", "mode: keda\n    cooldownPeriod: soon", "autoscaling.cooldownPeriod"),
        ("mode: keda", "mode: keda\n    poolingInterval: 5", "did you mean pollingInterval?"),
    ],
)
def test_bad_input_is_told_with_its_place(keda: Any, run: Any, before: str, after: str, said: str) -> None:
    keda.edit((before, after))
    result = run("plan", "dev")
    assert result.code == 2
    assert said in result.words
    assert "stacks/Pulumi.dev.yaml:" in result.words


def test_a_password_in_an_address_is_refused_and_not_printed(keda: Any, run: Any) -> None:
    keda.edit((SERVER, "http://ada:hunter2@prometheus:9090"))
    result = run("plan", "dev")
    assert result.code == 2
    assert "autoscaling.prometheus contains a user or a password" in result.words
    assert "TriggerAuthentication" in result.words
    assert "hunter2" not in result.out + result.err


def test_replicas_that_are_left_to_keda_are_not_said_to_be_set(keda: Any, run: Any) -> None:
    one = run("blame", "dev", "rayWorker", "spec.replicas").words
    assert "left alone by keda-ray@v1 patches/keda-ray/v1/patch.yaml.j2" in one
    assert "set by" not in one
    assert "replicas 1 no patch" in run("blame", "dev", "rayWorker", "spec").words


def test_what_keda_cannot_ask_stops_an_apply(keda: Any, run: Any) -> None:
    keda.edit(("mode: keda", "mode: keda\n    queries: vendor"))
    result = run("plan", "dev")
    assert (result.code, result.errors) == (1, ["AUT005"])
