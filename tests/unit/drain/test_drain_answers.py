"""What Ray, a broker and a Prometheus server answer, read over real connections; and what is no answer."""

import errno
import json
import os
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from modelyard.probes import Busy, JobSourceError, described
from modelyard.probes.asking import ask
from modelyard.probes.celery import PASSWORD, PASSWORD_FILE, USER
from modelyard.probes.ray import TOKEN, TOKEN_FILE
from modelyard.workloads.training.backend import Broker, Dashboard, HeadService, JobSource, NoJobSource, Numbers
from tests.support.web_servers import Quiet, listening

Reply = Callable[[BaseHTTPRequestHandler], None]
QUEUE = "celery-model-training-tasks-gpu"
HEAD = "deployment-ray-head"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    for name in (USER, PASSWORD, PASSWORD_FILE, TOKEN, TOKEN_FILE):
        monkeypatch.delenv(name, raising=False)


class Seen:
    """The requests that a server had."""

    def __init__(self) -> None:
        self.url = ""
        self.paths: list[str] = []
        self.authorization: list[str] = []


@contextmanager
def answering(*documents: Any, status: int = 200, headers: dict[str, str] | None = None) -> Iterator[Seen]:
    """A server that gives one document after the other, the last for ever."""
    seen = Seen()
    left = list(documents)

    class Handler(Quiet):
        def do_GET(self) -> None:
            seen.paths.append(self.path)
            seen.authorization.append(self.headers.get("Authorization", ""))
            document = left.pop(0) if len(left) > 1 else left[0]
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.answer(body, status, **(headers or {}))

    with listening(Handler) as seen.url:
        yield seen


def job(status: str, name: str = "raysubmit_1", entrypoint: str = "python train.py") -> dict[str, Any]:
    return {"type": "SUBMISSION", "submission_id": name, "job_id": None, "status": status, "entrypoint": entrypoint}


def queue(**counts: Any) -> dict[str, Any]:
    return {"name": QUEUE, "vhost": "/", **counts}


@pytest.mark.parametrize(
    ("document", "busy"),
    [
        ([], Busy(0, 0)),
        ([job("SUCCEEDED"), job("FAILED"), job("STOPPED")], Busy(0, 0)),
        ([job("PENDING")], Busy(0, 1)),
        ([job("RUNNING"), job("PENDING", "b")], Busy(1, 1, ("raysubmit_1 (python train.py)",))),
        ([job("SUSPENDED")], Busy(1, 0, ("raysubmit_1 (python train.py)",))),
        ([{"type": "DRIVER", "job_id": "02000000", "status": "RUNNING"}], Busy(1, 0, ("02000000",))),
    ],
)
def test_a_job_of_ray_counts_until_it_has_ended(document: Any, busy: Busy) -> None:
    with answering(document) as server:
        assert ask(Dashboard(f"{server.url}/")) == busy
        assert server.paths == ["/api/jobs/"]


def test_a_long_entrypoint_is_cut() -> None:
    with answering([job("RUNNING", entrypoint="python -c '" + "x" * 500 + "'")]) as server:
        (shown,) = ask(Dashboard(server.url)).jobs
        assert len(shown) < 90
        assert shown.endswith("…)")


@pytest.mark.parametrize(
    ("document", "busy"),
    [
        (queue(messages_ready=0, messages_unacknowledged=0), Busy(0, 0)),
        (queue(messages_ready=2, messages_unacknowledged=1), Busy(1, 2)),
        (queue(messages_ready=0, messages_unacknowledged=3), Busy(3, 0)),
    ],
)
def test_messages_of_the_queue_are_jobs(document: Any, busy: Busy) -> None:
    with answering(document) as server:
        assert ask(Broker(server.url, "/", QUEUE)) == busy
        assert server.paths == [f"/api/queues/%2F/{QUEUE}"]


def test_a_queue_without_a_count_is_not_idle() -> None:
    with answering(queue(state="running")) as server, pytest.raises(JobSourceError, match="not counted") as error:
        ask(Broker(server.url, "/", QUEUE))
    assert not error.value.lasting


