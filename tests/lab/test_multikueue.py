"""Jobs that the real Kueue of one cluster runs in another: two API servers with Kueue, and two stacks of a project.

The worker cluster gets the objects of the guide, taken from the page itself: the stack of its queue, the
account of the home cluster's Kueue with only the listed rights, and the kubeconfig in a Secret.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from lab import Lab, install
from tests.lab.support.cli_process import cli_process
from tests.lab.support.environment import NAMESPACE, ROOT, Environment
from tests.lab.support.pool_stack import config, node

GUIDE = (ROOT / "docs" / "guides" / "teams.md").read_text(encoding="utf-8")
SPACE = "language"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
STAYS = {"env": {"LAB_COMPLETE_AFTER": "1h"}}
STACK: dict[str, Any] = {
    "runtime": {"image": "images.example.com/ml-platform/jobs:23.10.4"},
    "flavors": [{"name": "a30", "gpu": "A30"}],
    "teams": [
        {
            "name": SPACE,
            "clusters": ["cloud", "farm"],
            "quotas": [{"flavor": "a30", "cpu": 64, "memory": "512Gi", "gpus": 8}],
        }
    ],
    "priorities": [{"name": "urgent", "value": 1000}],
    "resources": [
        {"name": name, "type": "training", "workers": 1, "cpu": 1, "memory": "2Gi", "gpus": gpus, "gpu": "A30"}
        for name, gpus in (("one", 1), ("five", 5))
    ]
    + [{"name": "answers", "type": "serving", "workers": 2, "cpu": "100m", "memory": "256Mi", "port": 8000}],
    "jobs": [
        {"name": name, "type": "training", "team": SPACE, "command": ["python", "train.py"], **rest}
        for name, rest in {
            "stays": {"resource": "one", **STAYS},
            "quick": {"resource": "one", "priority": "urgent"},
            "large": {"resource": "five", **STAYS},
            "late": {"resource": "one", "timeLimit": "5s", **STAYS},
            "ray": {"resource": "one", "engine": "ray"},
        }.items()
    ]
    + [{"name": "ask", "type": "serving", "resource": "answers"}],
}
OTHER = {**STACK["teams"][0], "clusters": ["cloud"]}


def shown(words: str) -> str:
    """The YAML example of the guide that contains these words."""
    (found,) = [
        block for block in re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL) if words in block
    ]
    return str(found)


class Two(NamedTuple):
    """The home cluster, with the project, and the worker cluster."""

    env: Environment
    farm: Lab

    def clusters(self, context: str | None) -> None:
        """Writes the worker clusters into the stack file; ``cloud`` never has its kubeconfig."""
        farm = {"name": "farm", "secret": "farm-kubeconfig", **({"context": context} if context else {})}
        config(self.env, workerClusters=[farm, {"name": "cloud", "secret": "cloud-kubeconfig"}])

    def connect(self) -> None:
        """Gives the home cluster's Kueue the kubeconfig of its account in the worker cluster."""
        self.farm.kubectl("apply", "--filename", "-", stdin=shown("service-account-token"))
        secret = "/api/v1/namespaces/kueue-system/secrets/multikueue"
        self.farm.wait("the account's token", lambda: "token" in self.farm.request("GET", secret).body.get("data", {}))
        account = self.farm.request("GET", secret).body["data"]
        text = shown("name: farm-kubeconfig").replace("https://farm.example.com:6443", self.farm.server)
        text = text.replace("TOKEN", b64decode(account["token"]).decode()).replace(": CA}", f": {account['ca.crt']}}}")
        self.env.lab.kubectl("apply", "--filename", "-", stdin=text)

    def submit(self, job: str) -> str:
        """Starts a run; returns its name."""
        return str(json.loads(self.env.modelyard("job", "submit", "dev", job, "--json").stdout)["run"])

    def job_output(self, verb: str, run: str, code: int = 0) -> str:
        """The output of ``job VERB`` for a run, on one line."""
        done = self.env.modelyard("job", verb, "dev", run, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return " ".join((done.stdout + done.stderr).split())

    def why(self, run: str) -> Any:
        """The diagnosis of a run, as JSON."""
        return json.loads(self.env.modelyard("job", "why", "dev", run, "--json").stdout)

    def run(self, name: str) -> dict[str, Any]:
        """A run in ``job list``; empty if it is not listed."""
        runs = json.loads(self.env.modelyard("job", "list", "dev", "--all", "--json").stdout)["runs"]
        return next((one for one in runs if one["name"] == name), {})

    def reaches(self, run: str, state: str) -> None:
        """Waits until the home cluster's Job and ``job list`` have the state."""
        end = {"succeeded": "Complete", "failed": "Failed"}.get(state)

        def there() -> bool:
            status = job(self.env.lab, run).get("status", {})
            ends = [one["type"] for one in status.get("conditions", []) if one["status"] == "True"]
            return bool(status.get("ready")) if end is None else end in ends

        self.env.lab.wait(f"{run} to be {state}", there)
        found = self.run(run)
        assert (found["state"], found["clusters"]) == (state, ["farm"])


def without_gpu(name: str) -> dict[str, Any]:
    """A node like the others, without a GPU."""
    made = node(name, "rack-1")
    del made["spec"]["taints"], made["metadata"]["labels"]["nvidia.com/gpu.product"]
    # Capacity and allocatable are the same dict.
    del made["status"]["allocatable"]["nvidia.com/gpu"]
    return made


def names(lab: Lab) -> dict[str, list[str]]:
    """The names of a cluster's objects in the team's namespace, by kind."""
    groups = {"pods": "/api/v1", "jobs": "/apis/batch/v1", "rayjobs": "/apis/ray.io/v1", "workloads": KUEUE}
    paths = {plural: f"{group}/namespaces/{SPACE}/{plural}" for plural, group in groups.items()}
    found = {plural: lab.request("GET", path).body["items"] for plural, path in paths.items()}
    return {plural: [one["metadata"]["name"] for one in items] for plural, items in found.items() if items}


def job(lab: Lab, run: str) -> dict[str, Any]:
    """The Job of a run."""
    answer = lab.request("GET", f"/apis/batch/v1/namespaces/{SPACE}/jobs/{run}")
    assert answer.status == 200, answer
    found: dict[str, Any] = answer.body
    return found


def waiting(lab: Lab) -> list[str]:
    """Why Kueue does not admit the team's workloads."""
    works = lab.request("GET", f"{KUEUE}/namespaces/{SPACE}/workloads").body["items"]
    conditions = [one for work in works for one in work.get("status", {}).get("conditions", [])]
    return [one["message"] for one in conditions if (one["type"], one["status"]) == ("QuotaReserved", "False")]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("farm")
    here = tmp_path_factory.mktemp("multikueue")
    with Lab.start(here / "lab", context="dev") as manager, Lab.start(folder, context="farm") as farm:
        env = Environment("dev", manager, here / "project")
        env.env["KUBECONFIG"] += f":{farm.kubeconfig}"
        (env.folder / "stacks" / "Pulumi.farm.yaml").write_text(shown("kubernetes:context: farm"))
        for lab, place, nodes in (
            (manager, here, [without_gpu("cpu-1")]),
            (farm, folder, [node(f"a30-{number}", "rack-1") for number in range(2)]),
        ):
            (place / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
            install.nodes(lab, place / "nodes.json")
        made = Two(env, farm)
        # Neither cluster has the platform: teams, queues and runs do not need it.
        env.stack_file.write_text(shown("kubernetes:context: farm").replace("context: farm", "context: dev"))
        config(env, **STACK)
        made.clusters(None)

        def ready(stack: str, lab: Lab) -> None:
            lab.start_operators("kueue")
            for name in (SPACE, NAMESPACE):
                lab.kubectl("create", "namespace", name)
            env.modelyard("apply", stack, "--yes")

        with ThreadPoolExecutor(max_workers=2) as both:
            for done in [both.submit(ready, "dev", env.lab), both.submit(ready, "farm", farm)]:
                done.result()
        yield made


@pytest.fixture(scope="module")
def connected(two: Two) -> Two:
    """The clusters, once the home cluster's Kueue is connected to the worker cluster."""
    two.connect()
    path = f"{KUEUE}/multikueueclusters/cluster-farm"

    def reached() -> bool:
        conditions = two.env.lab.request("GET", path).body.get("status", {}).get("conditions", [])
        return ("Active", "True") in [(one["type"], one["status"]) for one in conditions]

    two.env.lab.wait("the other cluster", reached)
    return two


@pytest.fixture
def running(connected: Two) -> str:
    """The only run, which is in the worker cluster: that of an earlier test, or a new one."""
    connected.clusters(None)
    left = names(connected.farm).get("jobs")
    run = left[0] if left else connected.submit("stays")
    connected.reaches(run, "running")
    return run


def test_a_worker_cluster_is_used_once_kueue_has_its_kubeconfig(two: Two) -> None:
    run = two.submit("stays")
    clusters = f"{KUEUE}/multikueueclusters"
    two.env.lab.wait("its workload", lambda: "workloads" in names(two.env.lab))
    two.env.lab.wait(
        "a word about the clusters",
        lambda: ["status" in one for one in two.env.lab.request("GET", clusters).body["items"]] == [True, True],
    )
    said = two.why(run)
    # The home cluster has no A30 and needs none.
    assert "nodes" not in {cause["about"] for cause in said["causes"]}
    reasons = {cause["summary"].split()[-1]: " ".join(cause["details"]) for cause in said["causes"]}
    for name in ("farm", "cloud"):
        assert f'Secret "{name}-kubeconfig" not found' in reasons[name]
        assert f"Secret {name}-kubeconfig" in " ".join(said["help"])
    two.job_output("logs", run, 1)

    two.connect()
    as_kueue = ("--as=system:serviceaccount:kueue-system:multikueue", "--namespace=default")
    assert two.farm.kubectl("auth", "can-i", "watch", "jobs.batch", *as_kueue).stdout == "yes\n"
    assert two.farm.kubectl("auth", "can-i", "create", "jobs.batch", *as_kueue, check=False).stdout == "no\n"
    two.reaches(run, "running")


def test_the_home_cluster_shows_a_run_of_a_worker_cluster(two: Two, running: str) -> None:
    (run,) = names(two.env.lab)["jobs"]
    assert run == running
    here, there = job(two.env.lab, run), job(two.farm, run)
    assert here["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    assert "managedBy" not in there["spec"]
    assert there["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] == "multikueue"
    (work,) = names(two.env.lab)["workloads"]
    assert names(two.farm)["workloads"] == [work]
    assert there["metadata"]["annotations"]["kueue.x-k8s.io/prebuilt-workload-name"] == work
    assert here["status"]["ready"] == there["status"]["ready"] == 1
    assert "pods" not in names(two.env.lab)
    (pod,) = two.farm.request("GET", f"/api/v1/namespaces/{SPACE}/pods").body["items"]
    assert (pod["spec"]["nodeName"][:4], pod["status"]["phase"]) == ("a30-", "Running")

    assert re.search(rf"{run} +running +{SPACE} +1 .* in farm\n", two.env.modelyard("job", "list", "dev").stdout)
    said = two.why(run)
    assert ("pods", "farm") in [(cause["about"], cause["summary"].split()[-1]) for cause in said["causes"]]
    assert "cloud" not in json.dumps(said)
    assert f"kubectl --namespace {SPACE} logs --selector modelyard.dev/run={run}" in two.job_output("logs", run, 1)
    two.clusters("farm")
    pool = json.loads(two.env.modelyard("gpus", "--live", "dev", "--json").stdout)
    ((taker,), (queue,)) = pool["takers"], pool["queues"]
    assert (taker["owner"]["name"], taker["gpus"], taker["cluster"], taker["nodes"]) == (run, 1, "farm", [])
    assert (queue["quotas"][0]["used"], pool["waiting"], pool["products"]) == (1, [], [])
    # The worker cluster's node is simulated, so no kubelet returns the log.
    assert two.job_output("logs", run, 1).startswith(f"{pod['metadata']['name']}: no preferred addresses found")


def test_serving_runs_at_home_and_training_in_a_worker_cluster(two: Two, running: str) -> None:
    deployment = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/resource-answers"
    two.env.lab.wait(
        "the pods that serve",
        lambda: two.env.lab.request("GET", deployment).body.get("status", {}).get("readyReplicas") == 2,
    )
    assert two.farm.request("GET", deployment).status == 404

    def placed(lab: Lab) -> list[tuple[str, str]]:
        """The resource or run of each pod of a cluster, and its node."""
        pods = lab.request("GET", "/api/v1/pods").body["items"]
        of = [(pod["metadata"]["labels"], pod["spec"]["nodeName"]) for pod in pods]
        return [(name.get("modelyard.dev/resource") or name["modelyard.dev/run"], where[:4]) for name, where in of]

    assert placed(two.env.lab) == [("answers", "cpu-")] * 2
    assert placed(two.farm) == [(running, "a30-")]


def test_job_why_shows_why_a_worker_cluster_does_not_admit_a_run(connected: Two) -> None:
    two = connected
    two.clusters("farm")
    run = two.submit("large")
    two.farm.wait("a reason", lambda: any("insufficient quota" in words for words in waiting(two.farm)))
    causes = two.why(run)["causes"]
    reasons = {name: " ".join(cause["details"]) for cause in causes for name in cause["summary"].split()}
    unfit = "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor a30"
    assert f"farm: {unfit}" in reasons["farm"]
    assert 'Secret "cloud-kubeconfig"' in reasons["cloud"]
    (waiter,) = json.loads(two.env.modelyard("gpus", "--live", "dev", "--json").stdout)["waiting"]
    assert (waiter["owner"]["name"], waiter["on"], waiter["gpus"]) == (run, "check", {"nvidia.com/gpu": 5})
    assert waiter["reason"] == "dispatch-language; farm asked"
    two.clusters(None)
    assert f"--namespace {SPACE} describe workload job-{run}-" in " ".join(two.why(run)["help"])
    two.env.modelyard("job", "cancel", "dev", run, "--yes")


def test_cancelling_deletes_runs_in_both_clusters(two: Two, running: str) -> None:
    ray = two.submit("ray")
    two.farm.wait("the RayJob there", lambda: names(two.farm).get("rayjobs") == [ray])
    for run in (ray, running):
        assert f"{run} is cancelled" in two.env.modelyard("job", "cancel", "dev", run, "--yes").stdout
    two.farm.wait("nothing to be left there", lambda: names(two.farm) == {})
    two.env.lab.wait("nothing to be left here", lambda: names(two.env.lab) == {})


def test_the_home_cluster_keeps_the_result_of_a_finished_run(connected: Two) -> None:
    two = connected
    late, run = two.submit("late"), two.submit("quick")
    two.reaches(run, "succeeded")
    two.reaches(late, "failed")
    two.farm.wait(
        "their copies to go",
        lambda: not [name for found in names(two.farm).values() for name in found if late in name or run in name],
    )
    assert "farm" in two.job_output("logs", run, 1)
    said = two.why(late)
    assert said["run"]["reason"] == "DeadlineExceeded"
    assert [cause["about"] for cause in said["causes"]] == ["end", "pods"]
    assert "farm" in said["causes"][-1]["summary"]


def test_destroy_keeps_the_worker_cluster_until_its_runs_end(two: Two, running: str) -> None:
    run = running
    config(two.env, workerClusters=[{"name": "cloud", "secret": "cloud-kubeconfig"}], teams=[OTHER])
    (found,) = [one for one in two.env.plan().findings if one.code == "QUE014"]
    assert {"cluster-farm", "1", "team-language"} <= set(found.summary.split())
    with cli_process(two.env, "destroy", "dev", "--yes") as destroying:
        destroying.until(f"Still running: {run}")
        destroying.until("deleting ClusterQueue team-language")
        left = two.env.lab.request("GET", f"{KUEUE}/multikueueclusters").body["items"]
        assert sorted(one["metadata"]["name"] for one in left) == ["cluster-cloud", "cluster-farm"]
        assert f"{run} is cancelled" in two.env.modelyard("job", "cancel", "dev", run, "--yes").stdout
        two.farm.wait("its copy to go", lambda: names(two.farm) == {})
        code, _, said = destroying.end()
        assert code == 0, said
    assert two.env.lab.request("GET", f"{KUEUE}/multikueueclusters").body["items"] == []
