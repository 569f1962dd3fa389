"""Logs of simulated pods: kwok serves files in the format of a container runtime."""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from lab import Lab
from tests.lab.support.prometheus_server import free_port

PATIENCE = 30
"""Seconds until the program answers."""


@contextmanager
def logs(lab: Lab, folder: Path, written: Mapping[str, Iterable[str]], nodes: Iterable[str]) -> Iterator[None]:
    """Serves ``written`` as the logs of pods, by name, through the API server and these nodes."""
    documents = []
    for pod, lines in written.items():
        path = folder / f"{pod}.log"
        path.write_text("".join(f"2026-11-23T06:00:00.{n:09}Z stdout F {line}\n" for n, line in enumerate(lines)))
        documents.append(
            {
                "apiVersion": "kwok.x-k8s.io/v1alpha1",
                "kind": "ClusterLogs",
                "metadata": {"name": pod},
                "spec": {"selector": {"matchNames": [pod]}, "logs": [{"logsFile": str(path), "follow": True}]},
            }
        )
    (folder / "kwok.yaml").write_text("\n---\n".join(json.dumps(one) for one in documents))
    port = free_port()
    # Another kwok simulates the nodes; this one only serves logs.
    command = [
        str(lab.tools.bin / "kwok"),
        f"--kubeconfig={lab.kubeconfig}",
        f"--config={folder / 'kwok.yaml'}",
        "--manage-nodes-with-label-selector=example.com/nobodys=true",
        f"--server-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        _await_answer(f"http://127.0.0.1:{port}/healthz", process, folder / "log")
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        for node in nodes:
            # The API server would otherwise connect to the node's name.
            change = ("--type=merge", "--patch", json.dumps({"status": status}))
            lab.kubectl("patch", "node", node, "--subresource=status", *change)
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


def _await_answer(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            with build_opener(ProxyHandler({})).open(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"no answer after {PATIENCE} seconds: {log.read_text()}")
