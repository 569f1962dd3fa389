"""Threads that read a kubeconfig at once: the client creates its types on the first read, and two at once crash."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from lightkube import KubeConfig

from modelyard.cluster.connection import kubeconfigs

CONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts: [{name: a, context: {cluster: a, user: u}}]
current-context: a
"""


def test_one_thread_at_a_time_reads_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    file.write_text(CONFIG)
    monkeypatch.setenv("KUBECONFIG", str(file))
    read, inside, most = KubeConfig.from_dict, 0, 0

    def counted(*words: Any) -> KubeConfig:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1
        return read(*words)

    monkeypatch.setattr(KubeConfig, "from_dict", counted)
    found: list[str | None] = []
    threads = [threading.Thread(target=lambda: found.append(kubeconfigs()[0].current_context)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, most) == (["a"] * 4, 1)
