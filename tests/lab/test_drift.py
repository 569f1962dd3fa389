"""``modelyard drift`` after real edits: the fields, managers and times; the next apply resets them."""

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from modelyard.engine.failure import failure
from modelyard.kube.state import annotations_of
from tests.lab.support.cli_process import cli_process
from tests.lab.support.environment import NAMESPACE, Environment, environment
from tests.lab.support.managed_mode import manage
from tests.lab.support.stuck_rollout import hold, release

SERVICE, HEAD = "deployment-model-service", "deployment-ray-head"
CPU = "spec.template.spec.containers[name=model-service].resources.limits.cpu"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("drift")) as env:
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        assert drift(env, 0)["drifted"] is False
        yield env


@pytest.fixture
def dev(shared: Environment) -> Iterator[Environment]:
    """The shared environment, as applied; after each test, an apply must reset all drift."""
    yield shared
    applied = shared.modelyard("apply", "dev", "--yes", check=False)
    assert applied.returncode == 0, applied.stdout + applied.stderr
    shared.settle()
    assert drift(shared, 0)["drifted"] is False


def drift(env: Environment, code: int, *words: str, variables: dict[str, str] | None = None) -> Any:
    done = env.modelyard("drift", *(words or (env.name,)), "--json", check=False, env=variables)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def targets(document: Any) -> Mapping[str, Any]:
    """The drifted objects, by name."""
    (stack,) = document["stacks"]
    return {target["name"]: target for target in stack["targets"] if target["state"] != "same"}


def only_field(document: Any, name: str = SERVICE) -> Any:
    found = targets(document)
    assert list(found) == [name]
    assert found[name]["state"] == "changed"
    (field,) = found[name]["fields"]
    return field


def just_now(owner: Mapping[str, str]) -> bool:
    when = datetime.fromisoformat(owner["time"])
    return timedelta(seconds=-2) < datetime.now(UTC) - when < timedelta(seconds=120)


def kubectl(env: Environment, *words: str, stdin: str | None = None) -> None:
    env.lab.kubectl(*words, "--namespace", NAMESPACE, stdin=stdin)


