"""The way to an API server: proxies and names of certificates, as kubectl takes them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from lightkube import KubeConfig

from modelyard.cluster.connection import ClusterError, connect, transport
from modelyard.cluster.kubeconfig import Route, route
from modelyard.cluster.requests import Counter
from modelyard.hiding import Confidential
from tests.support.web_servers import Quiet, listening

VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """A proxy that answers everything itself: its address, and what it was asked for."""
    asked: list[str] = []

    class Handler(Quiet):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.answer(b"{}", Content_Type="application/json")

    with listening(Handler) as address:
        yield address, asked


def kubeconfig(folder: Path, server: str = "https://api.example.com", **cluster: Any) -> Path:
    path = folder / "kubeconfig"
    document = {
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [
            {"name": "other", "cluster": {"server": "https://other", "proxy-url": "http://wrong:1"}},
            {"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": True, **cluster}},
        ],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("https://api.example.com", {}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example.com", {"https_proxy": "p:1"}, "http://p:1"),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "https_proxy": "http://q:1"}, "http://p:1"),
        ("https://api.example.com", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://api.example.com", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://localhost:6443", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://127.0.0.9:6443", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": "http://p:1"}, None),
    ],
)
def test_the_environment_s_proxy(tmp_path: Path, server: str, environment: dict[str, str], proxy: str | None) -> None:
    config = KubeConfig.from_file(kubeconfig(tmp_path, server))
    assert route(config, "dev", environment) == Route(proxy and Confidential(proxy))


@pytest.mark.parametrize(
    ("server", "entries", "without"),
    [
        ("https://api.example.com", "*", True),
        ("https://api.example.com", "example.com", True),
        ("https://api.example.com", ".example.com", True),
        ("https://api.example.com", "*.example.com", True),
        ("https://api.example.com", "example.org, EXAMPLE.com", True),
        ("https://example.com", ".example.com", False),
        ("https://badexample.com", "example.com", False),
        ("https://api.example.com", "", False),
        ("https://api.example.com:6443", "example.com:6443", True),
        ("https://api.example.com:6443", "example.com:443", False),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://11.1.2.3", "10.0.0.0/8", False),
        ("https://[fd00::1]", "fd00::/8", True),
    ],
)
def test_requests_that_bypass_the_proxy(tmp_path: Path, server: str, entries: str, without: bool) -> None:
    config = KubeConfig.from_file(kubeconfig(tmp_path, server))
    found = route(config, "dev", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": entries}).proxy
    assert found == (None if without else Confidential("http://p:1"))


def test_a_kubeconfig_s_own_proxy_counts_first_and_everywhere(tmp_path: Path) -> None:
    said = {"proxy-url": "http://own:1", "tls-server-name": "kubernetes"}
    config = KubeConfig.from_file(kubeconfig(tmp_path, "https://127.0.0.1:6443", **said))
    assert route(config, "dev", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}) == Route(
        Confidential("http://own:1"), "kubernetes"
    )


def test_questions_go_through_the_proxy(
    tmp_path: Path, proxy: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, asked = proxy
    monkeypatch.setenv("MODELYARD_ALLOW_HTTP", "true")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, "http://api.example.com", **{"proxy-url": address})))
    assert transport(connect("dev")).get("/version").json() == {}
    assert asked == ["http://api.example.com/version"]


def test_the_name_of_a_certificate_counts_while_requests_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, **{"tls-server-name": "kubernetes"})))
    http = transport(connect("dev"))
    counter = Counter(http)
    request = http.build_request("GET", "/version")
    for hook in http.event_hooks["request"]:
        hook(request)
    assert request.extensions["sni_hostname"] == "kubernetes"
    assert counter.total().requests == 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://ada:secret@p:1", "not a proxy URL"),
        ("ada:secret@p", "not a proxy URL"),
        ("socks5://ada:secret@p:1", "SOCKS support"),
    ],
)
def test_a_proxy_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, words: str) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, **{"proxy-url": url})))
    with pytest.raises(ClusterError, match=words) as told:
        connect("dev")
    assert "secret" not in f"{told.value.summary} {told.value.remedy}"
    assert told.value.__cause__ is None


def test_a_proxy_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from modelyard.cluster.connection import ask_server

    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, **{"proxy-url": "http://ada:secret@127.0.0.1:9"})))
    client = connect("dev")
    with pytest.raises(ClusterError) as told:
        ask_server(lambda: transport(client).get("/version"), "the version")
    assert isinstance(told.value.__cause__, httpx2.TransportError)
    assert "secret" not in f"{told.value.summary} {told.value.remedy}"
