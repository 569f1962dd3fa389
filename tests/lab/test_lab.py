"""The lab itself."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, LabError, cluster, components
from lab.build import build

ROOT = Path(__file__).resolve().parents[2]
GPU = "nvidia.com/gpu"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for one lab; no process of it may be left when the test ends."""
    yield tmp_path / "lab"
    assert processes_in(tmp_path) == []


def processes_in(folder: Path) -> list[str]:
    """The command lines that name the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and any(name in line for name in components.NAMES):
            found.append(line)
    return found


def pods(lab: Lab, namespace: str = "ml-platform") -> list[dict[str, Any]]:
    return list(lab.request("GET", f"/api/v1/namespaces/{namespace}/pods").body["items"])


def test_a_built_lab_is_found_within_a_second() -> None:
    first = build(lambda _: None)
    told: list[str] = []
    begun = time.monotonic()
    assert build(told.append) == first
    assert time.monotonic() - begun < 1
    assert told == []


def test_two_labs_run_side_by_side(lab: Lab, folder: Path) -> None:
    with Lab.start(folder, context="other") as other:
        assert other.server != lab.server
        other.kubectl("create", "namespace", "only-here")
        assert lab.request("GET", "/api/v1/namespaces/only-here").status == 404
        ours, theirs = (
            each.request("GET", "/api/v1/namespaces/kube-system").body["metadata"]["uid"] for each in (lab, other)
        )
        assert ours != theirs
        with pytest.raises(LabError, match="already running"):
            Lab.start(folder)
        assert Lab.attach(folder).running


def test_the_server_reports_its_version(lab: Lab) -> None:
    assert lab.request("GET", "/version").body["gitVersion"] == "v1.35.4"
    assert lab.kubectl("version", "--client").stdout.startswith("Client Version: v1.35.4")


def test_each_user_has_the_documented_rights(lab: Lab) -> None:
    pods_path = "/api/v1/namespaces/default/pods"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}}
    accounts = "/api/v1/namespaces/default/serviceaccounts?dryRun=All"
    assert lab.request("POST", accounts, account).status == 201
    assert lab.request("GET", pods_path, user="viewer").status == 200
    assert lab.request("POST", accounts, account, user="viewer").status == 403
    assert lab.request("GET", pods_path, user="stranger").status == 403
    forbidden = lab.kubectl("get", "pods", user="stranger", check=False)
    assert forbidden.returncode == 1
    assert "Forbidden" in forbidden.stderr


def test_an_expired_certificate_is_rejected(lab: Lab) -> None:
    refused = lab.kubectl("get", "pods", user="expired", check=False)
    assert refused.returncode == 1
    assert "Unauthorized" in refused.stderr
    with pytest.raises(LabError, match="Unauthorized"):
        lab.kubectl("get", "pods", user="expired")
    context = json.loads(lab.kubeconfig_of("expired").read_text())["current-context"]
    assert context == lab.context


def test_crds_of_all_three_operators_are_served(lab: Lab) -> None:
    for group in ("kueue.x-k8s.io/v1beta2", "keda.sh/v1alpha1", "ray.io/v1"):
        assert lab.request("GET", f"/apis/{group}").status == 200


def test_cached_crds_match_the_manifests(lab: Lab) -> None:
    assert (lab.tools.folder / "crds.json").is_file()
    files = [f"--filename={min(operator.iterdir())}" for operator in lab.tools.crds.iterdir()]
    assert lab.kubectl("diff", "--server-side", "--field-manager=lab", *files).stdout == ""


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
def test_only_gpu_pods_run_on_gpu_nodes(lab_of: Any, environment: str) -> None:
    lab = lab_of(environment)
    nodes = {node["metadata"]["name"]: node for node in lab.request("GET", "/api/v1/nodes").body["items"]}
    found = pods(lab)
    assert found
    for pod in found:
        asks = any(GPU in c["resources"].get("limits", {}) for c in pod["spec"]["containers"])
        assert (GPU in nodes[pod["spec"]["nodeName"]]["status"]["capacity"]) == asks
        assert pod["status"]["phase"] == "Running"


def test_pods_without_a_free_gpu_stay_pending(fresh_platform_lab: Any) -> None:
    lab = fresh_platform_lab("dev")
    worker = "deployment-ray-model-training-worker"
    lab.kubectl("-n", "ml-platform", "scale", "deployment", worker, "--replicas=3")

    def states() -> list[str]:
        return sorted(p["status"]["phase"] for p in pods(lab) if worker in p["metadata"]["name"])

    lab.wait("one of three workers to wait", lambda: states() == ["Pending", "Running", "Running"])
    lab.kubectl("-n", "ml-platform", "scale", "deployment", worker, "--replicas=0")
    lab.wait("the workers to be gone", lambda: states() == [])


def test_annotations_set_when_a_pod_becomes_ready(fresh_platform_lab: Any) -> None:
    lab = fresh_platform_lab("dev")

    def template(**annotations: str) -> dict[str, Any]:
        return {
            "metadata": {"annotations": {f"lab.modelyard/{key}": text for key, text in annotations.items()}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "images.example.com/c:1"}]},
        }

    def pod(name: str, **annotations: str) -> None:
        made = template(**annotations)
        made["metadata"]["name"] = name
        body = {"apiVersion": "v1", "kind": "Pod", **made}
        assert lab.request("POST", "/api/v1/namespaces/default/pods", body).status == 201

    def phase(name: str) -> str:
        return str(lab.request("GET", f"/api/v1/namespaces/default/pods/{name}").body["status"]["phase"])

    pod("never", **{"never-ready": "true"})
    pod("late", **{"ready-after": "3s"})
    pod("now")
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": template()}}
    assert lab.request("POST", "/apis/batch/v1/namespaces/default/jobs", job).status == 201
    lab.wait("a pod without wishes", lambda: phase("now") == "Running", 10)
    assert phase("late") == "Pending"
    lab.wait("a late pod", lambda: phase("late") == "Running", 10)
    done = "/apis/batch/v1/namespaces/default/jobs/job"
    lab.wait("a job", lambda: lab.request("GET", done).body["status"].get("succeeded") == 1, 10)
    assert phase("never") == "Pending"


@pytest.mark.parametrize(
    ("environment", "manager", "operation"),
    [
        ("dev", "kubectl-client-side-apply", "Update"),
        ("staging", "helm", "Apply"),
        ("prod", "deployment-manager", "Update"),
    ],
)
def test_the_vendor_owns_what_it_installed(lab_of: Any, environment: str, manager: str, operation: str) -> None:
    path = "/apis/apps/v1/namespaces/ml-platform/deployments"
    for deployment in lab_of(environment).request("GET", path).body["items"]:
        owners = {(each["manager"], each["operation"]) for each in deployment["metadata"]["managedFields"]}
        assert owners == {(manager, operation), ("kube-controller-manager", "Update")}


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
def test_reinstalling_replaces_no_pods(lab_of: Any, environment: str) -> None:
    lab = lab_of(environment)
    before = sorted(pod["metadata"]["uid"] for pod in pods(lab))
    lab.install_platform(environment)
    assert sorted(pod["metadata"]["uid"] for pod in pods(lab)) == before


@pytest.fixture
def lab_of(platform_lab: Any) -> Any:
    return platform_lab


def test_a_restarted_lab_keeps_its_objects_and_nodes(folder: Path) -> None:
    with Lab.start(folder) as lab:
        lab.install_platform("dev")
        server = lab.server
    assert not lab.running
    with Lab.start(folder) as again:
        assert again.server == server
        again.kubectl("-n", "ml-platform", "scale", "deployment", "deployment-model-service", "--replicas=2")
        ready = "/apis/apps/v1/namespaces/ml-platform/deployments/deployment-model-service"
        # Far less than the 40 seconds after which the leases of the first lab's nodes expire.
        again.wait("a second pod", lambda: again.request("GET", ready).body["status"].get("readyReplicas") == 2, 10)


def test_a_crashed_component_is_reported_and_restarted(folder: Path) -> None:
    with Lab.start(folder) as lab:
        lab.kill("kube-apiserver")
        assert lab.status() == {name: name != "kube-apiserver" for name in components.NAMES}
        with pytest.raises(OSError):
            lab.request("GET", "/readyz")
        with pytest.raises(LabError, match="has lost kube-apiserver"):
            Lab.attach(folder)
        lab.restart("kube-apiserver")
        assert lab.running
        assert lab.request("GET", "/readyz") == (200, "ok")


def test_a_lab_whose_owner_was_killed_can_be_started_again(folder: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from lab import Lab
lab = Lab.start(Path({str(folder)!r}))
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", program], check=False, timeout=120)
    deadline = time.monotonic() + 5
    while processes_in(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_in(folder) == []
    with Lab.start(folder) as lab:
        assert lab.running


def test_up_status_and_down_from_a_shell(tmp_path: Path, folder: Path) -> None:
    # A copy of the checkout's lab, to leave the user's labs alone.
    clone = tmp_path / "clone"
    clone.mkdir()
    subprocess.run(["cp", "-R", str(ROOT / "lab"), str(clone / "lab")], check=True)

    def run(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [str(clone / "lab" / "modelyard-lab"), *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    try:
        assert "lab one is up at https://127.0.0.1:" in run("up", "--lab", "one")
        assert "already running" in run("up", "--lab", "one")
        assert "one: running at" in run("status")
        run("install", "crds", "--lab", "one")
        assert "clusterqueues" in run("kubectl", "--lab", "one", "--", "get", "crds")
        exports = run("env", "--lab", "one")
        shell = f"{exports}\nkubectl config current-context; pulumi version; pulumi whoami --verbose"
        told = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout
        assert told.splitlines()[:2] == ["one", "v3.259.0"]
        assert str(clone) in told
        # One process has died: status reports it, and up restarts it.
        pid = next(
            each["pid"]
            for each in json.loads(run("status", "--json"))["labs"][0]["components"]
            if each["name"] == "kube-scheduler"
        )
        os.kill(pid, 9)
        assert "broken, kube-scheduler ended" in run("status", "--lab", "one", code=3)
        assert "lab one is up" in run("up", "--lab", "one")
        assert "etcd" not in run("logs", "--lab", "one", "--lines", "1", "kwok")
    finally:
        assert "lab one is down and deleted" in run("down", "--all", "--delete")
    assert json.loads(run("status", "--json"))["labs"] == []
    assert processes_in(clone) == []


def test_a_lab_starts_although_a_port_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    free = cluster.free_ports
    taken = iter([lab._ports])
    monkeypatch.setattr(cluster, "free_ports", lambda: next(taken, None) or free())
    with Lab.start(folder) as second:
        assert second.server != lab.server
    assert lab.running
