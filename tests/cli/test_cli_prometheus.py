"""``modelyard check --prometheus`` without an answer: the exit code, and no secret in the output."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.web_servers import Quiet, listening

SECRET = "s3cret-w0rd"
NOBODY = "127.0.0.1:9"


class Asked:
    """A server that rejects all credentials, and those that it received."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.credentials: list[str] = []


@pytest.fixture
def closed() -> Iterator[Asked]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            asked.credentials.append(self.headers.get("Authorization", ""))
            self.answer(b"", 403)

    with listening(Handler) as url:
        asked = Asked(url.removeprefix("http://"))
        yield asked


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    for name in ("MODELYARD_PROMETHEUS_TOKEN", "MODELYARD_PROMETHEUS_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("words", [("staging",), ("--all",), ("staging", "--json"), ("staging", "--format", "sarif")])
def test_an_unreachable_server(run: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.setenv("MODELYARD_PROMETHEUS_TOKEN", SECRET)
    result = run("check", *words, "--prometheus", f"http://{NOBODY}")
    assert result.code == 3
    assert f"http://{NOBODY} " in result.words
    assert SECRET not in result.text


def test_a_server_that_rejects_the_credentials(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, closed: Asked
) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET)
    monkeypatch.setenv("MODELYARD_PROMETHEUS_TOKEN_FILE", str(file))
    monkeypatch.setenv("MODELYARD_DEBUG", "1")
    result = run("check", "staging", "--prometheus", f"http://{closed.place}")
    assert closed.credentials
    assert set(closed.credentials) == {f"Bearer {SECRET}"}
    assert result.code == 3
    assert "HTTP 403" in result.words
    assert SECRET not in result.text


def test_a_password_in_the_address_is_not_printed(run: Any, closed: Asked) -> None:
    for place in (NOBODY, closed.place):
        result = run("check", "staging", "--prometheus", f"http://ada:{SECRET}@{place}")
        assert result.code == 3
        assert SECRET not in result.text
        assert "ada" not in result.text
    assert closed.credentials[0].startswith("Basic ")


def test_an_invalid_address(run: Any) -> None:
    result = run("check", "staging", "--prometheus", f"ftp://ada:{SECRET}@prometheus.example.com")
    assert result.code == 2
    assert SECRET not in result.text


def test_a_stack_without_queries_needs_no_server(run: Any) -> None:
    assert run("check", "dev", "--prometheus", f"http://{NOBODY}").code == 0
