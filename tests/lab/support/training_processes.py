"""Real Celery and Ray processes, which run in place of the lab's simulated pods.

A pod of the lab runs nothing. Here each running pod of a training backend has a process in place of its container.
A pod that is deleted loses its process at once, together with its work.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from lab import Lab
from tests.lab.support.environment import NAMESPACE
from tests.lab.support.program_environments import programs
from tests.lab.support.prometheus_server import free_port
from tests.lab.support.rabbitmq_broker import QUEUE
from tests.support.web_servers import Quiet, listening

START = 120
"""Seconds until a program answers."""
TASKS = """\
import os, time
from celery import Celery

app = Celery("training", broker=os.environ["BROKER"])
# As the platform's: a job is acknowledged when it is done, and a worker takes one at a time.
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    task_default_queue=os.environ["QUEUE"],
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
)


def write(name, word):
    with open(os.path.join(os.environ["JOBS"], name), "a") as stream:
        stream.write(word + "\\n")


def until_released(name):
    for _ in range(3000):
        if os.path.exists(os.path.join(os.environ["JOBS"], "..", "release-" + name)):
            return
        time.sleep(0.1)


@app.task(name="train")
def train(name):
    write(name, "begin")
    until_released(name)
    write(name, "end")
"""
TRAIN = """\
import os, sys, time
folder, name = sys.argv[1:]

def write(word):
    with open(os.path.join(folder, name), "a") as stream:
        stream.write(word + "\\n")

write("begin")
for _ in range(3000):
    if os.path.exists(os.path.join(folder, "..", "release-" + name)):
        break
    time.sleep(0.1)
write("end")
"""


AUTOSCALER = """\
import sys
from ray.autoscaler._private.kuberay import node_provider
from ray.autoscaler._private.kuberay.run_autoscaler import run_kuberay_autoscaler
token, authority, cluster, namespace, head = sys.argv[1:]
# In a pod it reads them from the files of its service account.
node_provider.load_k8s_secrets = lambda: ({"Authorization": "Bearer " + token}, authority, None)
run_kuberay_autoscaler(cluster, namespace, head)
"""


class Results:
    """Results of jobs: each job writes its begin to a file, and its end once it is released."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def release(self, *names: str) -> None:
        """Lets jobs end."""
        for name in names:
            (self.folder.parent / f"release-{name}").touch()

    def of(self, name: str) -> str:
        """``begin end`` for a job that ran once."""
        path = self.folder / name
        return " ".join(path.read_text().split()) if path.exists() else ""

    def all(self) -> dict[str, str]:
        """The results of all jobs, by name."""
        return {path.name: self.of(path.name) for path in sorted(self.folder.iterdir())}


class Celery:
    """Celery's programs, connected to a broker."""

    def __init__(self, folder: Path, broker: str, results: Results) -> None:
        self._bin = programs("jobs")
        self._folder = folder
        folder.mkdir()
        (folder / "tasks.py").write_text(TASKS)
        self._env = os.environ | {"BROKER": broker, "QUEUE": QUEUE, "JOBS": str(results.folder)}

    def submit(self, name: str) -> None:
        """Submits a training request."""
        code = f"from tasks import train; train.delay({name!r})"
        subprocess.run([self._bin / "python", "-c", code], cwd=self._folder, env=self._env, check=True, timeout=60)

    def work(self, name: str) -> "subprocess.Popen[bytes]":
        """Starts a worker."""
        options = ("--concurrency=1", "--pool=solo", "--without-gossip", "--without-mingle", f"--hostname={name}@lab")
        command = [str(self._bin / "celery"), "--app=tasks", "worker", *options]
        return spawn(command, self._folder / f"{name}.log", self._folder, self._env)


