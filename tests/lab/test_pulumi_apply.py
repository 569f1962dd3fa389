"""``modelyard apply`` and ``destroy`` on the real engine: an approved plan is applied unchanged or not at all."""

import json
import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from modelyard.engine.automation import apply
from modelyard.engine.failure import StaleError, failure, other_cluster
from modelyard.kube.rollouts import rolled_out
from modelyard.names import FIELD_MANAGER
from modelyard.plan.store import seal
from tests.lab.support.cli_process import cli_process
from tests.lab.support.environment import NAMESPACE, Environment, PlatformLab, comparable, environment, identity

HEAD = "deployment-ray-head"
SERVICE = "deployment-model-service"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("apply")) as env:
        yield env


def touch(env: Environment, name: str, seconds: int) -> None:
    """Changes a field of a Deployment that no patch sets."""
    patch = json.dumps({"spec": {"progressDeadlineSeconds": seconds}})
    env.lab.kubectl("patch", "deployment", name, "--namespace", NAMESPACE, "--patch", patch)


def versions(env: Environment) -> dict[str, str]:
    return {target.name: env.deployment(target.name)["metadata"]["resourceVersion"] for target in env.plan().targets}


@pytest.mark.quick
def test_an_approved_plan_is_applied_unchanged(dev: Environment) -> None:
    plan = dev.plan()
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    # Creating the stack writes the engine's salt into the stack file; this does not make a plan stale.
    dev.init()
    done = dev.modelyard("apply", "--plan", "plan.json", "--json")
    document = json.loads(done.stdout)
    assert {name: document[name] for name in ("formatVersion", "stack", "result", "changes")} == {
        "formatVersion": 1,
        "stack": "dev",
        "result": "succeeded",
        "changes": {"create": 5},
    }
    assert document["outputs"]["headline"] == plan.headline
    lines = [line.split(maxsplit=2)[2] for line in done.stderr.splitlines()]
    for target in plan.targets:
        what = f"patching {target.key.kind} {target.name}"
        assert lines.index(what) < lines.index(f"done {what}")
    dev.settle()
    for target in plan.targets:
        live = dev.get(target.key)
        assert live is not None
        assert comparable(live) == comparable(target.after.reveal())


def test_the_state_is_in_the_project(dev: Environment) -> None:
    assert (dev.folder / ".pulumi" / "stacks" / "modelyard" / "dev.json").is_file()
    assert (dev.folder / ".pulumi" / "stacks" / "modelyard" / "dev.json").stat().st_size


def test_pulumi_up_and_apply_share_one_state(dev: Environment) -> None:
    assert dev.up().changed == []
    assert json.loads(dev.modelyard("apply", "dev", "--yes", "--json").stdout)["changes"] == {"same": 5}


@pytest.mark.quick
def test_a_plan_is_stale_when_an_object_changed(dev: Environment) -> None:
    dev.edit("replicas: 2", "replicas: 3")
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    touch(dev, HEAD, 700)
    before = versions(dev)
    done = dev.modelyard("apply", "--plan", "plan.json", check=False)
    assert done.returncode == 4
    assert f"{HEAD} has changed since" in " ".join(done.stderr.split())
    assert "spec.progressDeadlineSeconds 600 → 700" in " ".join(done.stderr.split())
    assert SERVICE not in done.stderr
    assert versions(dev) == before