def test_names_of_queue_and_virtual_host_cannot_change_the_path() -> None:
    with answering(queue(messages_ready=0, messages_unacknowledged=0)) as server:
        ask(Broker(server.url, "team/a", "../../x?y=1"))
        assert server.paths == ["/api/queues/team%2Fa/..%2F..%2Fx%3Fy%3D1"]


def test_credentials_go_into_the_header_and_into_no_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret-w0rd\n")
    (tmp_path / "token").write_text("t0ken-w0rd\n")
    monkeypatch.setenv(USER, "reader")
    monkeypatch.setenv(PASSWORD_FILE, str(tmp_path / "password"))
    monkeypatch.setenv(TOKEN_FILE, str(tmp_path / "token"))
    with answering({"error": "not_authorized"}, status=401) as server:
        monkeypatch.setenv("MODELYARD_BROKER_URL", f"https://other.example.com {server.url}/")
        monkeypatch.setenv("MODELYARD_RAY_URL", server.url)
        for source in (Broker(server.url, "/", QUEUE), Dashboard(server.url)):
            with pytest.raises(JobSourceError) as error:
                ask(source)
            assert error.value.lasting
            assert "w0rd" not in f"{error.value.summary}{error.value.remedy}"
        assert b64decode(server.authorization[0].removeprefix("Basic ")) == b"reader:s3cret-w0rd"
        assert server.authorization[1] == "Bearer t0ken-w0rd"


def test_a_missing_password_file_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_FILE, "/nowhere/password")
    monkeypatch.setenv("MODELYARD_BROKER_URL", "http://127.0.0.1:9")
    with pytest.raises(JobSourceError, match="/nowhere/password cannot be read: the file does not exist") as error:
        ask(Broker("http://127.0.0.1:9", "/", QUEUE))
    assert error.value.remedy == f"correct {PASSWORD_FILE}"


@pytest.mark.parametrize("source", [Dashboard, lambda url: Broker(url, "/", QUEUE)])
@pytest.mark.parametrize(
    ("document", "status", "lasting"),
    [
        (b"<html>", 200, False),
        ({"a": 1}, 404, True),
        ({"a": 1}, 503, False),
        ({"a": 1}, 200, True),
        (b"[1]", 200, True),
    ],
)
def test_an_unusable_answer_is_never_idle(
    source: Callable[[str], JobSource], document: Any, status: int, lasting: bool
) -> None:
    with answering(document, status=status) as server, pytest.raises(JobSourceError) as error:
        ask(source(server.url))
    assert error.value.lasting is lasting
    assert error.value.remedy


def test_credentials_are_not_sent_after_a_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "t0ken")
    with (
        answering([]) as other,
        answering(b"", status=302, headers={"Location": f"{other.url}/api/jobs/"}) as server,
        pytest.raises(JobSourceError, match="HTTP 302"),
    ):
        monkeypatch.setenv("MODELYARD_RAY_URL", server.url)
        ask(Dashboard(server.url))
    assert other.paths == []


def test_a_refused_connection_is_not_a_lasting_error(unused_port: int) -> None:
    with pytest.raises(JobSourceError, match=os.strerror(errno.ECONNREFUSED)) as error:
        ask(Dashboard(f"http://127.0.0.1:{unused_port}"))
    assert not error.value.lasting


@pytest.fixture
def unused_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return int(server.server_address[1])


def prometheus(*values: str, kind: str = "vector") -> dict[str, Any]:
    result: Any = [{"metric": {}, "value": [1, value]} for value in values]
    return {"status": "success", "data": {"resultType": kind, "result": result if kind == "vector" else [1, values[0]]}}


@pytest.mark.parametrize(
    ("document", "running"),
    [(prometheus("0"), 0), (prometheus("3"), 3), (prometheus("0.5"), 1), (prometheus("2", kind="scalar"), 2)],
)
def test_the_value_of_a_query_is_the_number_of_jobs(document: Any, running: int) -> None:
    with answering(document) as server:
        assert ask(Numbers(server.url, "sum(ray_tasks) or vector(0)", 30)) == Busy(running, 0)
        assert server.paths[0].startswith("/api/v1/query?query=sum%28ray_tasks%29")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (prometheus(), "the query returns no series"),
        (prometheus("0", "0"), "the query returns 2 series"),
        (prometheus("NaN"), "the query returns nan"),
        (prometheus("-1"), "the query returns -1"),
    ],
)
def test_a_query_without_a_number_is_not_idle(document: Any, words: str) -> None:
    with answering(document) as server, pytest.raises(JobSourceError, match=words):
        ask(Numbers(server.url, "sum(ray_tasks)", 30))


