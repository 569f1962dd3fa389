"""Logs as from a kubelet: kwok serves files in the form of container runtimes, as no pod of the lab writes any."""

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
    """The API server gets logs from nodes, of pods by name, whose only containers have ``written`` these lines."""
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
    # The nodes themselves are another kwok's: this one plays none.
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
            # In place of the node's name, which would be looked for first.
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