@pytest.mark.quick
def test_drift_shows_the_manager_and_time_of_an_edit(dev: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = dev.deployment(SERVICE)["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"]
    monkeypatch.setenv("KUBE_EDITOR", f'sed -i \'s/^            cpu: "{limit}"$/            cpu: "7"/\'')
    kubectl(dev, "edit", "deployment", SERVICE)
    document = drift(dev, 1)
    fields = {field["field"]: field for field in targets(document)[SERVICE]["fields"]}
    assert CPU in fields
    for field in fields.values():
        assert (field["applied"], field["live"]) == (limit, "7")
        (owner,) = field["owners"]
        assert (owner["manager"], owner["operation"]) == ("kubectl-edit", "Update")
        assert just_now(owner)


def test_verify_fails_after_a_manual_change(dev: Environment) -> None:
    (stack,) = json.loads(dev.modelyard("verify", "dev", "--timeout", "60s", "--bake", "1s", "--json").stdout)["stacks"]
    assert stack["verified"]
    assert sum(check["kind"] == "change" for check in stack["checks"]) == 5
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    done = dev.modelyard("verify", "dev", "--timeout", "0s", "--json", check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    (stack,) = json.loads(done.stdout)["stacks"]
    assert {check["subject"] for check in stack["checks"] if check["state"] == "failed"} == {SERVICE}


def test_drift_shows_the_subresource_of_a_scale(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    field = only_field(drift(dev, 1))
    assert (field["field"], field["applied"], field["live"]) == ("spec.replicas", 2, 5)
    (owner,) = field["owners"]
    # The API server sets no time for a write to a subresource whose fields are the object's.
    assert (owner["manager"], owner["operation"], owner["subresource"]) == ("kubectl", "Update", "scale")
    text = dev.modelyard("drift", "dev", check=False).stdout
    assert "dev: 1 of 5 objects has drifted\n" in text
    assert f"~ {SERVICE}\n  kubectl (Update of scale):\n    replicas  2 → 5\n" in text


def test_drift_shows_a_forced_apply_of_another_manager(dev: Environment) -> None:
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {"replicas": 4},
    }
    force = ("--server-side", "--force-conflicts", "--field-manager=helm")
    kubectl(dev, "apply", *force, "--filename=-", stdin=json.dumps(body))
    field = only_field(drift(dev, 1))
    assert field["live"] == 4
    assert [(owner["manager"], owner["operation"]) for owner in field["owners"]] == [("helm", "Apply")]
    assert just_now(field["owners"][0])


def test_fields_of_other_owners_are_not_drift(shared: Environment) -> None:
    patch = {"metadata": {"labels": {"team": "search"}}, "spec": {"progressDeadlineSeconds": 99}}
    kubectl(shared, "patch", "deployment", SERVICE, "--patch", json.dumps(patch))
    assert targets(drift(shared, 0)) == {}


def test_pulumi_refresh_does_not_hide_drift(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    dev.pulumi("refresh", "--yes", "--skip-preview", "--stack", "dev", env={"MODELYARD_PLAN": ""})
    assert only_field(drift(dev, 1))["applied"] == 2


def test_a_removed_field_is_drift_without_an_owner(dev: Environment) -> None:
    patch = [{"op": "remove", "path": "/spec/template/spec/containers/0/resources/limits/cpu"}]
    kubectl(dev, "patch", "deployment", SERVICE, "--type=json", "--patch", json.dumps(patch))
    field = only_field(drift(dev, 1))
    assert (field["field"], field["owners"], "live" in field) == (CPU, [], False)


def test_a_missing_container_is_drift_and_stops_an_apply(dev: Environment) -> None:
    def rename(name: str) -> None:
        patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/name", "value": name}]
        kubectl(dev, "patch", "deployment", SERVICE, "--type=json", "--patch", json.dumps(patch))

    rename("other")
    field = only_field(drift(dev, 1))
    assert (field["field"], "live" in field) == (CPU.partition(".resources")[0], False)
    done = dev.modelyard("apply", "dev", "--yes", check=False)
    assert done.returncode == 1
    assert "PAT014" in done.stdout
    # The rejected apply has refreshed the state; the applied values are still known.
    assert only_field(drift(dev, 1)) == field
    rename("model-service")


def test_a_missing_object_is_drift_until_it_is_reinstalled(dev: Environment) -> None:
    kubectl(dev, "delete", "deployment", HEAD, "--wait=true")
    found = targets(drift(dev, 1))
    assert {name: target["state"] for name, target in found.items()} == {HEAD: "gone"}
    text = dev.modelyard("drift", "dev", check=False).stdout
    assert f"→ install {HEAD} again first" in text
    assert dev.modelyard("apply", "dev", "--yes", check=False).returncode == 1
    dev.lab.install_platform("dev")
    assert targets(drift(dev, 1))[HEAD]["state"] == "changed"


def test_drift_changes_nothing(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    dev.settle()

    def snapshot() -> Any:
        state = sorted((dev.folder / ".pulumi").rglob("*.json"))
        versions = {
            body["metadata"]["name"]: body["metadata"]["resourceVersion"]
            for body in dev.found("apis/apps/v1/…/deployments")
        }
        return versions, {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in state}

    before = snapshot()
    drift(dev, 1)
    assert snapshot() == before


def test_drift_needs_only_the_right_to_read(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    viewer = {"KUBECONFIG": str(dev.lab.kubeconfig_of("viewer"))}
    assert only_field(drift(dev, 1, variables=viewer))["live"] == 5


def test_drift_reports_an_unreachable_cluster_and_a_missing_state(shared: Environment, tmp_path: Path) -> None:
    dead = tmp_path / "kubeconfig"
    dead.write_text(shared.lab.kubeconfig.read_text().replace(shared.lab.server, "https://127.0.0.1:1"))
    (stack,) = drift(shared, 3, variables={"KUBECONFIG": str(dead)})["stacks"]
    assert (stack["state"], stack["targets"]) == ("unknown", [])
    assert os.strerror(errno.ECONNREFUSED) in stack["reason"]
    expired = {"KUBECONFIG": str(shared.lab.kubeconfig_of("expired"))}
    refused = failure("dev", ["x509"], "")
    assert drift(shared, 3, variables=expired)["stacks"][0]["remedy"] == refused.remedy
    elsewhere = {"PULUMI_BACKEND_URL": tmp_path.as_uri()}
    (stack,) = drift(shared, 3, variables=elsewhere)["stacks"]
    assert stack["state"] == "nothing"
    assert "PULUMI_BACKEND_URL" in stack["remedy"]


def test_drift_all_reports_stacks_that_were_never_applied(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    states = {stack["stack"]: stack["state"] for stack in drift(dev, 1, "--all")["stacks"]}
    assert states == {"dev": "drifted", "prod": "nothing", "staging": "nothing"}


def test_drift_shows_a_killed_apply_until_the_next_apply(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        hold(env)
        with cli_process(env, "apply", "dev", "--yes") as run:
            run.until(f"patching Deployment {HEAD}")
            # Before that, the engine may not have recorded that the step began.
            env.lab.wait(
                "the patch", lambda: annotations_of(env.deployment(HEAD)).get("modelyard.dev/mode") == "existing"
            )
            run.process.kill()
            run.process.wait()
            env.lab.wait("the end of the engine", lambda: run.running() == {})
        found = targets(drift(env, 1))
        assert found[HEAD]["state"] == "unfinished"
        release(env)
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        assert targets(drift(env, 0)) == {}


def test_an_apply_recreates_missing_objects_of_a_managed_stack(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        manage(env)
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        assert targets(drift(env, 0)) == {}
        kubectl(env, "delete", "deployment", HEAD, "--wait=true")
        kubectl(env, "scale", "deployment", SERVICE, "--replicas=1")
        found = targets(drift(env, 1))
        assert {name: (one["state"], one["managed"]) for name, one in found.items()} == {
            HEAD: ("gone", True),
            SERVICE: ("changed", True),
        }
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        assert targets(drift(env, 0)) == {}
        env.modelyard("destroy", "dev", "--yes")
        (stack,) = drift(env, 0)["stacks"]
        assert stack["state"] == "nothing"
