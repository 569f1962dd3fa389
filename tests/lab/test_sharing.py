"""Teams share GPUs with the real Kueue: quotas, borrowing, gangs, topology, searches and Ray clusters.

Four nodes with one A30 each, in two racks. Vision has a quota of one of these GPUs and speech of three; robots has
its own quota of an A10, CPU and memory.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, install
from tests.lab.support.cli_process import cli_process
from tests.lab.support.environment import Environment, comparable, environment
from tests.lab.support.pool_stack import HOST, RACK, config, node, pool
from tests.lab.support.training_processes import START, Names, Results, names, ray_cluster, until

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
STAYS = {"env": {"LAB_COMPLETE_AFTER": "1h"}, "type": "training"}
ROOM = {"flavor": "any", "cpu": 16, "memory": "64Gi"}


def sharing(name: str, gpus: int, flavor: str = "a30") -> dict[str, Any]:
    """A team with a quota of GPUs, which other teams of its cohort may borrow."""
    own = {"flavor": flavor, "cpu": 8, "memory": "64Gi", "gpus": gpus}
    return {"name": name, "cohort": "research", "quotas": [own, ROOM]}


STACK: dict[str, Any] = {
    "runtime": {"image": "images.example.com/ml-platform/jobs:23.10.4"},
    "flavors": [
        {"name": "a30", "gpu": "A30", "tolerations": [TAINT], "topology": [RACK, HOST]},
        {"name": "a10", "gpu": "A10", "tolerations": [TAINT]},
        {"name": "any"},
    ],
    "teams": [
        sharing("vision", 1),
        sharing("speech", 3),
        {"name": "robots", "quotas": [{"flavor": "a10", "gpus": 1}, ROOM]},
    ],
    "resources": [
        {"name": name, "type": "training", "workers": workers, "cpu": 1, "memory": "2Gi", "gpus": 1, "gpu": "A30"}
        for name, workers in (("one", 1), ("two", 2), ("four", 4))
    ]
    + [
        {"name": "old", "type": "training", "workers": 1, "cpu": 1, "memory": "2Gi", "gpus": 1},
        {"name": "none", "type": "dataset", "workers": 1, "cpu": 1, "memory": "2Gi"},
    ],
    "jobs": [
        {"name": name, "command": ["python", "train.py"], **STAYS, **rest}
        for name, rest in {
            "search": {"resource": "one", "team": "vision", "trials": 6},
            "single": {"resource": "one", "team": "speech"},
            "pair": {"resource": "two", "team": "speech"},
            "gang": {"resource": "four", "team": "vision"},
            "smaller": {"resource": "four", "team": "vision", "leastWorkers": 2},
            "near": {"resource": "two", "team": "vision", "together": RACK},
            "scattered": {"resource": "four", "team": "vision", "together": RACK},
            "ray": {"resource": "two", "team": "vision", "engine": "ray", "timeLimit": "20s"},
            "apart": {"resource": "old", "team": "robots"},
            "clean": {"resource": "none", "team": "robots", "type": "dataset"},
            "sort": {"resource": "none", "team": "vision", "type": "dataset"},
        }.items()
    ],
}


@pytest.fixture(scope="module")
def services() -> Iterator[Names]:
    """A proxy for requests to Services."""
    with names() as made:
        yield made


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory, services: Names) -> Iterator[Environment]:
    folder = tmp_path_factory.mktemp("sharing")
    with environment("dev", folder) as made:
        nodes = [node(f"a30-{number}", f"rack-{number // 3}") for number in range(1, 5)]
        (folder / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        install.nodes(made.lab, folder / "nodes.json")
        for team in STACK["teams"]:
            made.lab.kubectl("create", "namespace", team["name"])
        made.lab.start_operators("kueue", "kuberay", proxy=services.url)
        made.modelyard("apply", "dev", "--yes")
        yield made


def without(body: dict[str, Any], name: str) -> dict[str, Any]:
    """An object without a field of its metadata."""
    return {**body, "metadata": {key: value for key, value in body["metadata"].items() if key != name}}


def items(lab: Lab, path: str) -> list[dict[str, Any]]:
    """Objects of all teams."""
    found: list[dict[str, Any]] = lab.request("GET", path).body["items"]
    return found


def pods(lab: Lab, *runs: str) -> list[dict[str, Any]]:
    """Pods of runs that are on a node and not being deleted."""
    return [
        pod
        for pod in items(lab, "/api/v1/pods")
        if pod["metadata"].get("labels", {}).get("modelyard.dev/run") in runs
        and "nodeName" in pod["spec"]
        and "deletionTimestamp" not in pod["metadata"]
        and pod["status"]["phase"] == "Running"
    ]


def nodes_of(lab: Lab, *runs: str) -> list[str]:
    """The nodes of the pods of runs, sorted."""
    return sorted(pod["spec"]["nodeName"] for pod in pods(lab, *runs))


def active(lab: Lab) -> bool:
    """Whether every queue is active."""
    conditions = [one.get("status", {}).get("conditions", []) for one in items(lab, f"{KUEUE}/clusterqueues")]
    return all(any(each["type"] == "Active" and each["status"] == "True" for each in one) for one in conditions)


def waits(lab: Lab, run: str) -> list[str]:
    """Why Kueue does not admit each workload of a run; empty if it does, or has not considered it yet."""
    found = []
    for one in items(lab, f"{KUEUE}/workloads"):
        conditions = one.get("status", {}).get("conditions", [])
        words = [each["message"] for each in conditions if (each["type"], each["status"]) == ("QuotaReserved", "False")]
        if one["metadata"]["ownerReferences"][0]["name"].startswith(run):
            found.append("".join(words))
    return found


def waiting(lab: Lab, run: str) -> str:
    """Why Kueue does not admit a run; empty if it does."""
    return "".join(waits(lab, run))


class Runs:
    """The runs of one test, which are deleted when it ends."""

    def __init__(self, env: Environment) -> None:
        self.env, self.lab, self.names = env, env.lab, list[str]()

    def submit(self, job: str) -> str:
        """Starts a run; returns its name."""
        run = str(json.loads(self.env.modelyard("job", "submit", "dev", job, "--json").stdout)["run"])
        self.names.append(run)
        return run

    def end(self, run: str) -> None:
        """Deletes all objects of a run."""
        for kind in ("jobs", "rayjobs.ray.io"):
            selector = f"--selector=modelyard.dev/run={run}"
            for team in STACK["teams"]:
                self.lab.kubectl("delete", kind, selector, f"--namespace={team['name']}", "--wait=false")

    def holds(self, run: str, gpus: int) -> None:
        """Waits until a run has this number of pods on nodes with A30s."""
        self.lab.wait(f"{run} on {gpus} GPUs", lambda: nodes_on(self.lab, run) == gpus)


def nodes_on(lab: Lab, run: str) -> int:
    """The number of a run's pods on nodes with A30s."""
    return sum(name.startswith("a30-") for name in nodes_of(lab, run))


