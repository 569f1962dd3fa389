"""Pods whose containers are processes of this machine: an API server that creates Jobs and runs their programs."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.api_server import ApiServer


def call_process(job: Any, secret: Any, folder: Path) -> "subprocess.Popen[bytes]":
    """Starts the command of a call's Job, with the files of its Secret in a folder of this machine."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (mount,) = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "call"]
    folder.mkdir()
    for name, content in secret["data"].items():
        (folder / name).write_bytes(base64.b64decode(content))
    program, file = container["command"]
    assert program == "python3"
    # Without the packages of this environment, as in an image.
    command = [sys.executable, "-I", "-S", file.replace(mount, str(folder))]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class PodProcesses:
    """Answers creates of an API server: each Job has a pod at once, whose log is what its process writes."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.jobs: list[Any] = []
        self.secrets: list[Any] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        server.created = self.created

    def created(self, plural: str, body: Any, dry: bool) -> tuple[int, Any]:
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        made = json.loads(json.dumps(body))
        made["metadata"]["uid"] = f"{plural}-{name}"
        if dry:
            return 201, made
        if plural == "secrets":
            self.secrets.append(made)
            return 201, made
        self.jobs.append(made)
        made["spec"]["suspend"] = False
        self.server.objects["jobs"].append(made)
        labels = {"batch.kubernetes.io/job-name": name}
        pod = {
            "metadata": {"name": f"{name}-x", "namespace": namespace, "uid": f"pod-{name}", "labels": labels},
            "spec": {**made["spec"]["template"]["spec"], "nodeName": "n0"},
            "status": {"phase": "Running"},
        }
        self.server.objects["pods"].append(pod)
        self.server.logs[f"{name}-x"] = self.lines(made, pod)
        return 201, made

    def lines(self, job: Any, pod: Any) -> Iterator[bytes]:
        """What the pod's process writes, as it comes."""
        process = call_process(job, self.secrets[-1], self.folder / job["metadata"]["name"])
        self.processes.append(process)
        assert process.stdout is not None
        yield from process.stdout
        succeeded = process.wait() == 0
        pod["status"]["phase"] = "Succeeded" if succeeded else "Failed"
        self.end(job, *(("Complete", "") if succeeded else ("Failed", "BackoffLimitExceeded")))

    @staticmethod
    def end(job: Any, condition: str, reason: str) -> None:
        job["status"] = {"conditions": [{"type": condition, "status": "True", "reason": reason}]}

    def kill(self, processes: Sequence["subprocess.Popen[bytes]"] = ()) -> None:
        """Ends processes that still run."""
        for process in processes or self.processes:
            process.kill()
            process.wait()
