"""A credential is sent only to the addresses that the operator has set."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from modelyard.hiding import Confidential
from modelyard.probes.asking import ask
from modelyard.probes.prometheus import Server
from modelyard.probes.values import JobSourceError
from modelyard.servers import ALLOW_HTTP, Unusable, Variables, basic, bearer, origin_of, secret_for
from modelyard.workloads.training.backend import Broker, Dashboard, JobSource, Numbers
from tests.support.web_servers import Quiet, listening

SECRET = "s3cret-w0rd"
SOURCES: dict[str, tuple[Callable[[str], JobSource], tuple[str, ...]]] = {
    "BROKER": (lambda url: Broker(url, "/", "q"), ("PASSWORD", "PASSWORD_FILE", "USER")),
    "RAY": (Dashboard, ("TOKEN", "TOKEN_FILE")),
    "PROMETHEUS": (lambda url: Numbers(url, "up", 30), ("TOKEN", "TOKEN_FILE")),
}
CREDENTIALS = [(name, part) for name, (_, parts) in SOURCES.items() for part in parts]


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, part in CREDENTIALS:
        monkeypatch.delenv(f"MODELYARD_{name}_{part}", raising=False)
        monkeypatch.delenv(f"MODELYARD_{name}_URL", raising=False)
    monkeypatch.delenv(ALLOW_HTTP, raising=False)


@contextmanager
def recording(status: int = 403) -> Iterator[tuple[str, list[str | None]]]:
    seen: list[str | None] = []

    class Handler(Quiet):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.answer(b"{}", status)

        do_CONNECT = do_GET

    with listening(Handler) as url:
        yield url, seen


def give(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, part: str) -> str:
    """Sets a credential and returns the name of its variable."""
    value = SECRET
    if part.endswith("_FILE"):
        (folder / "secret").write_text(SECRET)
        value = str(folder / "secret")
    monkeypatch.setenv(f"MODELYARD_{name}_{part}", value)
    return f"MODELYARD_{name}_{part}"


NAMED = ["", "https://127.0.0.1:PORT", "http://127.0.0.1:1", "http://localhost:PORT", "http://127.0.0.1", "http://PORT"]


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize(("name", "part"), CREDENTIALS)
def test_no_request_goes_to_an_address_that_the_operator_did_not_set(
    name: str, part: str, named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    variable = give(monkeypatch, tmp_path, name, part)
    source, _ = SOURCES[name]
    with recording() as (url, seen):
        monkeypatch.setenv(f"MODELYARD_{name}_URL", named.replace("PORT", url.rpartition(":")[2]))
        with pytest.raises(JobSourceError) as error:
            ask(source(f"{url}/path"))
        assert seen == []
    assert error.value.lasting
    assert url in error.value.summary
    assert variable in error.value.summary
    assert f"MODELYARD_{name}_URL=" in error.value.remedy
    assert url in error.value.remedy
    assert SECRET not in f"{error.value.summary}{error.value.remedy}"


@pytest.mark.parametrize(("name", "part"), CREDENTIALS)
def test_following_the_remedy_sends_the_credential(
    name: str, part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    give(monkeypatch, tmp_path, name, part)
    source, _ = SOURCES[name]
    with recording() as (url, seen):
        with pytest.raises(JobSourceError) as error:
            ask(source(url))
        line = error.value.remedy.split("set ", 1)[1].partition(";")[0]
        monkeypatch.setenv(*line.split("=", 1))
        with pytest.raises(JobSourceError):
            ask(source(url))
    assert seen
    assert all(seen)


@pytest.mark.parametrize("name", SOURCES)
def test_without_a_credential_no_address_has_to_be_set(name: str) -> None:
    source, _ = SOURCES[name]
    with recording() as (url, seen), pytest.raises(JobSourceError):
        ask(source(url))
    # The default user guest of RabbitMQ, which is not a secret.
    assert seen == ["Basic Z3Vlc3Q6Z3Vlc3Q=" if name == "BROKER" else None]


@pytest.mark.parametrize(("name", "part"), CREDENTIALS)
def test_a_credential_without_tls_goes_only_to_this_machine(
    name: str, part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    give(monkeypatch, tmp_path, name, part)
    url = "http://broker.example.com:15672"
    monkeypatch.setenv(f"MODELYARD_{name}_URL", url)
    source, _ = SOURCES[name]
    # A proxy on this machine records each request that would leave it.
    with recording() as (proxy, seen):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(JobSourceError, match="has no TLS") as error:
            ask(source(url))
        assert ALLOW_HTTP in error.value.remedy
        assert seen == []
        monkeypatch.setenv(ALLOW_HTTP, "true")
        with pytest.raises(JobSourceError):
            ask(source(url))
        assert len(seen) == 1


@pytest.mark.parametrize("name", SOURCES)
def test_requests_to_this_machine_do_not_use_a_proxy(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    give(monkeypatch, tmp_path, name, SOURCES[name][1][0])
    source, _ = SOURCES[name]
    with recording() as (proxy, through_proxy), recording() as (url, direct):
        for variable in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(variable, proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.setenv(f"MODELYARD_{name}_URL", url)
        with pytest.raises(JobSourceError):
            ask(source(url))
    assert (len(direct), through_proxy) == (1, [])


def test_an_https_proxy_gets_no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELYARD_RAY_TOKEN", SECRET)
    monkeypatch.setenv("MODELYARD_RAY_URL", "https://ray.example.com")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with recording() as (proxy, seen):
        monkeypatch.setenv("https_proxy", f"http://user:{SECRET}@{proxy.removeprefix('http://')}")
        with pytest.raises(JobSourceError) as error:
            ask(Dashboard("https://ray.example.com"))
    assert seen == [None]
    assert SECRET not in f"{error.value.summary}{error.value.remedy}"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Broker.Example.com", "https://broker.example.com:443"),
        ("http://host:8080/path?q#f", "http://host:8080"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("http://host:99999", None),
        ("ftp://host", None),
        ("host:80", None),
        ("http://good.example.com@evil.example.com", None),
        ("http://good.example.com\\@evil.example.com", None),
        ("http://good.example.com%2eevil", None),
        ("http://go\tod", None),
        ("http://ｇood", None),
        ("http://", None),
        ("", None),
    ],
)
def test_an_address_has_an_origin(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize("urls", [f"https://user:{SECRET}@host", f"host {SECRET}", "*"])
def test_a_credential_in_place_of_addresses_is_not_shown(urls: str) -> None:
    environment = {"S": SECRET, "U": urls}
    with pytest.raises(Unusable, match="U has something other than addresses") as error:
        secret_for("https://host", Variables("S", "F", "U"), environment)
    assert SECRET not in f"{error.value.summary}{error.value.remedy}"


def test_an_address_of_the_command_line_may_get_the_credential() -> None:
    environment = {"S": SECRET}
    found = secret_for("https://host", Variables("S", "F", "U"), environment, named=True)
    assert found.reveal() == SECRET
    with pytest.raises(Unusable, match="has no TLS"):
        secret_for("http://host", Variables("S", "F", "U"), environment, named=True)


def test_a_printed_credential_is_hidden() -> None:
    secret = Confidential(SECRET)
    encoded = basic("ada", secret).reveal().removeprefix("Basic ")
    for value in (secret, basic("ada", secret), bearer(secret), Server("https://host", bearer(secret)), [secret]):
        for text in (str(value), repr(value), f"{value}", f"{value!r}"):
            assert SECRET not in text
            assert encoded not in text
    with pytest.raises(TypeError):
        json.dumps(secret)