@pytest.fixture(scope="module")
def shared(env: Environment) -> Environment:
    """The applied stack, with all queues active."""
    config(env, **STACK)
    if env.plan().changed:
        env.modelyard("apply", "dev", "--yes")
    env.lab.wait("the queues to be active", lambda: active(env.lab))
    return env


@pytest.fixture
def runs(shared: Environment) -> Iterator[Runs]:
    env = shared
    config(env, **STACK)
    made = Runs(env)
    yield made
    for run in made.names:
        made.end(run)
    env.lab.wait(
        "all GPUs to be free", lambda: not pods(env.lab, *made.names) and not items(env.lab, f"{KUEUE}/workloads")
    )


def test_live_queues_match_the_plan(env: Environment) -> None:
    config(env, **STACK)
    plan = env.plan()
    assert not plan.blocked
    found = pool(plan)
    assert {kind for kind, _, _ in found} == {"Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"}
    env.modelyard("apply", "dev", "--yes")
    for target in found.values():
        live = env.get(target.key)
        assert live is not None
        # Kueue sets finalizers on objects in use.
        assert (
            comparable(without(live, "finalizers"))["object"]
            == comparable(without(target.after.reveal(), "finalizers"))["object"]
        )
    assert env.plan().changed == ()
    assert env.up().changed == []
    env.lab.wait("the queues to be active", lambda: active(env.lab))


