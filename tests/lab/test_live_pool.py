"""A live pool with the real Kueue: runs that hold quota, wait, log and end."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.support.cli_process import cli_process
from tests.lab.support.environment import Environment
from tests.lab.support.live_pool import live_pool
from tests.lab.support.notebook_files import cell, write_notebook
from tests.lab.support.pod_logs import logs
from tests.lab.support.pool_stack import config, volume

SPARK = Path(__file__).parent / "crds" / "sparkoperator.k8s.io_sparkapplications.yaml"
POOL: dict[str, Any] = {
    "flavors": [{"name": "a10", "gpu": "A10"}],
    "teams": [{"name": "vision", "quotas": [{"flavor": "a10", "cpu": 8, "memory": "32Gi", "gpus": 2}]}],
    "runtime": {"image": "images.example.com/ml-platform/jobs:23.10.4"},
    "resources": [
        {"name": "deep", "type": "training", "team": "vision", "workers": 2, "cpu": 1, "memory": "2Gi", "gpus": 1},
        {"name": "wide", "type": "dataset", "team": "vision", "workers": 2, "cpu": 2, "memory": "8Gi", "gpus": 1},
    ],
    "jobs": [
        {"name": "train", "type": "training", "resource": "deep", "command": ["python", "train.py"]},
        {
            "name": "clicks",
            "type": "dataset",
            "resource": "wide",
            "command": ["local:///app/clicks.py", "--day", "1"],
            "engine": "spark",
            "spark": {"version": "3.5.7"},
        },
    ],
}


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A control plane with Kueue, two nodes of one A10 each, and the queues of one team."""
    with live_pool(tmp_path_factory.mktemp("live"), "job-run", POOL) as made:
        yield made


def submit(env: Environment) -> str:
    made = json.loads(env.modelyard("job", "submit", "dev", "train", "--json").stdout)
    assert made["template"] == "job-run@v2"
    return str(made["run"])


def state(env: Environment, run: str) -> str | None:
    runs = json.loads(env.modelyard("job", "list", "dev", "--all", "--json").stdout)["runs"]
    return next((one["state"] for one in runs if one["name"] == run), None)


@pytest.fixture
def running(env: Environment) -> str:
    """The only run, which is running: that of an earlier test, or a new one."""
    left = json.loads(env.modelyard("job", "list", "dev", "--json").stdout)["runs"]
    run = str(left[0]["name"]) if left else submit(env)
    env.lab.wait("the run", lambda: state(env, run) == "running")
    return run


@pytest.mark.quick
def test_cancelling_a_run_gives_its_quota_to_the_next(env: Environment) -> None:
    first = submit(env)
    env.lab.wait("the first run", lambda: state(env, first) == "running")
    second = submit(env)
    env.lab.wait("Kueue's words", lambda: "insufficient" in env.modelyard("job", "why", "dev", second).stdout)
    assert state(env, second) == "queued"

    live = json.loads(env.modelyard("gpus", "--live", "dev", "--json").stdout)
    (product,) = live["products"]
    assert [product[name] for name in ("product", "gpus", "taken", "free", "queued")] == ["NVIDIA-A10", 2, 2, 0, 2]
    assert product["idle"] is None
    ((taker,), (waiter,)) = live["takers"], live["waiting"]
    owner = taker["owner"]
    assert (owner["name"], owner["team"], owner["stack"], taker["gpus"]) == (first, "vision", "dev", 2)
    assert (waiter["owner"]["name"], waiter["owner"]["job"], waiter["place"]) == (second, "train", 1)
    (queue,) = live["queues"]
    assert (queue["team"], queue["waitingGpus"], queue["quotas"][0]["used"]) == ("vision", 2, 2)

    why = " ".join(env.modelyard("job", "why", "dev", second).stdout.split())
    for part in (
        "position 1 of 1 in queue team-vision",
        "a10: 2 of 2 used; cannot borrow",
        f"now held by {first} of vision (2 GPUs",
        "the nodes have room for 0 of 2 workers now",
        "0 of 1 GPUs free, each pod needs 1",
    ):
        assert part in why
    logs = env.modelyard("job", "logs", "dev", second, check=False)
    assert logs.returncode == 1

    refused = env.modelyard("job", "cancel", "dev", first, check=False)
    assert refused.returncode == 2
    assert state(env, first) == "running"
    assert json.loads(env.modelyard("job", "cancel", "dev", first, "--yes", "--json").stdout)["gpus"] == 2
    env.lab.wait("the second run", lambda: state(env, second) == "running")
    env.lab.wait("the end of the first", lambda: state(env, first) is None)
    assert env.lab.request("GET", f"/apis/batch/v1/namespaces/vision/jobs/{first}").status == 404