def test_a_plan_is_stale_when_a_patch_changed(dev: Environment) -> None:
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    template = dev.folder / "patches" / "model-service" / "v1" / "patch.yaml.j2"
    text = template.read_text()
    template.write_text(text + "# moved\n")
    lock = dev.folder / "patches" / "patches.lock"
    locked = lock.read_text()
    lock.write_text("\n".join(line for line in locked.splitlines() if "model-service" not in line) + "\n")
    done = dev.modelyard("apply", "--plan", "plan.json", check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "input model-service@v1 changed" in " ".join(done.stderr.split())
    template.write_text(text)
    lock.write_text(locked)


def test_a_plan_is_stale_for_another_version_of_modelyard(dev: Environment) -> None:
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    path = dev.folder / "plan.json"
    document = json.loads(path.read_text())
    document["inputs"]["modelyard"] = "0.0.1"
    path.write_text(json.dumps({**document, "sha256": seal(document)}))
    done = dev.modelyard("apply", "--plan", "plan.json", check=False)
    assert done.returncode == 4
    assert "input modelyard changed" in " ".join(done.stderr.split())


def test_a_plan_is_not_stale_when_unrelated_fields_changed(dev: Environment) -> None:
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    for verb, note in (("annotate", "note=moved"), ("label", "team=search")):
        dev.lab.kubectl(verb, "deployment", HEAD, "--namespace", NAMESPACE, "--overwrite", note)
    assert dev.modelyard("apply", "--plan", "plan.json").returncode == 0
    dev.settle()
    assert dev.deployment(SERVICE)["spec"]["replicas"] == 3


def test_a_plan_file_contains_no_secrets(dev: Environment) -> None:
    variables = [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "BROKER", "value": "amqp://ml:hunter2@rabbit"}]
    body = {"spec": {"template": {"spec": {"containers": [{"name": "ray-head", "env": variables}]}}}}
    words = ("--namespace", NAMESPACE, "--patch", json.dumps(body))
    dev.lab.kubectl("patch", "deployment", HEAD, *words)
    dev.settle()
    done = dev.modelyard("plan", "dev", "--live", "--out", "plan.json", "--json")
    for text in (done.stdout, (dev.folder / "plan.json").read_text()):
        assert "DB_PASSWORD" in text
        assert "hunter2" not in text
    assert dev.modelyard("apply", "--plan", "plan.json").returncode == 0
    dev.settle()


def test_a_plan_is_stale_when_the_stack_file_changed(dev: Environment) -> None:
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    dev.edit("replicas: 3", "replicas: 2")
    done = dev.modelyard("apply", "--plan", "plan.json", check=False)
    assert done.returncode == 4
    assert "stacks/Pulumi.dev.yaml changed" in " ".join(done.stderr.split())


def test_a_change_after_the_confirmation_stops_the_apply(dev: Environment) -> None:
    dev.edit("replicas: 2", "replicas: 3")
    plan = dev.plan()
    touch(dev, HEAD, 800)
    before = versions(dev)
    with patch.dict(os.environ, dev.env), pytest.raises(StaleError, match=f"{HEAD} has changed since"):
        apply(dev.folder, plan, print)
    assert versions(dev) == before
    dev.edit("replicas: 3", "replicas: 2")


def test_another_cluster_is_rejected(dev: Environment, platform_lab: PlatformLab) -> None:
    elsewhere = platform_lab("dev")
    other = {"KUBECONFIG": str(elsewhere.kubeconfig)}
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    done = dev.modelyard("apply", "--plan", "plan.json", check=False, env=other)
    assert done.returncode == 4
    assert "approved for cluster" in " ".join(done.stderr.split())
    done = dev.modelyard("destroy", "dev", "--yes", check=False, env=other)
    assert done.returncode == 4
    ids = {"applied_to": identity(dev.lab), "points_to": identity(elsewhere)}
    assert other_cluster("dev", remote="", context="dev", **ids).summary in " ".join(done.stderr.split())


def test_a_second_concurrent_apply_is_rejected(dev: Environment) -> None:
    slow = {"spec": {"template": {"metadata": {"annotations": {"lab.modelyard/ready-after": "12s"}}}}}
    dev.lab.kubectl("patch", "deployment", HEAD, "--namespace", NAMESPACE, "--patch", json.dumps(slow))
    # If the first run found the head unready, it would wait before it changes anything.
    dev.settle()
    dev.edit("cpu: 2\n", "cpu: 3\n")
    with cli_process(dev, "apply", "dev", "--yes") as first:
        first.until(f"{HEAD}: Waiting")
        second = dev.modelyard("apply", "dev", "--yes", check=False)
        code, _, said = first.end()
    assert code == 0, said
    assert rolled_out(dev.deployment(HEAD)), said
    assert second.returncode == 3
    assert failure("dev", ["locked by"], "").summary in " ".join(second.stderr.split())
    dev.settle()
    assert dev.plan().changed == ()


@pytest.mark.quick
def test_destroy_releases_every_field(dev: Environment) -> None:
    targets = dev.plan().targets
    done = dev.modelyard("destroy", "dev", "--yes", "--json")
    document = json.loads(done.stdout)
    assert document["result"] == "succeeded"
    assert document["changes"] == {"delete": 5}
    assert f"restoring Deployment {HEAD}" in done.stderr
    for target in targets:
        live = dev.get(target.key)
        assert live is not None
        assert FIELD_MANAGER not in {entry["manager"] for entry in live["metadata"]["managedFields"]}
        assert "modelyard.dev/patches" not in live["metadata"]["annotations"]
    again = dev.modelyard("destroy", "dev", "--yes")
    assert "no changes" in again.stdout
