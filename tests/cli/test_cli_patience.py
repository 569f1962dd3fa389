"""Waiting for a Job: how it ended, and the reasons that are printed meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.submitting import Patience, wait_for_end
from modelyard.cluster.connection import connect
from modelyard.kube.state import ObjectKey
from tests.support.api_server import ApiServer, api_server

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


def job(uid: str = "a", *, suspend: bool = False, **conditions: str) -> dict[str, Any]:
    found = [{"type": kind, "status": status} for kind, status in conditions.items()]
    metadata = {"name": JOB.name, "namespace": JOB.namespace, "uid": uid}
    return {"metadata": metadata, "spec": {"suspend": suspend}, "status": {"conditions": found}}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    with api_server(tmp_path) as made:
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
        yield made


def waits(server: ApiServer, monkeypatch: pytest.MonkeyPatch, *seen: dict[str, Any] | None, uid: str = "") -> str:
    """How a wait ends that sees these states of the Job, one after another; None: there is no Job."""
    left = list(seen)

    def look(_: float = 0) -> None:
        one = left.pop(0)
        server.objects["jobs"] = [] if one is None else [one]

    monkeypatch.setattr("modelyard.cli.submitting.time", SimpleNamespace(sleep=look))
    look()
    ended = wait_for_end(connect("dev"), JOB, uid=uid, again="build again", more="; look at it")
    assert left == []
    return ended


@pytest.mark.parametrize(
    ("last", "ended"),
    [(job(Complete="True"), "succeeded"), (job(Complete="False", Failed="True"), "failed")],
    ids=["complete", "failed"],
)
def test_a_wait_ends_with_its_job(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], last: Any, ended: str
) -> None:
    held = job(suspend=True)
    assert waits(server, monkeypatch, held, held, job(Failed="False"), last, uid="a") == ended
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("; look at it")


@pytest.mark.parametrize("after", [None, job("b"), job("b", Complete="True")], ids=["deleted", "again", "again, done"])
def test_a_wait_ends_when_its_job_is_deleted(server: ApiServer, monkeypatch: pytest.MonkeyPatch, after: Any) -> None:
    with pytest.raises(Stop) as stop:
        waits(server, monkeypatch, job(), after, uid="a")
    assert (stop.value.code, stop.value.remedy.endswith("; build again")) == (Exit.FINDINGS, True)


def test_a_wait_without_a_uid_takes_another_job_of_the_name(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert waits(server, monkeypatch, job("a"), job("b", Complete="True")) == "succeeded"
