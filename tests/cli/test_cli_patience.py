"""Reasons that are printed while a command waits for a Job."""

from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.submitting import Patience
from modelyard.cluster.connection import connect
from modelyard.kube.state import ObjectKey
from tests.support.api_server import api_server

JOB = ObjectKey("batch/v1", "Job", "ml-platform", "build")


def pod(reason: str, message: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "build-1",
            "namespace": "ml-platform",
            "labels": {"batch.kubernetes.io/job-name": "build"},
        },
        "status": {
            "phase": "Pending",
            "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": message}}}],
        },
    }


def test_reasons_that_alternate_are_printed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server(tmp_path) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        patience = Patience(connect("dev"), JOB)
        # The kubelet tries, pauses, and tries again.
        for reason, message in (("ErrImagePull", "not found"), ("ImagePullBackOff", "Back-off pulling image")) * 3:
            server.objects["pods"] = [pod(reason, message)]
            patience.look()
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("build-1: ")[2].split()[0] for line in lines] == ["ErrImagePull", "ImagePullBackOff"]
