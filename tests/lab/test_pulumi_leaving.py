"""Objects that a stack no longer has: they are in the plan, and an apply asks, drains, and restores or deletes them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lab.install import PLATFORMS
from modelyard.plan.undo.ledger import ours
from tests.lab.support.admission import apply, policy
from tests.lab.support.cli_process import words
from tests.lab.support.environment import NAMESPACE, Environment, Object, comparable, environment
from tests.lab.support.managed_mode import manage
from tests.lab.support.training_backends import Dashboard, dashboard, one_gpu

HEAD = "deployment-ray-head"
SERVICE = "deployment-model-service"
WORKER = "deployment-ray-model-training-worker"
LAST = "kubectl.kubernetes.io/last-applied-configuration"
DROPPED = "  modelyard:patches: [{name: ray-head, enabled: false}]\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Environment, Object]]:
    """An applied ``dev``, and the Ray head before the apply."""
    with environment("dev", tmp_path_factory.mktemp("leaving")) as env:
        env.init()
        before = env.deployment(HEAD)
        yield env, before


@pytest.fixture
def dropped(shared: tuple[Environment, Object]) -> Iterator[tuple[Environment, Object]]:
    """The patch of the Ray head is applied and then turned off in the stack file."""
    env, before = shared
    text = env.stack_file.read_text()
    env.modelyard("apply", "dev", "--yes")
    env.settle()
    env.edit("config:\n", f"config:\n{DROPPED}")
    yield env, before
    env.stack_file.write_text(text)


def test_a_restore_is_a_target_and_matches_the_plan(dropped: tuple[Environment, Object]) -> None:
    env, before = dropped
    plan = env.plan()
    (target,) = plan.changed
    assert (target.name, target.action, target.replaces_pods) == (HEAD, "restore", 1)
    assert {owner.manager for change in target.changes for owner in change.back or ()} == {"kubectl-client-side-apply"}
    assert env.modelyard("plan", "dev", "--live", "--detailed-exitcode", check=False).returncode == 5
    assert env.preview().changed == [HEAD]
    done = env.modelyard("apply", "dev", "--yes")
    env.settle()
    assert comparable(env.deployment(HEAD)) == comparable(target.after.reveal()) == comparable(before)
    assert f"done restoring Deployment {HEAD}" in done.stderr
    assert done.stderr.count("restoring") == 2
    assert env.plan().changed == ()
    # The next run removes the rest of the target from the state, without a change in the cluster.
    version = env.deployment(HEAD)["metadata"]["resourceVersion"]
    assert env.up().changed == []
    assert env.deployment(HEAD)["metadata"]["resourceVersion"] == version


def test_a_restore_needs_a_confirmation(dropped: tuple[Environment, Object]) -> None:
    env, _ = dropped
    version = env.deployment(HEAD)["metadata"]["resourceVersion"]
    done = env.modelyard("apply", "dev", check=False)
    assert done.returncode == 2
    assert env.deployment(HEAD)["metadata"]["resourceVersion"] == version


def test_an_approved_restore_is_stale_when_the_object_changed(dropped: tuple[Environment, Object]) -> None:
    env, before = dropped
    file = str(env.folder / "approved.json")
    env.modelyard("plan", "dev", "--live", "--out", file)
    assert f"Deployment/{NAMESPACE}/{HEAD}" in json.loads(Path(file).read_text())["startingState"]
    image = f"deployment/{HEAD}", "ray-head=images.example.com/moved:1"
    env.lab.kubectl("set", "image", *image, "--namespace", NAMESPACE)
    env.settle()
    done = env.modelyard("apply", "--plan", file, check=False)
    assert done.returncode == 4, done.stderr
    assert f"{HEAD} has changed since the plan was made" in words(done.stderr)
    assert ours(env.deployment(HEAD))
    env.modelyard("plan", "dev", "--live", "--out", file)
    (target,) = env.plan().changed
    env.modelyard("apply", "--plan", file)
    env.settle()
    live = env.deployment(HEAD)
    assert comparable(live) == comparable(target.after.reveal())
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "images.example.com/moved:1"
    env.lab.kubectl("apply", "--filename", "-", stdin=before["metadata"]["annotations"][LAST])


def without(*patches: str) -> str:
    listed = ", ".join(f"{{name: {name}, enabled: false}}" for name in patches)
    return f"config:\n  modelyard:patches: [{listed}]\n"


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Environment, Dashboard]]:
    """Ray trains with one GPU and has a running job."""
    with dashboard() as (said, url), one_gpu(tmp_path, url, "http://127.0.0.1:9") as env:
        said.busy()
        yield env, said


def test_a_restore_waits_for_a_running_job(busy: tuple[Environment, Dashboard]) -> None:
    env, said = busy
    env.edit("timeout: 3m", "timeout: 4s")
    pods = {pod["metadata"]["uid"] for app in ("ray-head", "ray-model-training-worker") for pod in env.pods(app)}
    assert len(pods) == 2
    env.edit("config:\n", without("ray-head", "ray-worker", "training-replicas"))
    plan = env.plan()
    assert [(target.name, target.action) for target in plan.changed if target.role.startswith("ray")] == [
        (HEAD, "restore"),
        (WORKER, "restore"),
    ]
    assert [drain.targets for drain in plan.drains] == [(HEAD, WORKER)]
    assert [step.target for step in plan.steps if step.phase == "drain"] == [HEAD]
    for run in (
        env.modelyard("apply", "dev", "--yes", check=False),
        env.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", check=False),
    ):
        assert run.returncode != 0
        assert "1 running job: long (train), at" in words(run.stdout + run.stderr)
        there = {pod["metadata"]["uid"] for app in ("ray-head", "ray-model-training-worker") for pod in env.pods(app)}
        assert there == pods
        assert ours(env.deployment(HEAD))
        assert ours(env.deployment(WORKER))
    said.jobs = []
    plan = env.plan()
    wanted = {target.name: target for target in plan.changed}
    # The installer's rollout adds a pod first, which needs a second GPU.
    assert "RES104" in {finding.code for finding in plan.findings if finding.target == WORKER}
    env.modelyard("apply", "dev", "--yes")
    for name in (HEAD, WORKER):
        assert comparable(env.deployment(name)) == comparable(wanted[name].after.reveal())
        assert not ours(env.deployment(name))
    assert env.plan().changed == ()


def test_renaming_a_target_restores_the_old_one(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        other = json.loads(env.lab.kubectl("get", "deployment", SERVICE, "--namespace", NAMESPACE, "-o", "json").stdout)
        other["metadata"] = {"name": f"{SERVICE}-2", "namespace": NAMESPACE}
        env.lab.kubectl("create", "--filename", "-", stdin=json.dumps({**other, "status": {}}))
        env.init()
        before = env.deployment(SERVICE)
        env.up()
        env.settle()
        env.edit("config:\n", f"config:\n  modelyard:targets: {{modelService: {{deployment: {SERVICE}-2}}}}\n")
        plan = env.plan()
        assert {target.name: target.action for target in plan.changed} == {
            SERVICE: "restore",
            f"{SERVICE}-2": "update",
        }
        assert [target.role for target in plan.changed] == ["modelService", "modelService"]
        assert SERVICE in env.modelyard("ledger", "dev", "--live").stdout
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        assert comparable(env.deployment(SERVICE)) == comparable(before)
        assert ours(env.deployment(f"{SERVICE}-2"))


def refused_delete(env: Environment) -> None:
    """Checks that an admission policy against a delete is an error of the plan, and that nothing is sent."""
    objects = policy(f"oldObject.metadata.name != '{HEAD}'", "the head stays", "DELETE")
    apply(env, *objects)
    try:
        env.lab.wait("the policy", lambda: env.plan().blocked)
        (finding,) = [finding for finding in env.plan().findings if finding.blocks]
        assert (finding.code, finding.target) == ("OWN009", HEAD)
        assert "the head stays" in finding.detail
        assert env.modelyard("apply", "dev", "--yes", check=False).returncode == 1
        assert env.deployment(HEAD)
    finally:
        env.lab.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "lab")
    env.lab.wait("the policy to go", lambda: not env.plan().blocked)


def test_objects_of_a_managed_stack_are_deleted_after_a_drain(tmp_path: Path) -> None:
    with dashboard() as (said, url), environment("dev", tmp_path) as env:
        manage(env)
        config = yaml.safe_load(env.stack_file.read_text())
        config["config"]["modelyard:drain"] = {"timeout": "4s", "quiet": "1s", "ray": {"jobs": url}}
        env.stack_file.write_text(yaml.safe_dump(config, sort_keys=False))
        env.init()
        env.up()
        env.settle()
        del env.env["MODELYARD_NO_DRAIN"]
        config["config"]["modelyard:patches"] = [{"name": "ray-head", "enabled": False}]
        env.stack_file.write_text(yaml.safe_dump(config, sort_keys=False))
        said.busy()
        plan = env.plan()
        gone = {(target.key.kind, target.name): target for target in plan.changed}
        assert {kind for kind, _ in gone} >= {"Deployment", "Service"}
        assert {(target.action, target.role, target.after.reveal() == {}) for target in gone.values()} == {
            ("delete", "rayHead", True)
        }
        assert env.modelyard("apply", "dev", check=False).returncode == 2
        refused_delete(env)
        failed = env.modelyard("apply", "dev", "--yes", check=False)
        assert "1 running job: long (train), at" in words(failed.stderr)
        assert env.deployment(HEAD)
        said.jobs = []
        done = env.modelyard("apply", "dev", "--yes")
        assert done.stderr.count(f"done deleting Deployment {HEAD}") == 1
        assert [env.get(target.key) for target in gone.values()] == [None] * len(gone)
        assert env.plan().changed == ()
        assert env.up().changed == []


def test_changing_the_namespace_restores_the_old_one(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        text = (PLATFORMS / "dev" / "platform.yaml").read_text()
        for before in ("namespace: ml-platform", "name: ml-platform"):
            text = text.replace(before, before.replace("ml-platform", "ml-two"))
        # Each Service has its own address.
        objects = [body for body in yaml.safe_load_all(text) if body and body["kind"] != "Service"]
        env.lab.kubectl("apply", "--filename", "-", stdin=yaml.safe_dump_all(objects))
        env.init()
        env.up()
        env.settle()
        env.edit("namespace: ml-platform", "namespace: ml-two")
        plan = env.plan()
        old = {target.name: target for target in plan.changed if target.dropped}
        assert {target.action for target in old.values()} == {"restore"}
        assert set(old) == {f"{NAMESPACE}/{target.name}" for target in plan.asked}
        env.modelyard("apply", "dev", "--yes")
        for target in plan.changed:
            live = env.get(target.key)
            assert live is not None
            assert comparable(live) == comparable(target.after.reveal()), target.name
        assert env.plan().changed == ()