def test_a_search_starts_with_one_gpu_and_grows_as_gpus_free_up(runs: Runs) -> None:
    lab = runs.lab
    single, pair = runs.submit("single"), runs.submit("pair")
    # The other team uses its three GPUs: one of the four is free.
    runs.holds(single, 1)
    runs.holds(pair, 2)
    search = runs.submit("search")

    def refused() -> bool:
        said = waits(lab, search)
        return len(said) == 6 and any("insufficient" in words for words in said)

    lab.wait("its second trial to be refused", refused)
    first = begun(runs, search, 1)
    runs.end(single)
    second = begun(runs, search, 2)
    runs.end(pair)
    # Growing stops no running trial.
    assert first < second < begun(runs, search, 4)


def begun(runs: Runs, search: str, gpus: int) -> set[str]:
    """Waits until a search has this number of GPUs; returns its pods."""
    runs.holds(search, gpus)
    return {pod["metadata"]["uid"] for pod in pods(runs.lab, search)}


def test_a_search_borrows_gpus_and_returns_them(env: Environment, runs: Runs) -> None:
    lab = env.lab
    mine = runs.submit("single")
    runs.holds(mine, 1)
    search = runs.submit("search")
    # One GPU of its own quota, and two that the other team does not use.
    runs.holds(search, 3)
    # Each trial is deleted separately when its time to live is over.
    trials = [one for one in items(lab, "/apis/batch/v1/namespaces/vision/jobs") if search in one["metadata"]["name"]]
    assert len(trials) == 6
    assert not any("ownerReferences" in one["metadata"] for one in trials)
    runs.end(mine)
    runs.holds(search, 4)
    pair = runs.submit("pair")
    # The other team reclaims two GPUs of its quota.
    runs.holds(pair, 2)
    runs.holds(search, 2)
    evicted = [
        each["reason"]
        for one in items(lab, f"{KUEUE}/workloads")
        for each in one["status"]["conditions"]
        if each["type"] == "Preempted" and each["status"] == "True"
    ]
    assert set(evicted) == {"InCohortReclamation"}
    runs.end(pair)
    runs.holds(search, 4)


def test_a_gang_starts_whole_or_not_at_all(env: Environment, runs: Runs) -> None:
    lab = env.lab
    single = runs.submit("single")
    runs.holds(single, 1)
    gang = runs.submit("gang")
    lab.wait("a reason to wait", lambda: "insufficient" in waiting(lab, gang))
    assert pods(lab, gang) == []
    runs.end(single)
    runs.holds(gang, 4)


def test_a_gang_may_start_with_fewer_workers(env: Environment, runs: Runs) -> None:
    pair = runs.submit("pair")
    runs.holds(pair, 2)
    smaller = runs.submit("smaller")
    runs.holds(smaller, 2)
    (job,) = items(env.lab, "/apis/batch/v1/namespaces/vision/jobs")
    assert (job["spec"]["parallelism"], job["spec"]["suspend"]) == (2, False)


def test_workers_that_stay_together_share_a_rack_or_wait(env: Environment, runs: Runs) -> None:
    lab = env.lab
    scattered = runs.submit("scattered")
    lab.wait("a reason to wait", lambda: "2 out of 4" in waiting(lab, scattered))
    # Four GPUs are free, two in each rack, so the run does not start.
    assert pods(lab, scattered) == []
    said = json.loads(env.modelyard("job", "why", "dev", scattered, "--json").stdout)
    (nodes,) = [cause["summary"] for cause in said["causes"] if cause["about"] == "nodes"]
    (remedy,) = [text for text in said["help"] if "`together`" in text]
    for text in (nodes, remedy):
        assert f" {RACK} " in text
        assert " 2 of 4 workers " in text
    near = runs.submit("near")
    runs.holds(near, 2)
    assert nodes_of(lab, near) in (["a30-1", "a30-2"], ["a30-3", "a30-4"])


