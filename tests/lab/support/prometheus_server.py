"""A real Prometheus server on this machine, scraping two small exporters every second."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

from lab.state import free_numbers
from tests.support.web_servers import Quiet, listening

PATIENCE = 60
"""Seconds until the server has enough samples."""
QUEUE = "celery-model-training-tasks-gpu"
METRICS = f"""\
# TYPE ray_tasks gauge
ray_tasks{{Name="train",State="RUNNING"}} 2
ray_tasks{{Name="train",State="PENDING_NODE_ASSIGNMENT"}} 1
ray_tasks{{Name="train",State="FINISHED"}} 7
# TYPE rabbitmq_queue_messages_ready gauge
rabbitmq_queue_messages_ready{{queue="{QUEUE}",vhost="/"}} 3
rabbitmq_queue_messages_ready{{queue="mail",vhost="/"}} 0
# TYPE rabbitmq_queue_messages_unacked gauge
rabbitmq_queue_messages_unacked{{queue="{QUEUE}",vhost="/"}} 1
# TYPE idle gauge
idle 0
# TYPE broken gauge
broken NaN
# TYPE wait_seconds histogram
wait_seconds_bucket{{le="1"}} 1
wait_seconds_bucket{{le="10"}} 4
wait_seconds_bucket{{le="+Inf"}} 5
wait_seconds_sum 21
wait_seconds_count 5
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-a",Hostname="n",namespace="vision",pod="train-0",container="job"}} 97
DCGM_FI_DEV_GPU_UTIL{{gpu="1",UUID="GPU-b",Hostname="n",namespace="vision",pod="train-0",container="job"}} 0
DCGM_FI_DEV_GPU_UTIL{{gpu="2",UUID="GPU-c",Hostname="n",exported_namespace="speech",exported_pod="x",pod="dcgm"}} 0
DCGM_FI_DEV_GPU_UTIL{{gpu="3",UUID="GPU-d",Hostname="n"}} 0
# TYPE jobs counter
"""
"""The metrics of both exporters; each also has ``jobs_total``, which grows."""


class Running(NamedTuple):
    """A server that has samples."""

    url: str
    process: "subprocess.Popen[bytes]"

    def get(self, path: str, **parameters: str) -> Any:
        """The JSON of a GET of the API."""
        address = f"{self.url}/api/v1/{path}?{urlencode(parameters)}"
        with build_opener(ProxyHandler({})).open(address, timeout=10) as said:
            return json.load(said)


def binary() -> str:
    """The path of Prometheus. Without it, the test is skipped on a developer's machine and fails in CI."""
    found = shutil.which("prometheus")
    if found is None:
        reason = "the program prometheus is not on PATH (Debian: apt-get install prometheus)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class _Exporter(Quiet):
    more: Mapping[str, float]

    def do_GET(self) -> None:
        shown = "".join(f"{name} {value}\n" for name, value in self.more.items())
        body = f"{METRICS}jobs_total {time.monotonic():.0f}\n{shown}".encode()
        with suppress(ConnectionError):  # a server that stops closes its connections
            self.answer(body, Content_Type="text/plain; version=0.0.4")


@contextmanager
def exporter(more: Mapping[str, float]) -> Iterator[int]:
    """An exporter on a free port, with the current values of ``more`` in addition to its own metrics."""
    with listening(type("Exporter", (_Exporter,), {"more": more})) as url:
        yield int(url.rpartition(":")[2])


_GIVEN: set[int] = set()
"""Ports of this process: a program that gets several uses none of them before it has started."""


def free_port() -> int:
    """A free port that no outgoing connection takes before the program that is started next."""
    while (port := free_numbers(1)[0]) in _GIVEN:
        pass
    _GIVEN.add(port)
    return port


@contextmanager
def prometheus(folder: Path, more: Mapping[str, float] = MappingProxyType({})) -> Iterator[Running]:
    """A server with its data in a folder, until the context ends; a test may change the gauges ``more``."""
    program = binary()
    with ExitStack() as stack:
        targets = [f"127.0.0.1:{stack.enter_context(exporter(more))}" for _ in range(2)]
        scrape = {"job_name": "exporter", "scrape_interval": "1s", "static_configs": [{"targets": targets}]}
        config = {"global": {"scrape_interval": "30s", "evaluation_interval": "1s"}, "scrape_configs": [scrape]}
        (folder / "prometheus.yml").write_text(json.dumps(config))
        port = free_port()
        command = [
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        running = Running(f"http://127.0.0.1:{port}", process)
        try:
            _await_samples(running, folder / "log")
            yield running
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await_samples(running: Running, log: Path) -> None:
    """Waits until every series has five samples."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert running.process.poll() is None, log.read_text()
        try:
            said = running.get("query", query="min(count_over_time(jobs_total[1m])) + 10 * count(jobs_total)")
            if [float(one["value"][1]) for one in said["data"]["result"] if float(one["value"][1]) >= 25]:
                return
        except OSError:
            pass  # not listening yet
        time.sleep(0.2)
    raise AssertionError(f"no samples after {PATIENCE} seconds: {log.read_text()}")
