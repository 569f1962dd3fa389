"""The GPU pool: flavors, queues and priorities as objects that the stack owns, in mode existing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelyard.kube.state import ObjectKey
from modelyard.plan import Plan
from tests.lab.support.environment import Environment, comparable, environment
from tests.lab.support.notebook_files import cell, write_notebook
from tests.lab.support.pool_stack import config, pool, volume

KARPENTER = Path(__file__).parent / "crds" / "karpenter.sh_nodepools.yaml"
POOL: dict[str, Any] = {
    "flavors": [
        {
            "name": "a10",
            "gpu": "A10",
            "labels": {"topology.kubernetes.io/zone": "a"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        }
    ],
    "teams": [
        {
            "name": "vision",
            "cohort": "research",
            "quotas": [{"flavor": "a10", "cpu": 16, "memory": "128Gi", "gpus": 1, "borrow": 1, "lend": 1}],
        },
        {
            "name": "speech",
            "namespace": "speech-ml",
            "cohort": "research",
            "reclaim": "lower",
            "within": "never",
            "clusters": ["farm"],
            "quotas": [{"flavor": "a10", "cpu": "500m", "memory": "1024Mi", "gpus": 1}],
        },
    ],
    "workerClusters": [{"name": "farm", "secret": "farm-kubeconfig"}],
    "priorities": [{"name": "urgent", "value": 1000, "description": 'for "production"'}],
}
OBJECTS = {
    ("ResourceFlavor", "", "a10"),
    ("ClusterQueue", "", "team-vision"),
    ("ClusterQueue", "", "team-speech"),
    ("LocalQueue", "vision", "vision"),
    ("LocalQueue", "speech-ml", "speech"),
    ("MultiKueueCluster", "", "cluster-farm"),
    ("MultiKueueConfig", "", "clusters-speech"),
    ("AdmissionCheck", "", "dispatch-speech"),
    ("WorkloadPriorityClass", "", "urgent"),
}


def _as_server(env: Environment, folder: Path, space: str, user: str) -> dict[str, str]:
    """The variables of a command in a notebook server: its kubeconfig, with paths of this machine."""
    made = env.get(ObjectKey("v1", "ConfigMap", space, f"notebook-config-{space}"))
    assert made is not None
    account = yaml.safe_load(made["data"]["kubeconfig"])
    token, file = folder / f"token-{space}", folder / f"kubeconfig-{space}"
    token.write_text(env.lab.kubectl("create", "token", f"notebook-account-{user}", "--namespace", space).stdout)
    admin = yaml.safe_load(Path(env.env["KUBECONFIG"]).read_text())
    account["users"][0]["user"]["tokenFile"] = str(token)
    account["clusters"][0]["cluster"] = admin["clusters"][0]["cluster"]
    file.write_text(yaml.safe_dump(account))
    return {"KUBECONFIG": str(file), "MODELYARD_USER": user}


def know_node_pools(env: Environment) -> None:
    """Installs Karpenter's CRD of node pools; Karpenter does not run."""
    env.lab.kubectl("apply", "--server-side", "--filename", str(KARPENTER))
    env.lab.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/nodepools.karpenter.sh")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("pool")) as made:
        made.lab.install_crds()
        for name in ("vision", "speech-ml"):
            made.lab.kubectl("create", "namespace", name)
        made.modelyard("apply", "dev", "--yes")
        yield made


def applied(env: Environment) -> None:
    """Applies the stack if its plan has changes."""
    if env.plan().changed:
        env.modelyard("apply", "dev", "--yes")


@pytest.fixture
def shared(env: Environment) -> None:
    """The pool as in ``POOL``, whatever earlier tests did."""
    config(env, **POOL)
    applied(env)


def test_live_pool_objects_match_the_plan(env: Environment) -> None:
    config(env, **POOL)
    plan = env.plan()
    assert not plan.blocked
    found = pool(plan)
    assert set(found) == OBJECTS
    assert {target.action for target in found.values()} == {"create"}
    assert {target.key[1:] for target in plan.changed} == OBJECTS
    env.modelyard("apply", "dev", "--yes")
    for target in found.values():
        live = env.get(target.key)
        assert live is not None
        assert comparable(live) == comparable(target.after.reveal())
    assert env.plan().changed == ()
    assert env.up().changed == []
    assert "no drift" in env.modelyard("drift", "dev").stdout


