"""A real RabbitMQ with its management API, run without root and with its data in a folder."""

import json
import os
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.lab.support.prometheus_server import free_port

ROOTS = (Path("/"), Path("/usr/local/lib/rabbitmq-debian"))
"""Where Debian's packages are installed or unpacked."""
QUEUE = "celery-model-training-tasks-gpu"
START = 90
"""Seconds until the broker answers."""
ERL = """\
#!/bin/sh
export EMU=beam PROGNAME=erl ROOTDIR={root} BINDIR={bin}
exec "$BINDIR/erlexec" "$@"
"""
"""Erlang's start script has only the path of its package."""


class Programs(NamedTuple):
    """Paths of the broker and Erlang."""

    broker: Path
    erlang: Path
    runtime: Path
    """Erlang's folder of programs; its name contains the version."""


class Running(NamedTuple):
    """A broker that answers."""

    amqp: str
    """URL for clients."""
    management: str
    """URL of the management API; user and password are guest."""
    processes: "list[subprocess.Popen[bytes]]"

    def api(self, path: str) -> Any:
        """The JSON of a GET of the management API."""
        token = b64encode(b"guest:guest").decode()
        request = Request(f"{self.management}/api/{path}", headers={"Authorization": f"Basic {token}"})
        with build_opener(ProxyHandler({})).open(request, timeout=10) as said:
            return json.load(said)

    def counted(self, queue: str = QUEUE) -> tuple[int | None, int | None] | None:
        """Ready and unacknowledged messages of a queue; None if the queue does not exist."""
        try:
            found = self.api(f"queues/%2F/{quote(queue, safe='')}")
        except HTTPError as error:
            with error:
                assert error.code == 404, error
            return None
        return found.get("messages_ready"), found.get("messages_unacknowledged")


def programs() -> Programs:
    """The programs. Without them, the test is skipped on a developer's machine and fails in CI."""
    brokers = [found for root in ROOTS for found in root.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*")]
    runtimes = [found.parent for root in ROOTS for found in root.glob("usr/lib/erlang/erts-*/bin/erlexec")]
    if not brokers or not runtimes:
        reason = "RabbitMQ is not here (Debian: apt-get install rabbitmq-server; .ci/run unpacks it)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return Programs(brokers[0], runtimes[0].parents[1], runtimes[0])


@contextmanager
def rabbitmq(folder: Path) -> Iterator[Running]:
    """A broker with its data in a folder, until the context ends."""
    found = programs()
    ports = [free_port() for _ in range(4)]
    environment = _prepare(found, folder, *ports)
    running = Running(f"amqp://guest:guest@127.0.0.1:{ports[0]}//", f"http://127.0.0.1:{ports[1]}", [])
    try:
        # Erlang's name service would keep running if the broker started it.
        epmd = [str(found.runtime / "epmd"), "-address", "127.0.0.1", "-port", str(ports[2])]
        running.processes.append(_spawn(epmd, folder, environment))
        running.processes.append(_spawn([str(found.broker / "sbin" / "rabbitmq-server")], folder, environment))
        _await(running, folder)
        yield running
    finally:
        for process in reversed(running.processes):
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _spawn(command: list[str], folder: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=dict(environment)
        )


def _prepare(found: Programs, folder: Path, amqp: int, management: int, names: int, nodes: int) -> dict[str, str]:
    erl = folder / "bin" / "erl"
    erl.parent.mkdir()
    erl.write_text(ERL.format(root=found.erlang, bin=found.runtime))
    erl.chmod(0o755)
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{amqp}\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {management}\n"
    )
    (folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
    settings = {
        "HOME": folder,
        "LANG": "C.UTF-8",
        "PATH": f"{erl.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": names,
        "RABBITMQ_HOME": found.broker,
        "RABBITMQ_NODENAME": "lab@localhost",
        "RABBITMQ_DIST_PORT": nodes,
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_CONFIG_FILE": folder / "rabbitmq",
        "RABBITMQ_ADVANCED_CONFIG_FILE": folder / "advanced.config",
        "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "enabled_plugins",
        "RABBITMQ_PLUGINS_DIR": found.broker / "plugins",
        "RABBITMQ_GENERATED_CONFIG_DIR": folder / "config",
        "RABBITMQ_MNESIA_BASE": folder / "data",
        "RABBITMQ_LOG_BASE": folder / "logs",
        "RABBITMQ_PID_FILE": folder / "pid",
    }
    return {name: str(value) for name, value in settings.items()}


def _await(running: Running, folder: Path) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end:
        assert all(process.poll() is None for process in running.processes), (folder / "log").read_text()
        try:
            running.api("overview")
            return
        except (URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"no answer after {START} seconds: {(folder / 'log').read_text()}")