class Ray:
    """The head of a Ray cluster with its dashboard, and nodes with one GPU each; ``env`` is for the head only."""

    def __init__(self, folder: Path, results: Results, **env: str) -> None:
        self._bin = programs("jobs")
        self._folder, self._results = folder, results
        folder.mkdir()
        (folder / "train.py").write_text(TRAIN)
        self._gcs = free_port()
        self.dashboard = f"http://127.0.0.1:{(port := free_port())}"
        # Socket paths are below this folder and must be short.
        self.session = Path(tempfile.mkdtemp(prefix="ray-"))
        # On a busy machine, Ray's helpers start more slowly than Ray expects.
        # Ray would require a token if the user's home had one.
        settings = {"RAY_AUTH_MODE": "disabled", "RAY_agent_register_timeout_ms": "300000"}
        self._env = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", **settings}
        options = (f"--port={self._gcs}", "--dashboard-host=127.0.0.1", f"--dashboard-port={port}")
        place = f"--temp-dir={self.session}"
        self.head = self._start("head", "--head", *options, place, "--num-cpus=0", "--num-gpus=0", **env)

    def _start(self, name: str, *options: str, **env: str) -> "subprocess.Popen[bytes]":
        # Ray waits only briefly for ports that it chooses itself.
        ports = ("dashboard-agent-grpc", "dashboard-agent-listen", "runtime-env-agent", "metrics-export")
        chosen = [f"--{each}-port={free_port()}" for each in ports]
        command = [str(self._bin / "ray"), "start", "--block", "--disable-usage-stats", *chosen, *options]
        return spawn(command, self._log(name), self._folder, {**self._env, **env})

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def work(self, name: str, **env: str) -> "subprocess.Popen[bytes]":
        """Starts a node with one GPU."""
        return self._start(name, f"--address=127.0.0.1:{self._gcs}", "--num-cpus=2", "--num-gpus=1", **env)

    def autoscale(self, lab: Lab, cluster: Mapping[str, Any], **env: str) -> "subprocess.Popen[bytes]":
        """Starts Ray's autoscaler for a RayCluster as its container does, with the rights of its service account."""
        name, namespace = cluster["metadata"]["name"], cluster["metadata"]["namespace"]
        token = lab.kubectl("create", "token", name, f"--namespace={namespace}").stdout.strip()
        server = urlsplit(lab.server)
        env |= {"KUBERNETES_SERVICE_HOST": str(server.hostname), "KUBERAY_CRD_VER": "v1"}
        env |= {"KUBERNETES_SERVICE_PORT_HTTPS": str(server.port)}
        # The autoscaler calls the program ray.
        env |= {"PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}"}
        given = (token, str(lab.folder / "pki" / "ca.crt"), name, namespace, f"127.0.0.1:{self._gcs}")
        command = [str(self._bin / "python"), "-c", AUTOSCALER, *given]
        return spawn(command, self._log("autoscaler"), self._folder, {**self._env, **env})

    def api(self, method: str = "GET", body: Any = None) -> Any:
        """The answer of the jobs API to a request."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.dashboard}/api/jobs/", data, {"Content-Type": "application/json"}, method=method)
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=30) as said:
                return json.load(said)
        except HTTPError as error:
            raise AssertionError(f"HTTP {error.code}: {error.read().decode()}") from error

    def submit(self, name: str) -> None:
        """Submits a training request that needs a GPU."""
        train = f"{self._bin / 'python'} {self._folder / 'train.py'} {self._results.folder} {name}"
        self.run(name, train, 1)

    def run(self, name: str, entrypoint: str, gpus: int = 0) -> None:
        """Submits a job with a command; without GPUs, the head runs it."""
        body = {"entrypoint": entrypoint, "entrypoint_num_gpus": gpus, "submission_id": name}

        def taken() -> bool:
            # Until the head's agent runs, submissions fail with a server error.
            try:
                self.api("POST", body)
            except AssertionError as error:
                assert str(error).startswith("HTTP 500"), error
                return name in self.states()
            except ConnectionError:
                # Under load, the head may drop a connection without an answer; the job may have been taken.
                return False
            return True

        until(f"a place for {name}", taken)

    def program(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Starts a Python program as a driver."""
        env = {**self._env, "RAY_ADDRESS": f"127.0.0.1:{self._gcs}"}
        return spawn([str(self._bin / "python"), *arguments], self._log("program"), self._folder, env)

    def drive(self, folder: Path) -> "subprocess.Popen[bytes]":
        """Starts a driver that stays connected without work."""
        code = f"import ray, time; ray.init(address='127.0.0.1:{self._gcs}', log_to_driver=False); time.sleep(600)"
        return spawn([str(self._bin / "python"), "-c", code], self._log("driver"), folder, self._env)

    def nodes(self, state: str = "ALIVE") -> int:
        """The number of nodes in a state, according to the head. A killed node counts as alive for about 15 seconds."""
        with build_opener(ProxyHandler({})).open(f"{self.dashboard}/api/v0/nodes", timeout=30) as said:
            found = json.load(said)["data"]["result"]["result"]
        return sum(node["state"] == state for node in found)

    def states(self) -> dict[str, str]:
        """The state of each submitted job."""
        return {job["submission_id"]: job["status"] for job in self.api() if job["submission_id"]}

    def wait(self) -> None:
        """Waits until the jobs API answers."""
        until("the dashboard of Ray", self._answers, START)

    def _answers(self) -> bool:
        assert self.head.poll() is None, self._log("head").read_text()
        try:
            return isinstance(self.api(), list)
        except (OSError, AssertionError):
            return False