def test_a_flavor_with_a_topology_admits_only_topology_requests(env: Environment, runs: Runs) -> None:
    """So modelyard's runs without ``together`` request any topology."""
    asked = {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1"}
    container = {"name": "job", "image": "images.example.com/job:1", "resources": {"limits": asked, "requests": asked}}
    pod = {"restartPolicy": "Never", "tolerations": [TAINT], "containers": [container]}
    bare = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "bare", "labels": {"kueue.x-k8s.io/queue-name": "speech", "modelyard.dev/run": "bare"}},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
    assert env.lab.request("POST", "/apis/batch/v1/namespaces/speech/jobs", bare).status == 201
    runs.names.append("bare")
    env.lab.wait("a reason to wait", lambda: "only TopologyAwareScheduling" in waiting(env.lab, "bare"))


@pytest.mark.quick
def test_a_ray_cluster_uses_the_right_nodes_and_frees_them(env: Environment, runs: Runs) -> None:
    lab = env.lab
    run = runs.submit("ray")
    runs.holds(run, 2)
    lab.wait("its head", lambda: len(pods(lab, run)) == 3)
    heads = [pod for pod in pods(lab, run) if pod["metadata"]["labels"]["ray.io/node-type"] == "head"]
    assert [pod["spec"]["nodeName"].startswith("dev-cpu-") for pod in heads] == [True]
    (used,) = [
        sum(
            int(each["total"])
            for one in queue["status"]["flavorsReservation"]
            for each in one["resources"]
            if "gpu" in each["name"]
        )
        for queue in items(lab, f"{KUEUE}/clusterqueues")
        if queue["metadata"]["name"] == "team-vision"
    ]
    assert used == 2
    # Its time limit is 20 seconds; then the RayCluster is deleted.
    lab.wait("the end of its pods", lambda: not pods(lab, run))
    lab.wait("its quota", lambda: not items(lab, "/apis/ray.io/v1/rayclusters"))


def test_a_successful_ray_job_frees_its_gpus(env: Environment, runs: Runs, services: Names, tmp_path: Path) -> None:
    lab, released = env.lab, tmp_path / "released"
    ends = ["sh", "-c", f"until [ -e {released} ]; do sleep 0.1; done"]
    work = {"name": "ends", "type": "training", "resource": "two", "team": "vision", "engine": "ray", "command": ends}
    config(env, jobs=[work])
    with ray_cluster(tmp_path / "ray", Results(tmp_path / "results")) as ray:
        services.lead_to = ray.dashboard
        run = runs.submit("ends")

        def job() -> dict[str, Any]:
            (found,) = items(lab, "/apis/ray.io/v1/rayjobs")
            return dict(found)

        # Until Kueue admits the RayJob, KubeRay may replace its job id.
        runs.holds(run, 2)
        lab.wait("its id", lambda: bool(job().get("status", {}).get("jobId")))
        # Nodes are simulated, so this submits the job and waits for its end, as the submitter's container does.
        ray.run(known := job()["status"]["jobId"], job()["spec"]["entrypoint"])
        until("Ray to run it", lambda: ray.states()[known] == "RUNNING", START)
        lab.wait("it to run", lambda: job()["status"].get("jobStatus") == "RUNNING")
        released.touch()
        lab.wait("its success", lambda: job()["status"]["jobStatus"] == "SUCCEEDED")
        submitter = f"--selector=job-name={job()['metadata']['name']}"
        lab.kubectl("annotate", "pods", submitter, "lab.modelyard/complete-after=0s", "--namespace=vision")
        lab.wait("its end", lambda: job()["status"]["jobDeploymentStatus"] == "Complete")
        services.lead_to = ""
    lab.wait("the end of its pods", lambda: not pods(lab, run))
    lab.wait("the end of its cluster", lambda: not items(lab, "/apis/ray.io/v1/rayclusters"))
    listed = json.loads(env.modelyard("job", "list", "dev", "--all", "--json").stdout)["runs"]
    assert [one["state"] for one in listed if one["name"] == run] == ["succeeded"]


