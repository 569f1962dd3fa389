"""Pipelines on a real API server with the real Kueue: waiting stages hold no quota, failed ones stop those after them.

The lab's pods run nothing, so the program that starts the stages runs here, with the rights of its ServiceAccount.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, install
from tests.lab.support.environment import PATIENCE, Environment
from tests.lab.support.pool_stack import config

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
        {"name": "sweep", "type": "training", "command": ["python", "try.py"], "team": "vision", "trials": 2},
        {
            "name": "long",
            "type": "training",
            "resource": "deep",
            "command": ["python", "train.py"],
            "env": {"LAB_COMPLETE_AFTER": "1h"},
        },
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
                {"name": "search", "job": "sweep"},
            ],
        },
        {
            "name": "waiting",
            "stages": [{"name": "train", "job": "long"}, {"name": "again", "job": "long", "needs": ["train"]}],
        },
    ],
}


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """Nodes, Kueue, and the stack's queues and resources, as an apply would create them; no platform."""
    folder = tmp_path_factory.mktemp("pipelines")
    with Lab.start(folder / "lab", context="dev") as lab:
        install.nodes(lab, Path(install.__file__).parent / "platform" / "dev" / "nodes.yaml")
        lab.start_operators("kueue")
        made = Environment("dev", lab, folder / "project")
        config(made, **PIPELINES)
        lab.kubectl("create", "namespace", SPACE)
        bodies = [target.after.reveal() for target in made.plan().targets if target.action == "create"]
        assert len(bodies) == 4
        for body in bodies:
            text = json.dumps({**body, "metadata": {**body["metadata"], "managedFields": None}})
            lab.kubectl("apply", "--server-side", "--field-manager=modelyard", "--filename=-", stdin=text)
        yield made


def submitted(env: Environment, pipeline: str, *words: str) -> str:
    document = json.loads(env.modelyard("pipeline", "submit", "dev", pipeline, "--json", *words).stdout)
    return str(document["run"])


def found(env: Environment, kind: str, run: str) -> dict[str, dict[str, Any]]:
    """The objects of a run, by stage."""
    selector = f"modelyard.dev/pipeline-run={run}"
    out = env.lab.kubectl("get", kind, "--namespace", SPACE, "--selector", selector, "--output", "json")
    items = json.loads(out.stdout)["items"]
    return {one["metadata"]["labels"].get("modelyard.dev/stage", ""): one for one in items}


def pods(env: Environment, run: str) -> list[str]:
    """The pods of a run's stages, without the pod that starts them."""
    items = env.lab.request("GET", f"/api/v1/namespaces/{SPACE}/pods").body["items"]
    of = {one["metadata"]["name"]: one["metadata"].get("labels", {}).get("modelyard.dev/run", "") for one in items}
    return [name for name, job in of.items() if job.startswith(f"{run}-")]


def stages(env: Environment, run: str) -> subprocess.CompletedProcess[str]:
    """Runs the program of a run's pod, as its ServiceAccount."""
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
    """Whether each Kueue workload of a run's stages holds quota of the team."""
    items = env.lab.request("GET", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{SPACE}/workloads").body["items"]
    found = {
        one["metadata"]["ownerReferences"][0]["name"]: one.get("status", {}).get("conditions", ()) for one in items
    }
    return {
        name: any(one["type"] == "QuotaReserved" and one["status"] == "True" for one in conditions)
        for name, conditions in found.items()
        if name.startswith(f"{run}-")
    }


def variables(env: Environment, run: str, stage: str) -> dict[str, str | None]:
    """The environment variables of a stage's container."""
    (container,) = found(env, "jobs", run)[stage]["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value") for one in container["env"]}


def test_a_dry_run_creates_nothing(env: Environment) -> None:
    assert found(env, "jobs", submitted(env, "nightly", "--dry-run")) == {}


def test_a_run_continued_twice_reads_the_artifacts_of_the_first(env: Environment) -> None:
    first = submitted(env, "nightly")
    second = submitted(env, "nightly", "--from", "train", "--run", first)
    third = submitted(env, "nightly", "--from", "train", "--run", second)
    assert set(found(env, "jobs", third)) == {"", "train"}
    assert variables(env, third, "train")["INPUT_DATA"] == f"s3://acme-lake/pipelines/{first}/data"
    for run in (third, second, first):
        env.modelyard("job", "cancel", "dev", run, "--yes")
    later = env.modelyard("pipeline", "submit", "dev", "nightly", "--from", "train", "--run", second, "--dry-run")
    assert f"run {second} is not in the cluster" in " ".join(later.stderr.split())


