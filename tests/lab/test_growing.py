"""A job on Ray grows on the real Kueue and KubeRay: it starts with one worker, and gets more as GPUs free up.

The lab's pods run nothing, not even Ray's autoscaler. So one test writes what the autoscaler writes, with the
rights that KubeRay gives it: ``replicas`` of the RayCluster, and the workers to delete. In another test, Ray's
autoscaler and the workers run as processes of this machine, with the settings of their containers.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import Lab, install
from tests.lab.support.environment import Environment, environment
from tests.lab.support.pool_stack import config, node
from tests.lab.support.training_processes import Containers, Names, Results, kill, names, ray_cluster
from tests.support.web_servers import Quiet, listening

LONG = 240
"""Seconds to wait for Ray processes."""
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
PODS = "/api/v1/namespaces/vision/pods"
RAY = "/apis/ray.io/v1/namespaces/vision"
STAYS = {"type": "training", "team": "vision", "command": ["python", "train.py"], "env": {"LAB_COMPLETE_AFTER": "1h"}}
PROGRAM = """\
import os, sys, time
import ray

ray.init(log_to_driver=False)


@ray.remote(num_gpus=1)
def train(number, released):
    while not os.path.exists(released):
        time.sleep(0.2)


todo, running = list(range(8)), []
while todo or running:
    while todo and len(running) <= ray.cluster_resources().get("GPU", 0):
        running.append(train.remote(todo.pop(), sys.argv[1]))
    _, running = ray.wait(running, timeout=1)
time.sleep(600)
"""
"""The program of the guide: it starts one more task than the cluster has GPUs."""
STACK: dict[str, Any] = {
    "runtime": {"image": "images.example.com/ml-platform/jobs:23.10.4"},
    "flavors": [
        {"name": "a30", "gpu": "A30", "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
        {"name": "any"},
    ],
    "teams": [
        {
            "name": "vision",
            "quotas": [
                {"flavor": "a30", "cpu": 8, "memory": "64Gi", "gpus": 4},
                {"flavor": "any", "cpu": 16, "memory": "64Gi"},
            ],
        }
    ],
    "resources": [
        {"name": name, "type": "training", "workers": workers, "cpu": 1, "memory": "2Gi", "gpus": 1, "gpu": "A30"}
        for name, workers in (("one", 1), ("three", 3))
    ],
    "jobs": [
        {"name": "single", "resource": "one", **STAYS},
        {"name": "grow", "resource": "three", "engine": "ray", "leastWorkers": 1, **STAYS},
    ],
}


class Dashboard(Quiet):
    """The dashboard of a Ray head with a running job."""

    def do_GET(self) -> None:
        self.answer(b'{"status": "RUNNING"}')


@pytest.fixture(scope="module")
def services() -> Iterator[Names]:
    """A proxy that sends requests for Services to the dashboard of a Ray head."""
    with names() as made, listening(Dashboard) as made.lead_to:
        yield made


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory, services: Names) -> Iterator[Environment]:
    """A team with a quota of four GPUs, one on each node."""
    folder = tmp_path_factory.mktemp("growing")
    with environment("dev", folder) as made:
        nodes = [node(f"a30-{number}", "rack-1") for number in range(1, 5)]
        (folder / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        install.nodes(made.lab, folder / "nodes.json")
        made.lab.kubectl("create", "namespace", "vision")
        made.lab.start_operators("kueue", "kuberay", proxy=services.url)
        config(made, **STACK)
        made.modelyard("apply", "dev", "--yes")
        yield made


def items(lab: Lab, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lab.request("GET", path).body["items"]
    return found


def submit(env: Environment, job: str) -> str:
    """Starts a run; returns its name."""
    return str(json.loads(env.modelyard("job", "submit", "dev", job, "--json").stdout)["run"])


def cancel(env: Environment, run: str) -> None:
    env.modelyard("job", "cancel", "dev", run, "--yes")


def holds(lab: Lab, run: str, gpus: int) -> set[str]:
    """Waits until a run has pods on this number of GPU nodes; returns their names."""

    def found() -> set[str]:
        return {
            pod["metadata"]["name"]
            for pod in items(lab, PODS)
            if pod["metadata"]["labels"].get("modelyard.dev/run") == run
            and pod["spec"].get("nodeName", "").startswith("a30-")
            and "deletionTimestamp" not in pod["metadata"]
            and pod["status"]["phase"] == "Running"
        }

    lab.wait(f"{run} on {gpus} GPUs", lambda: len(found()) == gpus)
    return found()


def workers(lab: Lab) -> list[dict[str, Any]]:
    """The worker pods, including pending ones."""
    return [pod for pod in items(lab, PODS) if pod["metadata"]["labels"].get("ray.io/node-type") == "worker"]


def request_workers(lab: Lab, number: int, *gone: str) -> None:
    """Requests a number of workers and the deletion of the workers ``gone``, as Ray's autoscaler does."""
    (cluster,) = items(lab, f"{RAY}/rayclusters")
    name, group = cluster["metadata"]["name"], "/spec/workerGroupSpecs/0"
    patch: list[dict[str, Any]] = [{"op": "replace", "path": f"{group}/replicas", "value": number}]
    if gone:
        patch.append({"op": "add", "path": f"{group}/scaleStrategy", "value": {"workersToDelete": [*gone]}})
    account = f"--as=system:serviceaccount:vision:{name}"
    lab.kubectl("patch", "rayclusters", name, "-n=vision", "--type=json", f"--patch={json.dumps(patch)}", account)