@pytest.mark.usefixtures("shared")
def test_the_offline_plan_equals_the_live_plan(env: Environment) -> None:
    env.modelyard("record", "dev")
    assert (env.folder / "stacks/recorded/dev/clusterqueue.team-vision.json").is_file()
    config(env, teams=[{**POOL["teams"][0], "within": "never"}, POOL["teams"][1]])
    offline = json.loads(env.modelyard("plan", "dev", "--json").stdout)
    live = json.loads(env.modelyard("plan", "dev", "--live", "--json").stdout)
    told = [
        [(target["name"], target["changes"]) for target in plan["targets"] if target["action"] != "none"]
        for plan in (offline, live)
    ]
    assert told[0] == told[1]
    assert [name for name, _ in told[0]] == ["team-vision"]
    config(env, teams=POOL["teams"])


@pytest.mark.usefixtures("shared")
def test_a_changed_quota_is_applied_and_drift_is_reset(env: Environment) -> None:
    quotas = [{**POOL["teams"][0]["quotas"][0], "gpus": 2}]
    config(env, teams=[{**POOL["teams"][0], "quotas": quotas}, POOL["teams"][1]])
    (target,) = env.plan().changed
    assert (target.name, target.action) == ("team-vision", "update")
    env.modelyard("apply", "dev", "--yes")
    live = env.get(target.key)
    assert live is not None
    assert comparable(live) == comparable(target.after.reveal())
    env.lab.kubectl("patch", "clusterqueue", "team-vision", "--type=merge", '--patch={"spec": {"stopPolicy": "Hold"}}')
    env.lab.kubectl(
        "patch",
        "localqueue",
        "speech",
        "--namespace=speech-ml",
        "--type=merge",
        '--patch={"spec": {"stopPolicy": "Hold"}}',
    )
    assert env.modelyard("drift", "dev").returncode == 0
    env.lab.kubectl(
        "patch", "clusterqueue", "team-vision", "--type=merge", '--patch={"spec": {"queueingStrategy": "StrictFIFO"}}'
    )
    drift = env.modelyard("drift", "dev", check=False)
    assert drift.returncode == 1
    assert "StrictFIFO" in drift.stdout
    assert "kubectl" in drift.stdout
    env.modelyard("apply", "dev", "--yes")
    env.modelyard("drift", "dev")


def _lacking(plan: Plan) -> set[tuple[str, str]]:
    """The objects that new pods need and their namespaces lack."""
    told = [re.search(r"need (.*), which namespace (\S+) does not have", one.summary) for one in plan.findings]
    return {(found[1], found[2]) for found in told if found}


@pytest.mark.usefixtures("shared")
def test_notebook_servers_match_the_plan_and_may_only_submit_jobs(env: Environment, tmp_path: Path) -> None:
    users = [{"name": "ada", "team": "vision"}, {"name": "bob", "team": "speech"}, {"name": "eve", "team": "vision"}]
    servers = {"image": "images.example.com/jupyter:4.4.3", "login": "jupyter-login", "users": users}
    work = tmp_path / "work"
    work.mkdir()
    notebooks = {"image": "images.example.com/notebook:1", "path": str(work)}
    config(env, notebooks={**notebooks, "servers": servers})
    needed = ["claim workspace", "Secret jupyter-login"]
    assert _lacking(env.plan()) == {(what, space) for what in needed for space in ("vision", "speech-ml")}
    for space in ("vision", "speech-ml"):
        for made in volume("workspace", space):
            assert env.lab.request("POST", made.pop("path"), made).status == 201
    login = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "jupyter-login"}}
    assert env.lab.request("POST", "/api/v1/namespaces/vision/secrets", login).status == 201
    plan = env.plan()
    assert _lacking(plan) == {("Secret jupyter-login", "speech-ml")}
    assert not plan.blocked, plan.findings
    assert len(plan.changed) == 5 * 2 + 3 * 3
    env.modelyard("apply", "dev", "--yes")
    for target in plan.changed:
        live = env.get(target.key)
        assert live is not None
        if target.key.kind == "Service":
            # The API server assigns the address.
            for drawn in ("clusterIP", "clusterIPs"):
                assert drawn not in target.after.reveal()["spec"]
                del live["spec"][drawn]
        assert comparable(live) == comparable(target.after.reveal())
    assert env.plan().changed == ()
    ada = env.get(ObjectKey("apps/v1", "Deployment", "vision", "notebook-server-ada"))
    assert ada is not None
    assert ada["status"]["readyReplicas"] == 1

    def may(*what: str, space: str = "vision") -> bool:
        who = "--as=system:serviceaccount:vision:notebook-account-ada"
        done = env.lab.kubectl("auth", "can-i", *what, "--namespace", space, who, check=False)
        return done.stdout.strip() == "yes"

    assert may("create", "jobs.batch")
    assert may("list", "pods")
    for what in (("update", "jobs.batch"), ("create", "pods"), ("delete", "pods"), ("get", "secrets")):
        assert not may(*what)
    assert not may("create", "jobs.batch", space="speech-ml")

    notebook = write_notebook(work / "train.ipynb", cell("print(1)"))
    submit = ("job", "submit", str(notebook), "--stack", "dev", "--device", "A10", "--team", "vision", "--json")
    done = json.loads(env.modelyard(*submit, env=_as_server(env, tmp_path, "vision", "ada")).stdout)
    assert (done["state"], done["namespace"]) == ("submitted", "vision")
    refused = env.modelyard(*submit, env=_as_server(env, tmp_path, "speech-ml", "bob"), check=False)
    assert refused.returncode == 1
    assert "jobs.batch is forbidden" in refused.stdout

    config(env, notebooks=notebooks)
    assert {target.action for target in env.plan().changed} == {"delete"}
    env.modelyard("apply", "dev", "--yes")
    assert [env.get(target.key) for target in plan.changed] == [None] * len(plan.changed)
    env.lab.kubectl("delete", "job", done["job"], "--namespace=vision")


