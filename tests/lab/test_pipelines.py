"""Pipelines on a real API server with a real Kueue: what waits holds nothing, and what has failed stops what needs it.

Nothing runs in the lab's pods, so the program that starts the stages runs here, with the rights of its ServiceAccount.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.environment import PATIENCE, Environment, environment
from tests.lab.test_pool import config

SPACE = "vision-ml"
QUEUE = "kueue.x-k8s.io/queue-name"
PIPELINES: dict[str, Any] = {
    "runtime": {"image": "images.example.com/ml-platform/jobs:23.10.4"},
    "buckets": [{"name": "lake", "url": "s3://acme-lake", "reachedBy": ["platform"]}],
    "flavors": [
        {
            "name": "a10",
            "gpu": "A10",
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        }
    ],
    "teams": [
        {
            "name": "vision",
            "namespace": SPACE,
            "quotas": [{"flavor": "a10", "cpu": 16, "memory": "128Gi", "gpus": 1}],
        }
    ],
    "resources": [
        {"name": "deep", "type": "training", "workers": 1, "cpu": 1, "memory": "2Gi", "gpus": 1, "team": "vision"},
        {"name": "chat", "type": "serving", "cpu": "500m", "memory": "1Gi", "team": "vision"},
    ],
    "jobs": [
        {"name": "clicks", "type": "dataset", "command": ["python", "prepare.py"], "team": "vision"},
        {"name": "fit", "type": "training", "resource": "deep", "command": ["python", "train.py"]},
        {"name": "slow", "type": "dataset", "command": ["sleep", "60"], "team": "vision", "timeLimit": "1s"},
        {"name": "assistant", "type": "serving", "resource": "chat"},
    ],
    "pipelines": [
        {
            "name": "nightly",
            "artifacts": {"bucket": "lake", "prefix": "pipelines"},
            "stages": [
                {"name": "serve", "rollout": "chat", "needs": ["train"], "reads": ["model"]},
                {"name": "train", "job": "fit", "needs": ["prepare"], "reads": ["data"], "writes": ["model"]},
                {"name": "prepare", "job": "clicks", "writes": ["data"]},
            ],
        },
        {
            "name": "broken",
            "stages": [
                {"name": "slow", "job": "slow"},
                {"name": "train", "job": "fit", "needs": ["slow"]},
                {"name": "beside", "job": "clicks"},
            ],
        },
    ],
}


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("pipelines")) as made:
        made.lab.start_operators("kueue")
        made.lab.kubectl("create", "namespace", SPACE)
        config(made, **PIPELINES)
        made.modelyard("apply", "dev", "--yes")
        yield made


def submitted(env: Environment, pipeline: str, *words: str) -> str:
    document = json.loads(env.modelyard("pipeline", "submit", "dev", pipeline, "--json", *words).stdout)
    return str(document["run"])


def found(env: Environment, kind: str, run: str) -> dict[str, dict[str, Any]]:
    """The objects of a run, by the stage that they are of."""
    selector = f"modelyard.dev/pipeline-run={run}"
    out = env.lab.kubectl("get", kind, "--namespace", SPACE, "--selector", selector, "--output", "json")
    items = json.loads(out.stdout)["items"]
    return {one["metadata"]["labels"].get("modelyard.dev/stage", ""): one for one in items}


def pods(env: Environment, run: str) -> list[str]:
    """The pods of a run's stages."""
    items = env.lab.request("GET", f"/api/v1/namespaces/{SPACE}/pods").body["items"]
    return [one["metadata"]["name"] for one in items if one["metadata"]["name"].startswith(f"{run}-")]