def test_logs_come_from_the_nodes_through_the_api_server(env: Environment, running: str, tmp_path: Path) -> None:
    """Pods of simulated nodes write no logs, so the logs are served from files."""
    run = running
    pods = env.lab.request("GET", "/api/v1/namespaces/vision/pods").body["items"]
    ours = sorted(pod["metadata"]["name"] for pod in pods if pod["metadata"]["labels"].get("modelyard.dev/run") == run)
    nodes = sorted({pod["spec"]["nodeName"] for pod in pods})
    written = {ours[0]: ["epoch 1", "loss 0.25", "größer"], ours[1]: ["epoch 1"]}
    with logs(env.lab, tmp_path, written, nodes):
        assert env.modelyard("job", "logs", "dev", run).stdout == (
            "[0] epoch 1\n[0] loss 0.25\n[0] größer\n[1] epoch 1\n"
        )
        assert env.modelyard("job", "logs", "dev", run, "--worker", "0", "--tail", "1").stdout == "größer\n"
        with cli_process(env, "job", "logs", "dev", run, "--worker", "1", "--follow") as following:
            assert following.process.stdout is not None
            assert following.process.stdout.readline() == "epoch 1\n"
            with (tmp_path / f"{ours[1]}.log").open("a") as file:
                file.write("2026-11-23T06:00:01.000000000Z stdout F epoch 2\n")
            assert following.process.stdout.readline() == "epoch 2\n"


def test_a_notebook_tolerates_a_taint_that_its_flavor_omits(env: Environment, tmp_path: Path) -> None:
    """The nodes have NVIDIA's taint, and the flavor only sets a GPU, as in a new stack."""
    for left in json.loads(env.modelyard("job", "list", "dev", "--json").stdout)["runs"]:
        env.modelyard("job", "cancel", "dev", left["name"], "--yes")
    for made in volume("workspace", "vision"):
        assert env.lab.request("POST", made.pop("path"), made).status == 201
    config(env, **POOL, notebooks={"image": "images.example.com/notebook:1", "path": str(tmp_path)})
    notebook = write_notebook(tmp_path / "train.ipynb", cell("print(1)"))
    submit = ("job", "submit", str(notebook), "--stack", "dev", "--team", "vision", "--device", "A10", "--json")
    name = json.loads(env.modelyard(*submit).stdout)["job"]
    env.lab.wait("its end", lambda: state(env, name) == "succeeded")
    (pod,) = [
        one
        for one in env.lab.request("GET", "/api/v1/namespaces/vision/pods").body["items"]
        if one["metadata"]["labels"].get("batch.kubernetes.io/job-name") == name
    ]
    assert pod["spec"]["nodeName"].startswith("dev-gpu-")


def test_job_why_reports_a_missing_queue(env: Environment) -> None:
    env.lab.kubectl("delete", "localqueue", "vision", "--namespace=vision")
    run = submit(env)
    env.lab.wait(
        "the cause",
        lambda: "namespace vision has no queue vision" in env.modelyard("job", "why", "dev", run).stdout,
    )


def test_a_spark_run_matches_its_schema_and_waits_suspended(env: Environment) -> None:
    """No Spark operator runs in the lab, so the application does not start."""
    refused = env.modelyard("job", "submit", "dev", "clicks", check=False)
    assert refused.returncode == 1
    assert "the cluster has no SparkApplication in sparkoperator.k8s.io/v1beta2" in " ".join(refused.stderr.split())
    env.lab.kubectl("apply", "--server-side", "--filename", str(SPARK))
    kind = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/vision/sparkapplications"
    env.lab.wait("the kind", lambda: env.lab.request("GET", kind).status == 200)
    (shown,) = json.loads(env.modelyard("job", "render", "dev", "clicks", "--json").stdout)["objects"]
    run = json.loads(env.modelyard("job", "submit", "dev", "clicks", "--json").stdout)["run"]
    assert state(env, run) == "queued"
    path = f"{kind}/{run}"
    spec = json.loads(json.dumps(env.lab.request("GET", path).body["spec"]).replace(run, "clicks"))
    assert _within(shown["spec"], spec) == shown["spec"]
    assert spec["suspend"] is True
    env.modelyard("job", "cancel", "dev", run, "--yes")
    env.lab.wait("its end", lambda: env.lab.request("GET", path).status == 404)


def _within(asked: Any, there: Any) -> Any:
    """The live value without the fields that the API server added."""
    if isinstance(asked, dict) and isinstance(there, dict):
        return {key: _within(value, there[key]) for key, value in asked.items() if key in there}
    if isinstance(asked, list) and isinstance(there, list):
        return [_within(*pair) for pair in zip(asked, there, strict=False)]
    return there