def why(env: Environment, run: str) -> str:
    return " ".join(env.modelyard("job", "why", "dev", run).stdout.split())


def used(lab: Lab) -> int:
    """GPUs of the team's quota that are in use."""
    (queue,) = items(lab, f"{KUEUE}/clusterqueues")
    flavors = queue["status"]["flavorsReservation"]
    return sum(int(one["total"]) for flavor in flavors for one in flavor["resources"] if "gpu" in one["name"])


def growing(env: Environment) -> tuple[list[str], str, set[str], dict[str, Any]]:
    """Three runs that use the other GPUs; a run that grows, the node of its first worker, and its head's pod."""
    lab = env.lab
    others = [submit(env, "single") for _ in range(3)]
    for other in others:
        holds(lab, other, 1)
    run = submit(env, "grow")
    first = holds(lab, run, 1)
    (head,) = [pod for pod in items(lab, PODS) if pod["metadata"]["labels"].get("ray.io/node-type") == "head"]
    return others, run, first, head


def test_a_ray_job_starts_with_one_gpu_and_grows_as_gpus_free_up(env: Environment) -> None:
    lab = env.lab
    others, run, first, head = growing(env)
    (autoscaler,) = [one for one in head["spec"]["containers"] if one["name"] == "autoscaler"]
    assert {"name": "AUTOSCALER_MAX_CONCURRENT_LAUNCHES", "value": "1"} in autoscaler["env"]

    def status() -> dict[str, Any]:
        (found,) = items(lab, f"{RAY}/rayjobs")
        return dict(found["status"])

    # No worker is requested before the job runs.
    lab.wait("its job to run", lambda: status().get("jobStatus") == "RUNNING")
    request_workers(lab, 2)
    lab.wait("the refusal of its second worker", lambda: "the run asks for 1 GPU more" in why(env, run))
    assert used(lab) == 4
    (waiting,) = [pod for pod in workers(lab) if pod["metadata"]["name"] not in first]
    assert {"name": "kueue.x-k8s.io/elastic-job"} in waiting["spec"]["schedulingGates"]
    helps = json.loads(env.modelyard("job", "why", "dev", run, "--json").stdout)["help"]
    assert [text for text in helps if min(others) in text.split()], helps
    cancel(env, others[0])
    second = holds(lab, run, 2)
    request_workers(lab, 3)
    cancel(env, others[1])
    third = holds(lab, run, 3)
    # A growing run keeps its workers.
    assert first < second < third
    lab.wait("its status", lambda: status()["rayClusterStatus"].get("readyWorkerReplicas") == 3)
    (listed,) = [
        one for one in json.loads(env.modelyard("job", "list", "dev", "--json").stdout)["runs"] if one["name"] == run
    ]
    assert (listed["state"], listed["gpus"]) == ("running", 3)
    # The run is at its maximum: KubeRay creates no more workers, even on request.
    request_workers(lab, 4)
    lab.wait("Kueue to look at it", lambda: "the run asks for 1 GPU more" in why(env, run))
    assert len(workers(lab)) == 3
    # Other runs get the GPUs that it frees.
    request_workers(lab, 1, *sorted(third - first))
    assert holds(lab, run, 1) == first
    lab.wait("its quota", lambda: used(lab) == 2)
    # A request is admitted as a whole: one GPU is free, and the run requests two.
    last = submit(env, "single")
    holds(lab, last, 1)
    request_workers(lab, 3)
    lab.wait("the refusal of two workers", lambda: "the run asks for 2 GPUs more" in why(env, run))
    lab.wait("the quota of both runs and the other", lambda: used(lab) == 3)
    cancel(env, last)
    assert first < holds(lab, run, 3)
    # The start limit has not evicted the run, and its end frees all GPUs.
    conditions = [each for one in items(lab, f"{KUEUE}/workloads") for each in one["status"]["conditions"]]
    assert not [each for each in conditions if each["type"] == "Evicted"]
    cancel(env, run)
    lab.wait("all of its quota", lambda: used(lab) == 1)
    cancel(env, others[2])
    lab.wait("the end of all pods", lambda: not items(lab, PODS))


