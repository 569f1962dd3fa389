"""Resources as Deployments, and runs of jobs, on a real API server: as planned, and deleted at the end."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.lab.support.environment import NAMESPACE, ROOT, Environment, comparable, environment
from tests.lab.support.pool_stack import config, volume

JOBS: dict[str, Any] = {
    "runtime": {"image": "images.example.com/ml-platform/jobs:23.10.4"},
    "resources": [
        {"name": "features", "type": "dataset", "workers": 2, "cpu": "500m", "memory": "1024Mi"},
        {"name": "deep", "type": "training", "workers": 2, "cpu": 1, "memory": "2Gi"},
        {"name": "answers", "type": "serving", "workers": 2, "cpu": "100m", "memory": "256Mi", "port": 8000},
    ],
    "jobs": [
        {"name": "clicks", "type": "dataset", "resource": "features"},
        {"name": "views", "type": "dataset", "resource": "features"},
        {"name": "load", "type": "data-sink"},
        {"name": "ask", "type": "serving", "resource": "answers"},
        {"name": "train", "type": "training", "resource": "deep", "command": ["python", "train.py"], "keep": "1h"},
    ],
}
DEPLOYED = {"resource-features", "resource-answers", "job-load"}


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("jobs")) as made:
        config(made, **JOBS)
        made.modelyard("apply", "dev", "--yes")
        made.settle()
        yield made


def runs(env: Environment, kind: str, run: str) -> list[dict[str, Any]]:
    """The objects of a run."""
    out = env.lab.kubectl(
        "get", kind, "--namespace", NAMESPACE, "--selector", f"modelyard.dev/run={run}", "--output", "json"
    )
    return list(json.loads(out.stdout)["items"])


def test_live_resources_match_the_plan(env: Environment) -> None:
    plan = env.plan()
    assert plan.changed == ()
    found = {
        (target.key.kind, target.name): target for target in plan.targets if target.patches == ("job-resources@v1",)
    }
    assert set(found) == {("Service", "resource-answers"), *(("Deployment", name) for name in DEPLOYED)}
    for (kind, name), target in found.items():
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{name}"
        live = env.deployment(name) if kind == "Deployment" else env.lab.request("GET", path).body
        assert comparable(live) == comparable(target.after.reveal())
    assert env.deployment("resource-features")["status"]["readyReplicas"] == 2


def test_the_service_has_both_serving_pods_as_endpoints(env: Environment) -> None:
    path = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
    query = "?labelSelector=kubernetes.io/service-name=resource-answers"

    def behind() -> list[str]:
        slices = env.lab.request("GET", path + query).body["items"]
        ends = [end for one in slices for end in one["endpoints"] if end["conditions"]["ready"]]
        return sorted(end["targetRef"]["name"].rpartition("-")[0].rpartition("-")[0] for end in ends)

    env.lab.wait("both pods behind the Service", lambda: behind() == ["resource-answers"] * 2)


def test_a_dry_run_creates_nothing(env: Environment) -> None:
    document = json.loads(env.modelyard("job", "submit", "dev", "train", "--dry-run", "--json").stdout)
    assert document["dryRun"] is True
    assert runs(env, "jobs", document["run"]) == []


@pytest.mark.quick
def test_a_run_succeeds_and_its_service_is_deleted_with_its_job(env: Environment) -> None:
    said = env.modelyard("job", "submit", "dev", "train").stdout
    run = said.split()[0]
    assert run.startswith("train-")
    (job,) = runs(env, "jobs", run)
    (service,) = runs(env, "services", run)
    assert service["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    env.lab.wait("the run's end", lambda: runs(env, "jobs", run)[0].get("status", {}).get("succeeded") == 2)
    env.lab.kubectl("delete", "job", run, "--namespace", NAMESPACE)
    env.lab.wait("the end of what it owned", lambda: runs(env, "services", run) == [])


def test_each_worker_of_a_run_knows_its_rank_and_finds_the_others(env: Environment) -> None:
    """``torch.distributed`` reads the variables; for TensorFlow, the guide builds ``TF_CONFIG`` from them."""
    guide = (ROOT / "docs" / "guides" / "jobs.md").read_text(encoding="utf-8")
    (program,) = [text for text in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "TF_CONFIG" in text]
    run = json.loads(env.modelyard("job", "submit", "dev", "train", "--json").stdout)["run"]
    env.lab.wait("its workers", lambda: len(runs(env, "pods", run)) == 2)
    pods = sorted((pod["spec"] | pod["metadata"] for pod in runs(env, "pods", run)), key=lambda pod: pod["hostname"])
    addresses = [f"{pod['hostname']}.{pod['subdomain']}" for pod in pods]
    (service,) = runs(env, "services", run)
    assert {pod["subdomain"] for pod in pods} == {service["metadata"]["name"]}
    assert service["spec"]["clusterIP"] == "None"
    for rank, pod in enumerate(pods):
        variables = {one["name"]: one.get("value") or _field(pod, one) for one in pod["containers"][0]["env"]}
        assert (variables["RANK"], variables["WORLD_SIZE"]) == (str(rank), "2")
        assert variables["MASTER_ADDR"] == addresses[0]
        with patch.dict("os.environ", variables):
            exec(compile(program, "jobs.md", "exec"), {})
            made = json.loads(os.environ["TF_CONFIG"])
        assert made["cluster"] == {"worker": [f"{address}:{variables['MASTER_PORT']}" for address in addresses]}
        assert made["task"] == {"type": "worker", "index": rank}


def _field(pod: dict[str, Any], variable: dict[str, Any]) -> str:
    """The value of a variable that refers to a pod's label or annotation, as a kubelet sets it."""
    found = re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", variable["valueFrom"]["fieldRef"]["fieldPath"])
    assert found
    return str(pod[found[1]][found[2]])