def spawn(command: list[str], log: Path, folder: Path, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Starts a program whose output goes to a log."""
    with log.open("ab") as stream:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=folder,
            env=dict(env),
            start_new_session=True,
        )


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kills a process and its descendants."""
    family = below(process.pid)
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def below(pid: int) -> list[int]:
    """A process and its descendants."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for each in found:
        found.extend(parents.get(each, ()))
    return found


def until(what: str, ready: Callable[[], bool], within: float = 120) -> None:
    """Waits until ``ready`` is true."""
    end = time.monotonic() + within
    while not ready():
        assert time.monotonic() < end, f"waited {within} s in vain for {what}"
        time.sleep(0.1)


class Stopped(NamedTuple):
    """A pod that lost its process."""

    app: str
    at: float
    """Seconds of the monotonic clock."""


class Containers:
    """Runs a process for each running pod of the training backends; ``stopped`` lists the pods that lost theirs.

    A label of the pod selects the process.
    """

    def __init__(
        self,
        lab: Lab,
        sides: Mapping[str, Callable[[str], "subprocess.Popen[bytes]"]],
        namespace: str = NAMESPACE,
        label: str = "app.kubernetes.io/name",
    ) -> None:
        self._lab, self._sides = lab, sides
        self._path, self._label = f"/api/v1/namespaces/{namespace}/pods", label
        self._running: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}
        self._over = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._watch)
        self.stopped: list[Stopped] = []

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            try:
                self._look()
            except Exception as error:  # shown where the test ends
                self._error = error
                return

    def _look(self) -> None:
        found = self._lab.request("GET", self._path).body["items"]
        wanted = {}
        for pod in found:
            app = pod["metadata"].get("labels", {}).get(self._label)
            runs = pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            if app in self._sides and runs:
                wanted[pod["metadata"]["name"]] = app
        for name in self._running.keys() - wanted.keys():
            app, process = self._running.pop(name)
            kill(process)
            self.stopped.append(Stopped(app, time.monotonic()))
        # A container that has exited is restarted.
        ended = {name for name, (_, process) in self._running.items() if process.poll() is not None}
        for name in (wanted.keys() - self._running.keys()) | ended:
            self._running[name] = (wanted[name], self._sides[wanted[name]](name))

    def count(self, app: str) -> int:
        """The number of processes of a training backend."""
        return sum(side == app for side, _ in list(self._running.values()))

    def __enter__(self) -> "Containers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for _, process in self._running.values():
            kill(process)
        if self._error is not None:
            raise self._error


class Names:
    """An HTTP proxy that sends every request to one address, in place of the DNS names of Services."""

    def __init__(self) -> None:
        self.url = ""
        """The proxy's URL."""
        self.lead_to = ""
        """The target URL without a path; if empty, requests fail."""


class _Leading(Quiet):
    names: Names

    def do_GET(self) -> None:
        self._lead()

    def do_POST(self) -> None:
        self._lead()

    def _lead(self) -> None:
        asked = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        kept = {name: text for name, text in self.headers.items() if name in ("Content-Type", "Accept")}
        address = f"{self.names.lead_to}{asked.path}" + (f"?{asked.query}" if asked.query else "")
        status, said = 502, b""
        with suppress(OSError, ValueError):
            try:
                with build_opener(ProxyHandler({})).open(
                    Request(address, body, kept, method=self.command), timeout=30
                ) as answer:
                    status, said = answer.status, answer.read()
            except HTTPError as error:
                status, said = error.code, error.read()
        with suppress(ConnectionError):
            self.answer(said, status)


@contextmanager
def names() -> Iterator[Names]:
    """A proxy in place of the DNS names of Services, until the context ends."""
    made = Names()
    with listening(type("Leading", (_Leading,), {"names": made})) as made.url:
        yield made


@contextmanager
def ray_cluster(folder: Path, results: Results, **env: str) -> Iterator[Ray]:
    """A running Ray cluster without nodes for training; ``env`` is for its head."""
    ray = Ray(folder, results, **env)
    try:
        ray.wait()
        yield ray
    finally:
        kill(ray.head)
        shutil.rmtree(ray.session, ignore_errors=True)
