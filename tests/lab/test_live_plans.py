"""Live plans are the API server's answers to dry runs, with admission, defaults and owners."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster import load_recorded
from modelyard.kube.state import ObjectKey
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.store import STALE, plan_to_json
from tests.lab.support.admission import DEPLOYMENTS, apply, mutating, policy
from tests.lab.support.environment import NAMESPACE, Environment, Object, comparable, environment, scale
from tests.lab.support.managed_mode import manage
from tests.lab.support.pool_stack import config
from tests.lab.support.refused_apply import refused

SERVICE = "deployment-model-service"
HEAD = "deployment-ray-head"
RAY = "deployment-ray-model-training-worker"
CELERY = "deployment-model-training-tasks-gpu"
SIX_HOURS = 21600


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("live-plans")) as env:
        env.init()
        yield env


@pytest.fixture
def dev(shared: Environment) -> Iterator[Environment]:
    """The shared environment; tests must not change objects of the platform."""
    text = shared.stack_file.read_text()
    before = versions(shared)
    yield shared
    shared.stack_file.write_text(text)
    assert versions(shared) == before


def versions(env: Environment) -> dict[str, str]:
    items = env.found("apis/apps/v1/…/deployments")
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}


def target_of(plan: Plan, name: str) -> TargetPlan:
    return next(target for target in plan.targets if target.name == name)


def findings(plan: Plan, code: str) -> list[Any]:
    return [finding for finding in plan.findings if finding.code == code]


@pytest.mark.quick
def test_live_and_offline_plans_are_equal(dev: Environment) -> None:
    """Values and owners of both plans are the same."""
    live = dev.plan()
    dev.modelyard("record", "dev")
    recorded = json.loads(dev.modelyard("plan", "dev", "--json", "--no-cost").stdout)
    told = plan_to_json(live)
    assert [target["after"] for target in told["targets"]] == [target["after"] for target in recorded["targets"]]
    assert [target["conflicts"] for target in told["targets"]] == [one["conflicts"] for one in recorded["targets"]]
    assert findings(live, "OWN008") == findings(live, "OWN009") == []


def test_a_plan_omits_the_assigned_address_of_a_new_service(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        manage(env)
        assert plan_to_json(env.plan()) == plan_to_json(env.plan())


def test_verbose_shows_the_number_of_requests(dev: Environment) -> None:
    done = dev.modelyard("plan", "dev", "--live", "--verbose", "--no-cost")
    number = len(dev.plan().targets)
    # Identity, version, nodes, pods, quotas, two kinds of autoscalers; each target is read once and dry-run twice.
    assert done.stderr.startswith(f"dev: {7 + 3 * number} requests, at most ")
    assert "requests" not in dev.modelyard("plan", "dev", "--live", "--no-cost").stderr


def test_doctor_names_missing_operators(dev: Environment) -> None:
    quota = {"flavor": "a10", "cpu": 16, "memory": "128Gi", "gpus": 1}
    config(
        dev,
        autoscaling={"mode": "keda", "prometheus": "http://prometheus.example.com", "maxReplicas": 1},
        flavors=[{"name": "a10", "gpu": "A10"}],
        teams=[{"name": "vision", "namespace": NAMESPACE, "quotas": [quota]}],
    )
    checks = json.loads(dev.modelyard("doctor", "dev", "--json", check=False).stdout)["checks"]
    lacks = {check["name"]: check["remedy"] for check in checks if "does not serve" in check["found"]}
    assert lacks == {"KEDA": "install KEDA or its CRDs", "Kueue": "install Kueue or its CRDs"}


def test_an_outdated_recording_is_reported(dev: Environment) -> None:
    dev.modelyard("record", "dev")
    assert findings(dev.plan(), "OWN010") == []
    state, _ = load_recorded(dev.folder, "dev")
    assert state is not None
    key = ObjectKey("apps/v1", "Deployment", NAMESPACE, HEAD)
    file = dev.folder / "stacks" / "recorded" / "dev" / f"deployment.{NAMESPACE}.{HEAD}.json"
    body = json.loads(json.dumps(state.objects.reveal()[key]))
    body["spec"]["replicas"] = 5
    file.write_text(json.dumps(body))
    (finding,) = findings(dev.plan(), "OWN010")
    assert finding.target == HEAD
    assert "spec.replicas: 5 → 1" in finding.detail
    dev.modelyard("record", "dev")
    assert findings(dev.plan(), "OWN010") == []


@pytest.mark.quick
def test_an_admission_policy_blocks_the_plan(dev: Environment) -> None:
    apply(dev, *policy("object.spec.replicas <= 1", "at most one replica"))
    try:
        dev.lab.wait("the policy", lambda: findings(dev.plan(), "OWN009") != [])
        (finding,) = findings(dev.plan(), "OWN009")
        assert finding.target == SERVICE
        assert "at most one replica" in finding.detail
        refused(dev, 1, "OWN009", SERVICE, "at most one replica")
    finally:
        dev.lab.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "lab")
    dev.lab.wait("the policy to go", lambda: findings(dev.plan(), "OWN009") == [])


def test_a_webhook_that_does_not_answer_blocks_the_plan(dev: Environment) -> None:
    hook = {
        "name": "gone.lab.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 1,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{**DEPLOYMENTS, "resources": ["deployments"]}],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "gone"}}
    apply(dev, {**head, "kind": "ValidatingWebhookConfiguration", "webhooks": [hook]})
    try:
        dev.lab.wait("the webhook", lambda: len(findings(dev.plan(), "OWN009")) == len(dev.plan().targets))
        refused(dev, 1, "OWN009", "failed calling webhook", "gone.lab.example.com")
    finally:
        dev.lab.kubectl("delete", "validatingwebhookconfiguration", "gone")
    dev.lab.wait("the webhook to go", lambda: findings(dev.plan(), "OWN009") == [])


def test_missing_rights_for_one_target_are_reported_there(dev: Environment) -> None:
    names = [target.name for target in dev.plan().targets if target.name != HEAD]
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"], "resourceNames": names},
    ]
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "most"}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "most"}
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "lab:strangers"}
    apply(
        dev,
        {**head, "kind": "ClusterRole", "rules": rules},
        {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [group]},
    )
    try:
        stranger = {"KUBECONFIG": str(dev.lab.kubeconfig_of("stranger"))}

        def told() -> list[Object]:
            done = dev.modelyard("plan", "dev", "--live", "--json", "--no-cost", check=False, env=stranger)
            document = json.loads(done.stdout)
            return [each for each in document.get("findings", ()) if each["code"] == "OWN009"]

        dev.lab.wait("the role", lambda: len(told()) == 1)
        (finding,) = told()
        assert finding["target"] == HEAD
        said = ("OWN009", f"may not change {HEAD}", "cannot patch resource")
        refused(dev, 1, *said, variables=stranger)
    finally:
        dev.lab.kubectl("delete", "clusterrolebinding,clusterrole", "most")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("spec: {replica: 1}", ("spec.replica", "did you mean replicas?")),
        ("metadata: {creationTimestamp: x}", ("patch.yaml.j2:4", "metadata.creationTimestamp", "'x' is not a time")),
        (
            "metadata: {deletionGracePeriodSeconds: 5}",
            ("patch.yaml.j2:4", "deletionGracePeriodSeconds", "only the API"),
        ),
    ],
)
def test_a_rejected_field_is_reported_at_its_patch(dev: Environment, fields: str, said: tuple[str, ...]) -> None:
    template = dev.folder / "patches" / "zz-mine" / "v1" / "patch.yaml.j2"
    template.parent.mkdir(parents=True)
    (template.parent / "meta.yaml").write_text("description: mine\n")
    (template.parent / "schema.json").write_text("{}")
    template.write_text(f"# target: {HEAD}\napiVersion: apps/v1\nkind: Deployment\n{fields}\n")
    try:
        refused(dev, 1, "PAT008", *said)
    finally:
        for path in (template, template.with_name("meta.yaml"), template.with_name("schema.json")):
            path.unlink()
        template.parent.rmdir()
        template.parent.parent.rmdir()


def test_a_plan_reports_a_quota_that_new_objects_exceed(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        manage(env)
        have = len(versions(env))
        hard = {"count/deployments.apps": str(have), "count/services": "0"}
        head = {"apiVersion": "v1", "metadata": {"name": "lab", "namespace": NAMESPACE}}
        apply(env, {**head, "kind": "ResourceQuota", "spec": {"hard": hard}})
        quota = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/lab"
        env.lab.wait("the quota", lambda: "used" in env.lab.request("GET", quota).body.get("status", {}))
        plan = env.plan()
        new = {target.name for target in plan.targets if target.action == "create"}
        limited = {target.name for target in plan.targets if target.key.kind in ("Deployment", "Service")} & new
        assert {finding.target for finding in findings(plan, "OWN009")} == limited
        assert all("exceeded quota: lab" in finding.detail for finding in findings(plan, "OWN009"))
        env.init()
        refused(env, 1, "OWN009", "exceeds a quota")


def test_a_plan_reports_a_quota_that_new_pods_exceed(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team", "namespace": NAMESPACE}}
        apply(env, {**quota, "spec": {"hard": {"requests.nvidia.com/gpu": "1", "pods": "50"}}})
        path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/team"
        env.lab.wait("the quota", lambda: "used" in env.lab.request("GET", path).body.get("status", {}))
        used = env.lab.request("GET", path).body["status"]["used"]
        assert used["requests.nvidia.com/gpu"] == "1"

        env.edit("modelyard:training: ray\n", "modelyard:training: celery\n")
        plan = env.plan()
        assert findings(plan, "RES108") == []
        assert [step.phase for step in plan.steps if step.phase in ("up", "down")] == ["down", "up"]
        env.modelyard("apply", "dev", "--yes")
        assert env.plan().changed == ()

        celery = "  modelyard:celery:\n    replicas: "
        env.edit(f"{celery}1\n", f"{celery}2\n")
        (finding,) = findings(env.plan(), "RES108")
        assert finding.target == "deployment-model-training-tasks-gpu"
        refused(env, 1, "RES108", "they need 1 more requests.nvidia.com/gpu, and 0 of 1 are left")
        env.modelyard("record", "dev")
        assert "RES108" in env.modelyard("plan", "dev", check=False).stdout


def admitted(body: Object) -> list[Object]:
    """Limits the grace period; adds a label and a container to the pods."""
    template = body["spec"]["template"]
    pod = template["spec"]
    changes: list[Object] = []
    if pod.get("terminationGracePeriodSeconds", 0) > SIX_HOURS:
        path = "/spec/template/spec/terminationGracePeriodSeconds"
        changes.append({"op": "replace", "path": path, "value": SIX_HOURS})
    if "mesh" not in template["metadata"]["labels"]:
        changes.append({"op": "add", "path": "/spec/template/metadata/labels/mesh", "value": "yes"})
    if not any(container["name"] == "proxy" for container in pod["containers"]):
        proxy = {"name": "proxy", "image": "images.example.com/proxy:1"}
        changes.append({"op": "add", "path": "/spec/template/spec/containers/-", "value": proxy})
    return changes


def test_a_plan_includes_the_changes_of_a_mutating_webhook(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        env.init()
        with mutating(env.lab, admitted) as seen:
            plan = env.plan()
            assert seen
            assert all(seen)
            document = json.loads(env.modelyard("plan", "dev", "--live", "--json", "--no-cost").stdout)
            assert [one["after"] for one in document["targets"]] == [target.after.reveal() for target in plan.targets]
            template = target_of(plan, RAY).after.reveal()["spec"]["template"]
            assert template["spec"]["terminationGracePeriodSeconds"] == SIX_HOURS
            assert [one["name"] for one in template["spec"]["containers"]][-1] == "proxy"
            (warning,) = [one for one in findings(plan, "OWN008") if one.field and one.target == RAY]
            assert "21600" in warning.summary and "21900" in warning.summary
            added = [one for one in findings(plan, "OWN008") if one.severity.value == "advice"]
            assert {one.target for one in added} == {target.name for target in plan.targets}
            env.up()
            env.settle()
            for target in plan.targets:
                live = env.get(target.key)
                assert live is not None
                assert comparable(live) == comparable(target.after.reveal())
            # The webhook's changes are not sent again.
            assert env.plan().changed == ()
            assert env.up().changed == []


def test_a_plan_is_stale_if_a_controller_takes_the_replicas(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        env.init()
        # An approved plan becomes stale.
        env.modelyard("plan", "dev", "--live", "--out", "plan.json")
        scale(env, CELERY, 1, "keda-operator")
        env.settle()
        before = versions(env)
        done = env.modelyard("apply", "--plan", "plan.json", check=False)
        assert done.returncode == 4
        words = " ".join(done.stderr.split())
        assert f"{CELERY} has changed since the plan was made" in words
        assert f"{CELERY} now takes spec.replicas from keda-operator (scale)" in words
        assert versions(env) == before
        # A new plan reports the conflict.
        refused(env, 1, "OWN002", "keda-operator keeps writing spec.replicas")


def test_a_step_stops_if_a_controller_takes_the_replicas(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        env.init()
        slow = {"spec": {"template": {"metadata": {"annotations": {"lab.modelyard/ready-after": "10s"}}}}}
        env.lab.kubectl("patch", "deployment", RAY, "--namespace", NAMESPACE, "--patch", json.dumps(slow))
        env.settle()
        chain = [target.name for target in env.plan().targets if target.phase != "normal"]
        assert chain.index(RAY) < chain.index(CELERY)
        generation = env.deployment(RAY)["metadata"]["generation"]
        celery = env.deployment(CELERY)
        command = [str(Path(sys.prefix) / "bin" / "modelyard"), "apply", "dev", "--yes"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, cwd=env.folder, env=env.env, text=True, **pipes) as run:
            while env.deployment(RAY)["metadata"]["generation"] == generation:
                assert run.poll() is None
                time.sleep(0.05)
            scale(env, CELERY, 1, "keda-operator")
            _, errors = run.communicate()
        words = " ".join(errors.split())
        assert run.returncode == 4, words
        assert f"{STALE}: {CELERY} " in words
        assert "spec.replicas from keda-operator (scale)" in words
        assert "Traceback" not in words
        after = env.deployment(CELERY)
        assert after["spec"]["replicas"] == 1
        assert after["spec"]["template"] == celery["spec"]["template"]
        assert "modelyard" not in {entry["manager"] for entry in after["metadata"]["managedFields"]}