def test_two_runs_have_different_names(env: Environment) -> None:
    names = {json.loads(env.modelyard("job", "submit", "dev", "train", "--json").stdout)["run"] for _ in range(2)}
    assert len(names) == 2


def test_a_rejected_submission_creates_nothing(env: Environment) -> None:
    """The API server would accept the Job but rejects its Service; neither is created."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"services": 0}},
    }
    before = json.loads(env.lab.kubectl("get", "jobs", "--namespace", NAMESPACE, "--output", "json").stdout)["items"]
    env.lab.kubectl("apply", "--namespace", NAMESPACE, "--filename", "-", stdin=json.dumps(quota))
    env.lab.wait(
        "the quota",
        lambda: "used" in str(env.lab.kubectl("get", "quota", "none", "-n", NAMESPACE, "-o", "json").stdout),
    )
    done = env.modelyard("job", "submit", "dev", "train", check=False)
    env.lab.kubectl("delete", "quota", "none", "--namespace", NAMESPACE)
    assert done.returncode == 1
    assert "the cluster rejects it: Service" in done.stderr
    after = json.loads(env.lab.kubectl("get", "jobs", "--namespace", NAMESPACE, "--output", "json").stdout)["items"]
    assert len(after) == len(before)


def test_datasets_are_exported_and_models_imported_by_jobs(env: Environment, tmp_path: Path) -> None:
    far = {
        "name": "far",
        "type": "training",
        "gpus": 1,
        "remote": {
            "provider": "lam",
            "instanceType": "gpu_1x_a10",
            "timeLimit": "1h",
            "image": "images.example.com/ml-platform/trainer:1.0.0",
            "command": ["train"],
            "data": {"transfer": {"bucket": "pond", "prefix": "out"}},
            "model": {"bucket": "pond", "prefix": "models"},
            "exportFrom": {"claim": "datasets", "path": "churn", "secret": "pond"},
            "importTo": {"claim": "datasets", "path": "models", "secret": "pond"},
        },
    }
    config(
        env,
        providers=[{"name": "lam", "kind": "lambda", "credentialsSecret": "lambda"}],
        buckets=[{"name": "pond", "url": "s3://acme-pond", "reachedBy": ["platform", "lam"]}],
        resources=[*JOBS["resources"], far],
        jobs=[*JOBS["jobs"], {"name": "churn", "type": "training", "resource": "far"}],
    )
    env.modelyard("remote", "dev", "far", "--write", str(tmp_path))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pond"}}
    assert env.lab.request("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", secret).status == 201
    for body in volume("datasets", NAMESPACE):
        assert env.lab.request("POST", body.pop("path"), body).status == 201
    for verb in ("export", "import"):
        file = tmp_path / "dev" / "churn" / f"{verb}.yaml"
        made = env.lab.kubectl("create", "--filename", str(file), "--output", "name")
        name = made.stdout.strip()
        assert name.startswith(f"job.batch/churn-{verb}-")
        env.lab.kubectl("wait", name, "--namespace", NAMESPACE, "--for=condition=Complete", "--timeout=60s")
    config(env, **JOBS)


def test_destroy_deletes_every_resource(env: Environment) -> None:
    env.modelyard("destroy", "dev", "--yes")
    out = env.lab.kubectl("get", "deployments", "--namespace", NAMESPACE, "--output", "name").stdout
    assert not any(name in out for name in DEPLOYED)
