"""A Ray cluster with modelyard on this machine: a head without CPUs, and worker nodes with one CPU each."""

import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.lab.support.environment import ROOT
from tests.lab.support.program_environments import programs
from tests.lab.support.prometheus_server import free_port
from tests.lab.support.training_processes import START, below, kill, spawn, until

TASK = "ray::modelyard"
"""The process name of a running task."""
_STORE = 80_000_000
"""Bytes of a node's object store, close to Ray's minimum."""


class Nodes:
    """The nodes, and the command line as a driver of the cluster."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.bin, self.folder = programs("jobs"), folder
        # Socket paths are below this folder and must be short.
        self.session = Path(tempfile.mkdtemp(prefix="ray-"))
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.port = free_port()
        self.env = {
            **env,
            "PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_path("purelib"))),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_agent_register_timeout_ms": "300000",
            "TMPDIR": str(self.temporary),
        }
        place = (f"--port={self.port}", f"--temp-dir={self.session}", "--include-dashboard=false")
        self.started = [self._start("head", "--head", *place, "--num-cpus=0")]
        until("the head", lambda: self.alive() == 1, START)

    def _start(self, name: str, *options: str) -> "subprocess.Popen[bytes]":
        # Ray waits only briefly for ports that it chooses itself.
        ports = ("dashboard-agent-grpc", "dashboard-agent-listen", "runtime-env-agent", "metrics-export")
        chosen = [f"--{each}-port={free_port()}" for each in ports]
        command = [
            str(self.bin / "ray"),
            "start",
            "--block",
            "--disable-usage-stats",
            f"--object-store-memory={_STORE}",
        ]
        return spawn([*command, *chosen, *options], self.folder / f"{name}.log", self.folder, self.env)

    def add(self) -> "subprocess.Popen[bytes]":
        """Starts a worker node and waits until it is ready for tasks."""
        before = self.alive()
        node = self._start(f"node-{len(self.started)}", f"--address=127.0.0.1:{self.port}", "--num-cpus=1")
        self.started.append(node)
        until("a node", lambda: self.alive() > before, START)
        return node

    def alive(self) -> int:
        """The number of nodes that the head knows."""
        code = (
            "import ray, sys; "
            f"ray.init(address='127.0.0.1:{self.port}', log_to_driver=False, logging_level='ERROR'); "
            "print(sum(node['Alive'] for node in ray.nodes()))"
        )
        command = [str(self.bin / "python"), "-c", code]
        done = subprocess.run(command, cwd="/", env=self.env, capture_output=True, text=True, check=False)
        return int(done.stdout or 0)

    def tasks(self, node: "subprocess.Popen[bytes]") -> int:
        """The number of running tasks on a node."""
        return sum(_title(pid).startswith(TASK) for pid in below(node.pid))

    def driver(self, project: Path, *words: str, package: Path = ROOT) -> "subprocess.Popen[str]":
        """Starts the command line on the cluster, with the modelyard in ``package``."""
        code = "import sys; from modelyard.cli.app import main; sys.exit(main())"
        command = [
            str(self.bin / "python"),
            "-c",
            code,
            *words,
            "--on",
            "ray",
            "--ray-address",
            f"127.0.0.1:{self.port}",
        ]
        path = os.pathsep.join((str(package), sysconfig.get_path("purelib")))
        return subprocess.Popen(
            command,
            cwd=project,
            env={**self.env, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def here(self, project: Path, *words: str) -> tuple[int, str, str]:
        """Runs the command line on this machine, without Ray."""
        command = [sys.executable, "-c", "import sys; from modelyard.cli.app import main; sys.exit(main())", *words]
        env = {**self.env, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr


def ended(driver: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Exit code and output of a driver."""
    out, err = driver.communicate(timeout=START)
    return driver.returncode, out, err


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@contextmanager
def ray_nodes(folder: Path, env: Mapping[str, str] = os.environ) -> Iterator[Nodes]:
    """A cluster with only a head; ``env`` is for all nodes and drivers."""
    nodes = Nodes(folder, env)
    try:
        yield nodes
    finally:
        for process in reversed(nodes.started):
            kill(process)
        shutil.rmtree(nodes.session, ignore_errors=True)
