"""``modelyard drift`` after real edits: what changed, by whom and when; and an apply that sets it back."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

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
    """The shared environment, as applied; an apply at the end must have set everything back."""
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
    """The objects that are not as applied, by name."""
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
def test_an_edit_is_told_with_who_and_when(dev: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_verification_passes_until_somebody_changes_something(dev: Environment) -> None:
    done = dev.modelyard("verify", "dev", "--timeout", "60s", "--bake", "1s", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("dev: verified (5 objects")
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    done = dev.modelyard("verify", "dev", "--timeout", "0s", "--json", check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    (stack,) = json.loads(done.stdout)["stacks"]
    assert {check["subject"] for check in stack["checks"] if check["state"] == "failed"} == {SERVICE}


def test_a_scale_is_told_with_its_subresource(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    field = only_field(drift(dev, 1))
    assert (field["field"], field["applied"], field["live"]) == ("spec.replicas", 2, 5)
    (owner,) = field["owners"]
    # The API server notes no time of a write to a subresource that hands its fields to the object.
    assert (owner["manager"], owner["operation"], owner["subresource"]) == ("kubectl", "Update", "scale")
    text = dev.modelyard("drift", "dev", check=False).stdout
    assert "dev: 1 of 5 objects has drifted\n" in text
    assert f"~ {SERVICE}\n  kubectl (Update of scale):\n    replicas  2 → 5\n" in text


def test_a_forced_apply_of_another_manager_is_told(dev: Environment) -> None:
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


def test_a_field_that_is_not_ours_is_none_of_our_business(shared: Environment) -> None:
    patch = {"metadata": {"labels": {"team": "search"}}, "spec": {"progressDeadlineSeconds": 99}}
    kubectl(shared, "patch", "deployment", SERVICE, "--patch", json.dumps(patch))
    assert targets(drift(shared, 0)) == {}


def test_a_refresh_of_the_engines_state_hides_nothing(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    dev.pulumi("refresh", "--yes", "--skip-preview", "--stack", "dev", env={"MODELYARD_PLAN": ""})
    assert only_field(drift(dev, 1))["applied"] == 2


def test_a_field_that_was_taken_out_is_nobodys(dev: Environment) -> None:
    patch = [{"op": "remove", "path": "/spec/template/spec/containers/0/resources/limits/cpu"}]
    kubectl(dev, "patch", "deployment", SERVICE, "--type=json", "--patch", json.dumps(patch))
    field = only_field(drift(dev, 1))
    assert (field["field"], field["owners"], "live" in field) == (CPU, [], False)


def test_a_container_that_is_gone_is_told_and_an_apply_asks_for_it(dev: Environment) -> None:
    def rename(name: str) -> None:
        patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/name", "value": name}]
        kubectl(dev, "patch", "deployment", SERVICE, "--type=json", "--patch", json.dumps(patch))

    rename("other")
    field = only_field(drift(dev, 1))
    assert (field["field"], "live" in field) == (CPU.partition(".resources")[0], False)
    done = dev.modelyard("apply", "dev", "--yes", check=False)
    assert done.returncode == 1
    assert "PAT014" in done.stdout
    # A refused run has refreshed the state; what was applied is still known.
    assert only_field(drift(dev, 1)) == field
    rename("model-service")


def test_an_object_that_is_gone_is_told_until_it_is_installed_again(dev: Environment) -> None:
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

    def world() -> Any:
        state = sorted((dev.folder / ".pulumi").rglob("*.json"))
        versions = {
            body["metadata"]["name"]: body["metadata"]["resourceVersion"]
            for body in dev.found("apis/apps/v1/…/deployments")
        }
        return versions, {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in state}

    before = world()
    drift(dev, 1)
    assert world() == before


def test_the_right_to_read_is_enough(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    viewer = {"KUBECONFIG": str(dev.lab.kubeconfig_of("viewer"))}
    assert only_field(drift(dev, 1, variables=viewer))["live"] == 5


def test_what_is_out_of_reach(shared: Environment, tmp_path: Path) -> None:
    dead = tmp_path / "kubeconfig"
    dead.write_text(shared.lab.kubeconfig.read_text().replace(shared.lab.server, "https://127.0.0.1:1"))
    (stack,) = drift(shared, 3, variables={"KUBECONFIG": str(dead)})["stacks"]
    assert (stack["state"], stack["targets"]) == ("unknown", [])
    assert "cannot be reached" in stack["reason"]
    expired = {"KUBECONFIG": str(shared.lab.kubeconfig_of("expired"))}
    assert drift(shared, 3, variables=expired)["stacks"][0]["remedy"] == "log in to the cluster again"
    elsewhere = {"PULUMI_BACKEND_URL": tmp_path.as_uri()}
    (stack,) = drift(shared, 3, variables=elsewhere)["stacks"]
    assert stack["state"] == "nothing"
    assert "PULUMI_BACKEND_URL" in stack["remedy"]


def test_among_all_stacks_those_that_were_never_applied_are_named(dev: Environment) -> None:
    kubectl(dev, "scale", "deployment", SERVICE, "--replicas=5")
    states = {stack["stack"]: stack["state"] for stack in drift(dev, 1, "--all")["stacks"]}
    assert states == {"dev": "drifted", "prod": "nothing", "staging": "nothing"}


def test_an_apply_that_was_killed_is_told_and_the_next_one_ends_it(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        hold(env)
        with cli_process(env, "apply", "dev", "--yes") as run:
            run.until(f"patching Deployment {HEAD}")
            # Until then the engine may not have noted that the step begins.
            env.lab.wait(
                "the patch", lambda: annotations_of(env.deployment(HEAD)).get("modelyard.dev/mode") == "existing"
            )
            run.process.kill()
            run.process.wait()
            env.lab.wait("the end of the engine", lambda: run.running() == {})
        found = targets(drift(env, 1))
        assert found[HEAD]["state"] == "unfinished"
        said = env.modelyard("drift", "dev", check=False).stdout
        assert f"~ {HEAD}\n  its last apply has not finished" in said
        assert "modelyard apply dev finishes it" in said
        release(env)
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        assert targets(drift(env, 0)) == {}


def test_what_the_stack_owns_is_made_anew_by_an_apply_and_after_destroy_nothing_is_applied(tmp_path: Path) -> None:
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
