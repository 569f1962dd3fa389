"""A function on a GPU with a real API server and the real Kueue; its container is a process of this machine."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.lab.support.account_rights import Account
from tests.lab.support.environment import NAMESPACE, Environment
from tests.lab.support.live_pool import live_pool
from tests.lab.support.pod_logs import logs
from tests.lab.support.pool_stack import volume
from tests.support.pod_process import call_process

POOL: dict[str, Any] = {
    "flavors": [{"name": "a10", "gpu": "A10"}],
    "teams": [{"name": "vision", "quotas": [{"flavor": "a10", "cpu": 16, "memory": "64Gi", "gpus": 1}]}],
    "notebooks": {"image": "images.example.com/notebook:1"},
}
CALLER = """
import sys, time
from modelyard import on_gpu

@on_gpu(gpu="A10", stack="dev", team="vision")
def train(x):
    print("epoch", x, flush=True)
    time.sleep(600 if x < 0 else 0)
    return x * 2

print("result", train(int(sys.argv[1])), flush=True)
"""


RIGHTS = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "functions"},
    "rules": [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    ],
}
"""The rights that functions need in addition to those for jobs (docs/guides/rights.md)."""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """The pool, with a quota of one GPU, and the workspace of notebooks."""
    with live_pool(tmp_path_factory.mktemp("function"), "job-notebook", POOL) as made:
        for one in volume("workspace", "vision"):
            assert made.lab.request("POST", one.pop("path"), one).status == 201
        yield made


@pytest.fixture(scope="module")
def kubeconfig(env: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig of an account with only the rights for functions in the team's namespace."""
    account = Account(env.lab, "jobs", tmp_path_factory.mktemp("account"))
    who = f"--serviceaccount={NAMESPACE}:modelyard-jobs"
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/vision/roles"
    assert env.lab.request("POST", path, RIGHTS).status == 201
    for name, role in (("jobs", "--clusterrole=modelyard-jobs"), ("functions", "--role=functions")):
        env.lab.kubectl("create", "rolebinding", name, role, who, "--namespace=vision")
    asked = ("auth", "can-i", "create", "secrets", "--namespace=vision", f"--as={account.user}")
    env.lab.wait("the rights", lambda: env.lab.kubectl(*asked, check=False).stdout == "yes\n")
    return account.kubeconfig


@contextmanager
def calling(env: Environment, kubeconfig: Path, argument: int) -> Iterator["subprocess.Popen[str]"]:
    """Starts a program in the project's folder that calls the function."""
    process = subprocess.Popen(
        [sys.executable, "-c", CALLER, str(argument)],
        cwd=env.folder,
        env=env.env | {"KUBECONFIG": str(kubeconfig)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def listed(env: Environment) -> Any:
    return json.loads(env.modelyard("job", "list", "dev", "--all", "--json").stdout)["runs"]


def run_name(env: Environment, process: "subprocess.Popen[str]") -> str:
    """The run's name, from the line of the program's output that names it; findings may come before."""
    assert process.stderr is not None
    line = next(line for line in process.stderr if line.startswith("run "))
    (found,) = (one for one in listed(env) if one["name"] in line.split())
    assert (found["team"], found["gpus"]) == ("vision", 1)
    return str(found["name"])


def state(env: Environment, run: str) -> str | None:
    return next((one["state"] for one in listed(env) if one["name"] == run), None)


def used(env: Environment) -> int:
    """GPUs of the team's quota that are in use."""
    (queue,) = json.loads(env.modelyard("gpus", "--live", "dev", "--json").stdout)["queues"]
    found: int = queue["quotas"][0]["used"]
    return found


def wait_until_gone(env: Environment, path: str) -> None:
    env.lab.wait(f"the end of {path}", lambda: env.lab.request("GET", path).status == 404)


def pod_of(env: Environment, run: str) -> Any:
    """The running pod of the run."""
    path = f"/api/v1/namespaces/vision/pods?labelSelector=batch.kubernetes.io/job-name={run}"

    def running() -> bool:
        pods = env.lab.request("GET", path).body["items"]
        return bool(pods) and pods[0]["status"].get("phase") == "Running"

    env.lab.wait("the pod", running)
    (pod,) = env.lab.request("GET", path).body["items"]
    return pod


@contextmanager
def container(env: Environment, run: str, folder: Path) -> Iterator[Callable[[], None]]:
    """Runs the container of a run's pod here, with its Secret and log; yields a function that ends the pod."""
    pod = pod_of(env, run)
    job = env.lab.request("GET", f"/apis/batch/v1/namespaces/vision/jobs/{run}").body
    secret = env.lab.request("GET", f"/api/v1/namespaces/vision/secrets/{run}").body
    name = pod["metadata"]["name"]
    folder.mkdir(exist_ok=True)
    with logs(env.lab, folder, {name: []}, [pod["spec"]["nodeName"]]):
        process = call_process(job, secret, folder / "call")

        def write() -> None:
            assert process.stdout is not None
            with (folder / f"{name}.log").open("ab", buffering=0) as log:
                for line in process.stdout:
                    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
                    log.write(f"{stamp}.000000000Z stdout F ".encode() + line)

        writer = Thread(target=write)
        writer.start()

        def end() -> None:
            phase = "Succeeded" if process.wait(timeout=60) == 0 else "Failed"
            change = ("--type=merge", "--patch", json.dumps({"status": {"phase": phase}}))
            env.lab.kubectl("patch", "pod", name, "--namespace=vision", "--subresource=status", *change)

        try:
            yield end
        finally:
            process.kill()
            process.wait()
            writer.join()


def test_an_interrupted_call_frees_its_gpu_for_the_next(env: Environment, kubeconfig: Path, tmp_path: Path) -> None:
    with calling(env, kubeconfig, -1) as holder:
        early = run_name(env, holder)
        with container(env, early, tmp_path / "early"), calling(env, kubeconfig, 21) as waiter:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "epoch -1\n"
            late = run_name(env, waiter)
            assert waiter.stderr is not None
            assert f"it waits: {late} is in its queue" in waiter.stderr.readline()
            assert (state(env, early), state(env, late), used(env)) == ("running", "queued", 1)

            holder.send_signal(signal.SIGINT)
            out, err = holder.communicate(timeout=60)
            assert f"run {early} is cancelled" in err
            assert "KeyboardInterrupt" in err
            assert (holder.returncode, out) == (-signal.SIGINT, "")
            for part in ("apis/batch/v1/namespaces/vision/jobs", "api/v1/namespaces/vision/secrets"):
                wait_until_gone(env, f"/{part}/{early}")

            with container(env, late, tmp_path / "late") as end:
                out, err = waiter.communicate(timeout=60)
                assert (waiter.returncode, out) == (0, "epoch 21\nresult 42\n"), err
                end()
            env.lab.wait("the end of the run", lambda: state(env, late) == "succeeded")
            env.lab.wait("the quota", lambda: used(env) == 0)