@pytest.mark.usefixtures("shared")
def test_dropping_a_team_deletes_its_queues(env: Environment) -> None:
    config(env, teams=POOL["teams"][1:])
    gone = {key: target for key, target in pool(env.plan()).items() if target.action == "delete"}
    assert set(gone) == {("ClusterQueue", "", "team-vision"), ("LocalQueue", "vision", "vision")}
    env.modelyard("apply", "dev", "--yes")
    assert [env.get(target.key) for target in gone.values()] == [None, None]
    assert env.plan().changed == ()


def test_node_pools_pass_the_validation_of_karpenter(env: Environment) -> None:
    config(env, nodePools=[{"name": "l40s", "gpu": "L40S", "gpus": 8, "nodeClass": "gpu"}])
    (missing,) = [finding for finding in env.plan().findings if finding.blocks]
    assert (missing.code, missing.target) == ("OWN009", "l40s")
    assert "the cluster has no NodePool in karpenter.sh/v1" in missing.detail
    know_node_pools(env)
    nodes = {"name": "l40s", "gpu": "L40S", "gpus": 8, "nodeClass": "gpu", "zones": ["us-east-1a"], "idle": "20m"}
    large = {"name": "wide", "gpu": "a100-80gb", "gpus": 16, "nodeClass": "gpu", "capacity": "any", "taint": False}
    config(env, nodePools=[{**nodes, "labels": {"example.kubernetes.io/team": "a"}}])
    refused = [finding for finding in env.plan().findings if finding.blocks]
    assert [(one.code, one.target) for one in refused] == [("OWN009", "l40s")]
    assert 'label domain "kubernetes.io" is restricted' in refused[0].detail
    config(env, nodePools=[nodes, large])
    plan = env.plan()
    assert not plan.blocked, plan.findings
    assert [(target.name, target.action) for target in plan.changed] == [("l40s", "create"), ("wide", "create")]
    env.modelyard("apply", "dev", "--yes")
    for target in plan.changed:
        live = env.get(target.key)
        assert live is not None
        assert comparable(live) == comparable(target.after.reveal())
    assert env.plan().changed == ()
    config(env, nodePools=[{**nodes, "idle": 60}])
    assert [(target.name, target.action) for target in env.plan().changed] == [("l40s", "update"), ("wide", "delete")]
    env.modelyard("apply", "dev", "--yes")
    assert "no drift" in env.modelyard("drift", "dev").stdout


def test_destroy_deletes_the_pool(env: Environment) -> None:
    know_node_pools(env)
    config(env, **POOL, nodePools=[{"name": "l40s", "gpu": "L40S", "gpus": 8, "nodeClass": "gpu"}])
    applied(env)
    made = {*OBJECTS, ("NodePool", "", "l40s")}
    keys = [target.key for target in env.plan().targets if target.key[1:] in made]
    assert {key[1:] for key in keys if env.get(key)} == made
    env.modelyard("destroy", "dev", "--yes")
    assert [env.get(key) for key in keys] == [None] * len(made)
