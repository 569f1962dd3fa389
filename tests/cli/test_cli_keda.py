"""Stacks whose training KEDA scales: plans, files, and wrong input.

``tests/golden/test_cli_keda.txt`` has what plan and blame print.
"""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.support.setting_errors import setting_errors

SERVER = "http://prometheus.monitoring.svc:9090"


@pytest.fixture
def keda(project: Any) -> Any:
    """The project whose stack dev is scaled by KEDA."""
    project.edit(("    mode: none\n", f"    mode: keda\n    prometheus: {SERVER}\n    maxReplicas: 2\n"))
    return project


def test_plan_and_blame(keda: Any, run: Any, golden: Callable[..., None]) -> None:
    golden(
        run("plan", "dev", "--target", "ray-training", "--target", "celery-training", "--notes"),
        run("blame", "dev", "rayWorker", "spec.replicas"),
    )
    assert "replicas 1 no patch" in run("blame", "dev", "rayWorker", "spec").words


def test_scaled_objects_are_rendered(keda: Any, run: Any) -> None:
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    made = yaml.safe_load((keda.root / "out" / "dev" / "scaledobject-celery-training.yaml").read_text())
    assert made["metadata"]["annotations"]["autoscaling.keda.sh/paused-replicas"] == "0"
    assert made["spec"]["triggers"][0]["metadata"]["serverAddress"] == SERVER


def test_the_trigger_has_parameters_of_the_patch(keda: Any, run: Any) -> None:
    params = "{authentication: prometheus, authModes: bearer, threshold: '3', name: mine}"
    keda.add(f"modelyard:patches: [{{name: keda-ray, params: {params}}}]")
    assert run("render", "dev", "--format", "kustomize", "--out", "out").code == 0
    (trigger,) = yaml.safe_load((keda.root / "out/dev/scaledobject-mine.yaml").read_text())["spec"]["triggers"]
    assert trigger["authenticationRef"] == {"name": "prometheus"}
    assert (trigger["metadata"]["authModes"], trigger["metadata"]["threshold"]) == ("bearer", "3")


@pytest.mark.parametrize(
    ("before", "after", "code", "field"),
    [
        (f"    prometheus: {SERVER}\n", "", "CFG009", "prometheus"),
        (SERVER, "prometheus:9090", "CFG018", "prometheus"),
        ("mode: keda", "mode: keda\n    cooldownPeriod: soon", "CFG014", "cooldownPeriod"),
        ("mode: keda", "mode: keda\n    poolingInterval: 5", "CFG008", "poolingInterval"),
    ],
)
def test_wrong_settings(keda: Any, run: Any, before: str, after: str, code: str, field: str) -> None:
    keda.edit((before, after))
    assert setting_errors(run) == [(code, f"autoscaling.{field}")]


def test_queries_that_keda_cannot_run_are_an_error(keda: Any, run: Any) -> None:
    keda.edit(("mode: keda", "mode: keda\n    queries: vendor"))
    assert setting_errors(run, code=1) == [("AUT005", "autoscaling.queries")]


def test_a_password_in_an_address_is_refused_and_not_printed(keda: Any, run: Any) -> None:
    keda.edit((SERVER, "http://ada:hunter2@prometheus:9090"))
    assert setting_errors(run) == [("CFG018", "autoscaling.prometheus")]
    result = run("plan", "dev")
    assert result.code == 2
    assert "TriggerAuthentication" in result.words
    assert "hunter2" not in result.text