def stages(env: Environment, run: str) -> subprocess.CompletedProcess[str]:
    """Runs what the pod of a run does, as its ServiceAccount."""
    leader = json.loads(env.lab.kubectl("get", "job", run, "--namespace", SPACE, "--output", "json").stdout)
    spec = leader["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    folder = env.folder.parent / run
    folder.mkdir(exist_ok=True)
    token = env.lab.kubectl("create", "token", spec["serviceAccountName"], "--namespace", SPACE).stdout
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_text((env.lab.folder / "pki" / "ca.crt").read_text())
    host, port = env.lab.server.removeprefix("https://").split(":")
    return subprocess.run(
        [sys.executable, *container["command"][1:], *container["args"]],
        env={
            "PATH": os.defpath,
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
            "SERVICE_ACCOUNT_FOLDER": str(folder),
            "PAUSE": "0.2",
            "GRACE": "10",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def workloads(env: Environment, run: str) -> dict[str, bool]:
    """Kueue's workloads of a run's stages: whether each holds a part of the team's quota."""
    items = env.lab.request("GET", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{SPACE}/workloads").body["items"]
    found = {
        one["metadata"]["ownerReferences"][0]["name"]: one.get("status", {}).get("conditions", ()) for one in items
    }
    return {
        name: any(one["type"] == "QuotaReserved" and one["status"] == "True" for one in conditions)
        for name, conditions in found.items()
        if name.startswith(f"{run}-")
    }


def test_a_dry_run_makes_nothing(env: Environment) -> None:
    assert found(env, "jobs", submitted(env, "nightly", "--dry-run")) == {}


def test_stages_run_one_after_another_and_hold_nothing_while_they_wait(env: Environment) -> None:
    run = submitted(env, "nightly")
    jobs = found(env, "jobs", run)
    assert set(jobs) == {"", "prepare", "train"}
    # Kueue has seen them, and admits none: a train that waits holds no GPU of the quota.
    env.lab.wait("Kueue to look at the stages", lambda: len(workloads(env, run)) == 2)
    assert not any(workloads(env, run).values())
    assert pods(env, run) == []
    (container,) = jobs["train"]["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert variables["INPUT_DATA"] == f"s3://acme-lake/pipelines/{run}/data"
    assert variables["OUTPUT_MODEL"] == f"s3://acme-lake/pipelines/{run}/model"

    done = stages(env, run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if "succeeded" in line] == [
        "prepare: succeeded",
        "train: succeeded",
        "serve: succeeded",
    ]
    jobs = found(env, "jobs", run)
    assert jobs["prepare"]["status"]["completionTime"] <= jobs["train"]["status"]["startTime"]
    assert {jobs[name]["metadata"]["labels"][QUEUE] for name in ("prepare", "train")} == {"vision"}
    served = json.loads(
        env.lab.kubectl("get", "deployment", "resource-chat", "--namespace", SPACE, "--output", "json").stdout
    )
    template = served["spec"]["template"]["metadata"]
    assert template["annotations"]["modelyard.dev/model"] == f"s3://acme-lake/pipelines/{run}/model"
    # What a run writes beside the plan is nobody's drift, and nothing that an apply would take back.
    assert "resource-chat" not in {target.name for target in env.plan().changed}
    # Another pod that takes over finds the run at its end, and changes nothing.
    again = stages(env, run)
    assert again.returncode == 0, again.stdout + again.stderr
    after = env.lab.request("GET", f"/apis/apps/v1/namespaces/{SPACE}/deployments/resource-chat").body
    assert after["metadata"]["generation"] == served["metadata"]["generation"]


def test_a_failed_stage_stops_what_needs_it_and_nothing_else(env: Environment) -> None:
    run = submitted(env, "broken")
    pause = {"spec": {"template": {"metadata": {"annotations": {"lab.modelyard/complete-after": "60s"}}}}}
    env.lab.kubectl("patch", "job", f"{run}-slow", "--namespace", SPACE, "--type=merge", f"--patch={json.dumps(pause)}")
    done = stages(env, run)
    assert done.returncode == 42, done.stdout + done.stderr
    assert {"slow: failed", "train: skipped", "beside: succeeded"} <= set(done.stdout.splitlines())
    train = found(env, "jobs", run)["train"]
    assert train["spec"]["suspend"] is True
    assert not [name for name in pods(env, run) if name.startswith(f"{run}-train")]


def test_who_starts_the_stages_may_touch_nothing_else(env: Environment) -> None:
    run = submitted(env, "broken")

    def may(*what: str) -> bool:
        who = f"--as=system:serviceaccount:{SPACE}:{run}"
        return env.lab.kubectl("auth", "can-i", *what, "--namespace", SPACE, who, check=False).stdout.strip() == "yes"

    assert may("patch", f"job/{run}-train")
    assert not may("patch", "job/another")
    assert not may("delete", f"job/{run}-train")
    assert not may("patch", "deployment/resource-chat")
    assert not may("list", "jobs")
    assert not may("create", "pods")
    assert not may("get", "secrets")
    env.lab.kubectl("delete", "job", run, "--namespace", SPACE)
    kinds = ("jobs", "roles", "rolebindings", "serviceaccounts")
    env.lab.wait("the end of what the run owned", lambda: not any(found(env, kind, run) for kind in kinds))
