"""Errors that stop an update before anything is sent, and their messages."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.environment import NAMESPACE, Done, Environment, environment, words
from tests.lab.support.refused_apply import refused

SERVICE = "deployment-model-service"
WORKER = "deployment-ray-model-training-worker"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("refusals")) as env:
        env.init()
        yield env


@pytest.fixture
def dev(shared: Environment) -> Iterator[Environment]:
    """The shared environment; tests must not change objects, and the stack file is restored."""
    text = shared.stack_file.read_text()
    yield shared
    shared.stack_file.write_text(text)


def test_fields_taken_from_an_installer_are_reported(dev: Environment) -> None:
    document = json.loads(dev.modelyard("plan", "dev", "--live", "--json").stdout)
    told = {
        (finding["target"], finding["field"])
        for finding in document["findings"]
        if finding["code"] == "OWN001" and "kubectl-client-side-apply" in finding["summary"]
    }
    taken = {
        (target["name"], change["field"])
        for target in document["targets"]
        for change in target["changes"]
        if change["taken"]
    }
    assert told == taken
    assert (SERVICE, "spec.replicas") in told


def test_conflicts_of_the_plan_match_those_of_the_api_server(dev: Environment) -> None:
    """Without force, the API server's conflicts are the plan's conflicts, field by field."""
    for target in dev.plan().targets:
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{target.name}?fieldManager=modelyard&dryRun=All"
        answer = dev.lab.request("PATCH", path, target.applied.reveal(), content_type="application/apply-patch+yaml")
        causes = answer.body["details"]["causes"] if answer.status == 409 else []
        told = [change.path.server_text for change in target.changes if change.taken]
        assert sorted(cause["field"] for cause in causes) == sorted(told)
        assert sorted(claim.field for claim in target.conflicts) == sorted(told)


def test_a_missing_target(dev: Environment) -> None:
    dev.edit("config:\n", "config:\n  modelyard:targets: {rayHead: {deployment: deployment-ray-hed}}\n")
    refused(dev, 1, "PAT013", "deployment-ray-hed is not in the cluster", "deployment-ray-head")


def test_a_missing_container(dev: Environment) -> None:
    dev.edit("config:\n", "config:\n  modelyard:targets: {rayHead: {container: ray-hed}}\n")
    refused(dev, 1, "PAT014", "ray-hed", "ray-head")


def test_a_finding_of_the_hardware_rules(dev: Environment) -> None:
    dev.edit("model: A10", "model: T4")
    refused(dev, 1, "GPU")


@pytest.mark.parametrize(
    ("user", "said"),
    [("expired", "log in to the cluster again"), ("stranger", "may not read")],
)
def test_credentials_that_cannot_read(dev: Environment, user: str, said: str) -> None:
    refused(dev, 3, said, variables={"KUBECONFIG": str(dev.lab.kubeconfig_of(user))})


def test_credentials_that_cannot_write(dev: Environment) -> None:
    variables = {"KUBECONFIG": str(dev.lab.kubeconfig_of("viewer"))}
    refused(dev, 1, "OWN009", "may not change", "cannot patch resource", variables=variables)


def test_an_unreachable_cluster(dev: Environment, tmp_path: Path) -> None:
    dead = tmp_path / "kubeconfig"
    dead.write_text(dev.lab.kubeconfig.read_text().replace(dev.lab.server, "https://127.0.0.1:1"))
    refused(dev, 3, "the API server cannot be reached", variables={"KUBECONFIG": str(dead)})


def test_no_kubeconfig(dev: Environment, tmp_path: Path) -> None:
    refused(dev, 3, "cannot read the kubeconfig", variables={"KUBECONFIG": str(tmp_path / "none")})


def test_a_wrong_passphrase(dev: Environment) -> None:
    refused(dev, 3, "another passphrase", variables={"PULUMI_CONFIG_PASSPHRASE": "wrong"})


def test_a_provider_with_another_kubeconfig(dev: Environment) -> None:
    dev.edit("config:\n", "config:\n  kubernetes:kubeconfig: other\n")
    refused(dev, 3, "kubernetes:kubeconfig")


def autoscaler(least: int) -> str:
    """A HorizontalPodAutoscaler of the model service."""
    usage = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "model-service", "namespace": NAMESPACE},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": SERVICE},
            "minReplicas": least,
            "maxReplicas": 4,
            "metrics": [{"type": "Resource", "resource": usage}],
        },
    }
    return json.dumps(body)


def of_keda() -> str:
    """A ScaledObject of the workers."""
    triggers = [{"type": "cron", "metadata": {"timezone": "UTC", "start": "0 6 * * *", "end": "0 20 * * *"}}]
    head = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}
    metadata = {"name": "workers", "namespace": NAMESPACE}
    return json.dumps(
        {**head, "metadata": metadata, "spec": {"scaleTargetRef": {"name": WORKER}, "triggers": triggers}}
    )


def test_new_autoscalers_that_have_not_scaled_yet(dev: Environment) -> None:
    told = (
        f"HorizontalPodAutoscaler model-service sets spec.replicas of {SERVICE}",
        f"ScaledObject workers sets spec.replicas of {WORKER}",
    )
    # The replicas are at the minimum and there are no metrics, so the autoscaler writes nothing.
    dev.lab.kubectl("apply", "--filename", "-", stdin=autoscaler(dev.deployment(SERVICE)["spec"]["replicas"]))
    dev.lab.install_crds()
    dev.lab.kubectl("apply", "--filename", "-", stdin=of_keda())
    try:
        refused(dev, 1, "OWN002", *told)
        for name in (SERVICE, WORKER):
            entries = dev.deployment(name)["metadata"]["managedFields"]
            assert not [entry for entry in entries if entry.get("subresource") == "scale"]
        dev.modelyard("record", "dev")
    finally:
        dev.lab.kubectl("delete", "horizontalpodautoscalers,scaledobjects", "--all", "--namespace", NAMESPACE)
    # A recording contains the autoscalers, so offline plans report them too.
    recorded = words(dev.modelyard("plan", "dev", check=False))
    for text in told:
        assert text in recorded
    assert "OWN002" not in words(dev.modelyard("plan", "dev", "--live"))


def test_credentials_that_may_not_list_autoscalers_can_plan(dev: Environment) -> None:
    rules = [
        {"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": ["policy"], "resources": ["*"], "verbs": ["get", "list"]},
    ]
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "blind"}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "blind"}
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "lab:strangers"}
    binding = {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [group]}
    made = "\n---\n".join(map(json.dumps, ({**head, "kind": "ClusterRole", "rules": rules}, binding)))
    dev.lab.kubectl("apply", "--filename", "-", stdin=made)
    stranger = {"KUBECONFIG": str(dev.lab.kubeconfig_of("stranger"))}

    def planned() -> Done:
        return dev.modelyard("plan", "dev", "--live", "--no-cost", check=False, env=stranger)

    try:
        dev.lab.wait("the role", lambda: planned().returncode == 0)
        assert SERVICE in planned().stdout
    finally:
        dev.lab.kubectl("delete", "clusterrolebinding,clusterrole", "blind")


def test_replicas_that_a_controller_sets(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        env.init()
        env.lab.kubectl("apply", "--filename", "-", stdin=autoscaler(3))
        env.lab.wait("the autoscaler", lambda: env.deployment(SERVICE)["spec"]["replicas"] == 3)
        env.settle()
        refused(env, 1, "OWN002", "kube-controller-manager keeps writing spec.replicas")
        assert env.deployment(SERVICE)["spec"]["replicas"] == 3