@pytest.mark.quick
def test_stages_run_in_order_and_hold_no_quota_while_they_wait(env: Environment) -> None:
    run = submitted(env, "nightly")
    jobs = found(env, "jobs", run)
    assert set(jobs) == {"", "prepare", "train"}
    # Kueue has seen the workloads and admits none: a waiting stage holds no GPU of the quota.
    env.lab.wait("Kueue to look at the stages", lambda: len(workloads(env, run)) == 2)
    assert not any(workloads(env, run).values())
    assert pods(env, run) == []
    env_of_training = variables(env, run, "train")
    assert env_of_training["INPUT_DATA"] == f"s3://acme-lake/pipelines/{run}/data"
    assert env_of_training["OUTPUT_MODEL"] == f"s3://acme-lake/pipelines/{run}/model"

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
    # What a run writes is not drift, and an apply does not reset it.
    assert "resource-chat" not in {target.name for target in env.plan().changed}
    # Another pod that takes over finds the run complete and changes nothing.
    again = stages(env, run)
    assert again.returncode == 0, again.stdout + again.stderr
    after = env.lab.request("GET", f"/apis/apps/v1/namespaces/{SPACE}/deployments/resource-chat").body
    assert after["metadata"]["generation"] == served["metadata"]["generation"]


def lasts(env: Environment, job: str, time: str, **spec: int) -> None:
    """Sets how long the pods of a waiting Job run."""
    pause = {"spec": {**spec, "template": {"metadata": {"annotations": {"lab.modelyard/complete-after": time}}}}}
    env.lab.kubectl("patch", "job", job, "--namespace", SPACE, "--type=merge", f"--patch={json.dumps(pause)}")


def test_a_failed_stage_skips_only_stages_that_need_it(env: Environment) -> None:
    run = submitted(env, "broken")
    lasts(env, f"{run}-slow", "60s")
    # One trial of the search fails, and the other continues.
    lasts(env, f"{run}-search-0", "60s", activeDeadlineSeconds=1)
    lasts(env, f"{run}-search-1", "6s")
    done = stages(env, run)
    assert done.returncode == 42, done.stdout + done.stderr
    assert {"slow: failed", "train: skipped", "beside: succeeded", "search: failed"} <= set(done.stdout.splitlines())
    # The program does not end before any of its stages.
    trial = env.lab.request("GET", f"/apis/batch/v1/namespaces/{SPACE}/jobs/{run}-search-1").body
    assert trial["status"].get("succeeded") == 1
    train = found(env, "jobs", run)["train"]
    assert train["spec"]["suspend"] is True
    assert not [name for name in pods(env, run) if name.startswith(f"{run}-train")]


def listed_run(env: Environment, run: str) -> dict[str, Any]:
    """A run in ``job list``."""
    runs = json.loads(env.modelyard("job", "list", "dev", "--all", "--json").stdout)["runs"]
    (found,) = [one for one in runs if one["name"] == run]
    return dict(found)


def test_the_state_of_a_run_follows_its_stages(env: Environment) -> None:
    """The Job that starts the stages ends before them here, because its simulated pod runs for a second."""
    holder = json.loads(env.modelyard("job", "submit", "dev", "long", "--json").stdout)["run"]
    run = submitted(env, "waiting")
    leader = f"/apis/batch/v1/namespaces/{SPACE}/jobs/{run}"
    env.lab.wait("the end", lambda: env.lab.request("GET", leader).body["status"].get("succeeded") == 1)
    assert [listed_run(env, run)[key] for key in ("state", "team")] == ["held", "vision"]
    (cause,) = json.loads(env.modelyard("job", "why", "dev", run, "--json").stdout)["causes"]
    assert (cause["about"], "ended," in cause["summary"].split()) == ("queue", True)

    # The stage is queued some seconds after the submission.
    env.lab.wait("the holder", lambda: listed_run(env, holder)["state"] == "running")
    time.sleep(3)
    with ThreadPoolExecutor(1) as pool:
        starter = pool.submit(stages, env, run)
        env.lab.wait("Kueue's words", lambda: "insufficient" in env.modelyard("job", "why", "dev", run).stdout)
        waits = listed_run(env, run)
        assert waits["state"] == "queued"
        (waiter,) = json.loads(env.modelyard("gpus", "--live", "dev", "--json").stdout)["waiting"]
        assert (waiter["owner"]["name"], waiter["owner"]["stage"]) == (run, "train")
        since = datetime.fromisoformat(waiter["since"])
        assert (since - datetime.fromisoformat(waits["created"])).total_seconds() >= 3
        age = int((datetime.now(UTC) - since).total_seconds())
        # The name of the stage's Job finds the run.
        (head, *_) = env.modelyard("job", "why", "dev", f"{run}-train").stdout.splitlines()
        said = re.fullmatch(rf"{run} has been waiting for its GPUs for (\d+)s \(1 stage\)", head)
        assert said is not None, head
        assert age <= int(said[1]) <= age + 3
        asked = env.modelyard("job", "cancel", "dev", run, check=False)
        assert (asked.returncode, waits["holds"]) == (2, 0)

        assert ended(env, holder) == 1
        env.lab.wait("the stage", lambda: listed_run(env, run)["state"] == "running")
        assert f"{run} (stage train)" in env.modelyard("gpus", "--live", "dev").stdout
        assert ended(env, run) == 1
        assert starter.result().returncode != 0
    env.lab.wait("the end of its stages", lambda: not found(env, "jobs", run))


def ended(env: Environment, run: str) -> int:
    """Cancels a run; returns the GPUs that become free."""
    return int(json.loads(env.modelyard("job", "cancel", "dev", run, "--yes", "--json").stdout)["gpus"])


def test_the_account_that_starts_stages_may_do_nothing_else(env: Environment) -> None:
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