def test_a_wrong_address_is_a_lasting_error() -> None:
    with pytest.raises(JobSourceError) as error:
        ask(Numbers("prometheus", "up", 30))
    assert error.value.lasting


def test_a_missing_source_has_a_remedy() -> None:
    with pytest.raises(JobSourceError, match="names nobody") as error:
        ask(NoJobSource("the stack names nobody", "name somebody"))
    assert (error.value.remedy, error.value.lasting) == ("name somebody", True)


def deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "ray-head", "part-of": "ml-platform"}}, "spec": {}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": HEAD, "namespace": "ml"},
        "spec": {"template": template},
    }


def service(name: str, selector: dict[str, str] | None, port: int) -> dict[str, Any]:
    spec = {"ports": [{"name": "x", "port": port}], **({"selector": selector} if selector is not None else {})}
    return {"metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def cluster(folder: Path, url: str) -> None:
    """A kubeconfig that leads to a server of ours."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "it",
    }
    (folder / "kubeconfig").write_text(json.dumps(config))


def test_the_dashboard_is_found_by_the_service_of_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        service("aa-other", {"app": "other"}, 8265),
        service("ab-more", {"app": "ray-head", "x": "y"}, 8265),
        service("ac-port", {"app": "ray-head"}, 6379),
        service("ad-all", None, 8265),
        service("service-ray-head", {"app": "ray-head"}, 8265),
    ]
    listed = {"kind": "ServiceList", "apiVersion": "v1", "metadata": {}, "items": found}
    with answering(deployment(), listed, [job("RUNNING")]) as server:
        cluster(tmp_path, server.url)
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        assert ask(HeadService("it", "ml", HEAD)).running == 1
        assert server.paths[2] == "/api/v1/namespaces/ml/services/http:service-ray-head:8265/proxy/api/jobs/"


def test_the_dashboard_of_a_service_is_that_of_its_active_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = {"activeServiceStatus": {"rayClusterName": "models-a"}, "pendingServiceStatus": {"rayClusterName": "b"}}
    models = {"kind": "RayService", "metadata": {"name": "models", "namespace": "ml"}, "status": clusters}
    active = {"kind": "RayCluster", "metadata": {"name": "models-a", "namespace": "ml"}}
    active["status"] = {"head": {"serviceName": "models-a-head-svc"}}
    with answering(models, active, [job("RUNNING")]) as server:
        cluster(tmp_path, server.url)
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        assert ask(HeadService("it", "ml", "models", "RayService")).running == 1
        assert server.paths[1:] == [
            "/apis/ray.io/v1/namespaces/ml/rayclusters/models-a",
            "/api/v1/namespaces/ml/services/http:models-a-head-svc:8265/proxy/api/jobs/",
        ]


def test_a_head_without_a_service_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"kind": "ServiceList", "apiVersion": "v1", "metadata": {}, "items": []}
    with answering(deployment(), listed) as server:
        cluster(tmp_path, server.url)
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        with pytest.raises(JobSourceError, match="no Service in ml leads to port 8265 of deployment-ray-head") as error:
            ask(HeadService("it", "ml", HEAD))
    assert "drain.ray.jobs" in error.value.remedy


def test_every_source_is_described(golden: Any) -> None:
    sources: list[JobSource] = [
        Dashboard("http://ray"),
        HeadService(None, "ml", HEAD),
        Broker("http://broker", "/", QUEUE),
        Numbers("http://prometheus", "up", 30),
        NoJobSource("", ""),
    ]
    golden(*(described(source) for source in sources))


@pytest.mark.parametrize(
    ("busy", "words"),
    [
        (Busy(0, 0), "no job"),
        (Busy(1, 0), "1 running job"),
        (Busy(0, 2), "2 waiting jobs"),
        (Busy(2, 1), "2 running and 1 waiting jobs"),
    ],
)
def test_jobs_are_counted_in_words(busy: Busy, words: str) -> None:
    assert str(busy) == words