def test_kueue_rejects_autoscaling_without_the_elastic_annotation(env: Environment) -> None:
    """Without its feature, Kueue ignores the annotation and also rejects the run."""
    body = yaml.safe_load(env.modelyard("job", "render", "dev", "grow").stdout)
    path = f"{RAY}/rayjobs?dryRun=All"
    assert env.lab.request("POST", path, body).status == 201
    del body["metadata"]["annotations"]
    refused = env.lab.request("POST", path, body)
    words = "a kueue managed job should only use autoscaling when workload slicing is enabled"
    assert refused.status == 403 and words in refused.body["message"]


def identity(pod: str, group: str) -> dict[str, str]:
    """The variables that KubeRay sets in the container of a pod."""
    return {"RAY_CLOUD_INSTANCE_ID": pod, "RAY_NODE_TYPE_NAME": group, "RAY_USAGE_STATS_KUBERAY_IN_USE": "1"}


def test_rays_autoscaler_requests_one_worker_at_a_time(env: Environment, tmp_path: Path) -> None:
    lab = env.lab
    others, run, first, head = growing(env)
    (container,) = [one for one in head["spec"]["containers"] if one["name"] == "autoscaler"]
    given = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    (tmp_path / "program.py").write_text(PROGRAM)

    def asked() -> int:
        (cluster,) = items(lab, f"{RAY}/rayclusters")
        return int(cluster["spec"]["workerGroupSpecs"][0]["replicas"])

    with ray_cluster(
        tmp_path / "ray", Results(tmp_path / "results"), **identity(head["metadata"]["name"], "headgroup")
    ) as ray:
        processes = {"worker": lambda pod: ray.work(pod, **identity(pod, "workers"))}
        with Containers(lab, processes, "vision", "ray.io/node-type"):
            (cluster,) = items(lab, f"{RAY}/rayclusters")
            program = ray.program(str(tmp_path / "program.py"), str(tmp_path / "released"))
            started = [program, ray.autoscale(lab, cluster, **given)]
            try:
                lab.wait("a request for a second worker", lambda: asked() == 2, LONG)
                # Waits for four more passes of the autoscaler.
                time.sleep(20)
                assert asked() == 2
                cancel(env, others[0])
                second = holds(lab, run, 2)
                lab.wait("a request for a third worker", lambda: asked() == 3, LONG)
                cancel(env, others[1])
                third = holds(lab, run, 3)
                assert first < second < third
                time.sleep(20)
                # The cluster is at its maximum, although tasks wait.
                assert asked() == 3
                (tmp_path / "released").touch()
                # After an idle minute, only the minimum of workers stays.
                lab.wait("the return of two workers", lambda: asked() == 1, LONG)
                holds(lab, run, 1)
                lab.wait("the return of their quota", lambda: used(lab) == 2)
            finally:
                for process in started:
                    kill(process)
    cancel(env, run)
    cancel(env, others[2])
    lab.wait("the end of all pods", lambda: not items(lab, PODS))