def test_jobs_without_gpus_run_on_cpu_nodes(env: Environment, runs: Runs) -> None:
    lab = env.lab
    made = [runs.submit("clean"), runs.submit("sort"), runs.submit("apart")]
    lab.wait("all of them", lambda: len(pods(lab, *made)) == 3)
    places = [nodes_of(lab, run)[0].rsplit("-", 1)[0] for run in made]
    assert places == ["dev-cpu", "dev-cpu", "dev-gpu"]


def test_dropping_a_team_reports_its_run_and_waits_for_it(env: Environment, runs: Runs) -> None:
    run = runs.submit("clean")
    queue = f"{KUEUE}/clusterqueues/team-robots"

    def found() -> dict[str, Any]:
        return dict(env.lab.request("GET", queue).body)

    env.lab.wait("its quota", lambda: found().get("status", {}).get("reservingWorkloads") == 1)
    teams = [team for team in STACK["teams"] if team["name"] != "robots"]
    config(env, teams=teams, jobs=[job for job in STACK["jobs"] if job["team"] != "robots"])
    (told,) = [one for one in env.plan().findings if one.code == "QUE013"]
    assert told.summary == "team-robots is deleted, and 1 run holds its quota"
    with cli_process(env, "apply", "dev", "--yes") as apply:
        env.lab.wait("the delete of the queue", lambda: "deletionTimestamp" in found()["metadata"])
        assert not apply.ends_within(3)
        env.modelyard("job", "cancel", "dev", run, "--yes")
        code, _, said = apply.end()
    assert code == 0, said
    assert [one["metadata"]["name"] for one in items(env.lab, f"{KUEUE}/clusterqueues")] == [
        "team-speech",
        "team-vision",
    ]
    assert env.plan().changed == ()
    config(env, **STACK)


def test_immutable_kueue_objects_are_replaced(shared: Environment) -> None:
    env = shared
    flavors = [{**STACK["flavors"][0], "labels": {"example.com/room": "a"}}, *STACK["flavors"][1:]]
    config(env, flavors=flavors)
    plan = env.plan()
    assert "QUE009" in {one.code for one in plan.findings}
    # The API server reports the immutable field too.
    assert any("nodeLabels are immutable" in f"{one.summary} {one.detail}" for one in plan.findings)
    flavors[0]["name"] = "a30-2"
    teams = [sharing("vision", 1, "a30-2"), sharing("speech", 3, "a30-2"), STACK["teams"][2]]
    config(env, flavors=flavors, teams=teams)
    env.modelyard("apply", "dev", "--yes")
    assert env.plan().changed == ()
    names = {one["metadata"]["name"] for one in items(env.lab, f"{KUEUE}/resourceflavors")}
    assert names == {"a30-2", "a10", "any"}
    assert [one["metadata"]["name"] for one in items(env.lab, f"{KUEUE}/topologies")] == ["topology-a30-2"]


def test_destroy_waits_for_a_run_that_holds_quota(env: Environment, runs: Runs) -> None:
    run = runs.submit("sort")
    env.lab.wait("its pod", lambda: len(pods(env.lab, run)) == 1)

    def queue() -> dict[str, Any]:
        found: dict[str, Any] = env.lab.request("GET", f"{KUEUE}/clusterqueues/team-vision").body["metadata"]
        return found

    with cli_process(env, "destroy", "dev", "--yes") as destroy:
        env.lab.wait("the delete of the queue", lambda: "deletionTimestamp" in queue())
        # Kueue keeps the queue while the run holds quota, and the engine waits.
        assert "kueue.x-k8s.io/resource-in-use" in queue()["finalizers"]
        assert not destroy.ends_within(3)
        assert len(pods(env.lab, run)) == 1
        env.modelyard("job", "cancel", "dev", run, "--yes")
        code, _, said = destroy.end()
    assert code == 0, said
    assert f"Still running: {run}." in said
    for plural in ("topologies", "resourceflavors", "clusterqueues", "localqueues", "workloads"):
        assert items(env.lab, f"{KUEUE}/{plural}") == []
