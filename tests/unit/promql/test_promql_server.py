"""Asking servers that misbehave, over real connections."""

import errno
import json
import math
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from modelyard.findings import Finding
from modelyard.plan.checks.live_queries import check_on_server, seconds
from modelyard.probes.prometheus import (
    MOST_BYTES,
    TOKEN,
    TOKEN_FILE,
    BadAddress,
    QueryAnswer,
    Refused,
    Server,
    ServerError,
    ask,
    clean,
    server,
)
from modelyard.promql.queries import Query
from modelyard.servers import Unreachable
from tests.support.web_servers import Quiet, listening

Reply = Callable[[BaseHTTPRequestHandler], None]
SECRET = "s3cret-w0rd"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@contextmanager
def serving(reply: Reply) -> Iterator[str]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            reply(self)

    with listening(Handler) as url:
        yield url.removeprefix("http://")


def says(body: str | bytes, status: int = 200, **headers: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body if isinstance(body, bytes) else body.encode())

    return reply


def answers(kind: str, result: Any) -> Reply:
    return says(json.dumps({"status": "success", "data": {"resultType": kind, "result": result}}))


def asked(reply: Reply) -> QueryAnswer | Refused:
    with serving(reply) as place:
        return ask(server(f"http://{place}", {}), "x")


def failed(reply: Reply) -> ServerError:
    with pytest.raises(ServerError) as raised:
        asked(reply)
    return raised.value


@pytest.mark.parametrize(
    ("kind", "result", "answer"),
    [
        ("scalar", [1, "5"], QueryAnswer("scalar", 1, (5.0,))),
        ("string", [1, "a"], QueryAnswer("string", 1)),
        ("vector", [], QueryAnswer("vector", 0)),
        (
            "vector",
            [{"metric": {"a": "1"}, "value": [1, "+Inf"]}],
            QueryAnswer("vector", 1, (float("inf"),), ({"a": "1"},)),
        ),
        ("matrix", [{"metric": {}, "values": [[1, "2"]]}], QueryAnswer("matrix", 1, (), ({},))),
    ],
)
def test_answers(kind: str, result: Any, answer: QueryAnswer) -> None:
    assert asked(answers(kind, result)) == answer


def test_a_histogram_is_no_number() -> None:
    answer = asked(answers("vector", [{"metric": {}, "histogram": [1, {}]}]))
    assert isinstance(answer, QueryAnswer)
    assert math.isnan(answer.values[0])


@pytest.mark.parametrize("status", [400, 422, 503])
def test_the_message_of_a_server_that_refuses_a_query(status: int) -> None:
    body = json.dumps({"status": "error", "errorType": "bad_data", "error": "1:5: parse error:\n\x1b[31mno"})
    assert asked(says(body, status)) == Refused("1:5: parse error: [31mno")


@pytest.mark.parametrize(
    "body",
    [
        "<html>",
        "",
        "\xff",
        "[]",
        "{}",
        "[" * 100_000,
        '{"data": null}',
        '{"data": {"resultType": "vector", "result": [{}]}}',
        '{"data": {"resultType": "scalar", "result": [1, "five"]}}',
    ],
)
def test_an_answer_that_is_not_from_prometheus(body: str) -> None:
    assert "not a Prometheus" in failed(says(body.encode("latin-1"))).summary


@pytest.mark.parametrize("status", [404, 500, 502])
def test_a_server_without_the_api(status: int) -> None:
    assert failed(says("<html>", status)).summary.endswith(f" API (HTTP {status})")


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_rejects_the_credentials(status: int) -> None:
    error = failed(says("no", status))
    assert error.summary.endswith(f" credentials (HTTP {status})")
    assert TOKEN in error.remedy


def test_an_answer_without_end_is_many_series() -> None:
    assert asked(says(b" " * (MOST_BYTES + 2))) == QueryAnswer("vector", None)


def test_a_connection_that_is_cut() -> None:
    assert "not a Prometheus" in failed(says("{", 200, **{"Content-Length": "100"})).summary


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://prometheus.invalid:9090", "https://PLACE"])
def test_a_server_that_cannot_be_reached(url: str) -> None:
    with serving(says("")) as place, pytest.raises(ServerError) as raised:
        ask(server(url.replace("PLACE", place), {}), "x")
    assert isinstance(raised.value.__context__, Unreachable)
    assert (os.strerror(errno.ECONNREFUSED) in raised.value.summary) == (url == "http://127.0.0.1:1")


def test_credentials_do_not_follow_to_another_address() -> None:
    seen: list[str] = []

    def take(handler: BaseHTTPRequestHandler) -> None:
        seen.append(str(handler.headers.get("Authorization")))

    with serving(take) as other:
        reply = says("", 302, Location=f"http://user:{SECRET}@{other}/api/v1/query?token={SECRET}")
        with serving(reply) as place, pytest.raises(ServerError, match=f"redirects to http://{other}") as raised:
            ask(server(f"http://{place}", {TOKEN: SECRET}, named=True), "x")
    assert seen == []
    assert SECRET not in str(raised.value)


def headers_of(url: str, environment: dict[str, str]) -> str:
    seen: list[str] = []

    def take(handler: BaseHTTPRequestHandler) -> None:
        seen.append(str(handler.headers.get("Authorization")))
        answers("scalar", [1, "5"])(handler)

    with serving(take) as place:
        ask(server(url.replace("PLACE", place), environment, named=True), "x")
    return seen[0]


def test_credentials_of_the_address() -> None:
    pair = b64encode(f"user:{SECRET}@1".encode()).decode()
    assert headers_of(f"http://user:{SECRET}%401@PLACE/", {}) == f"Basic {pair}"


def test_a_token_of_the_environment_and_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n")
    assert headers_of("http://PLACE", {TOKEN: SECRET}) == f"Bearer {SECRET}"
    assert headers_of("http://PLACE", {TOKEN_FILE: str(tmp_path / "token")}) == f"Bearer {SECRET}"
    assert headers_of("http://PLACE", {}) == "None"


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        (f"ftp://user:{SECRET}@host", {}),
        (f"http://user:{SECRET}@", {}),
        (f"http://user:{SECRET}@host:port", {}),
        (f"http://user:{SECRET}@[::1", {}),
        (f"http://host/?token={SECRET}", {}),
        (f"http://host/#{SECRET}", {}),
        (f"{SECRET}", {}),
        (f"http://user:{SECRET}@host", {TOKEN: SECRET}),
        ("http://host", {TOKEN: f"{SECRET}\r\nX-Other: 1"}),
        ("http://host", {TOKEN: f"{SECRET} and more"}),
        ("http://host", {TOKEN: f"{SECRET}é"}),
        ("http://host", {TOKEN_FILE: "/nowhere/token"}),
    ],
)
def test_unusable_addresses_are_refused_without_showing_credentials(url: str, environment: dict[str, str]) -> None:
    with pytest.raises(BadAddress) as raised:
        server(url, environment)
    assert SECRET not in raised.value.summary + raised.value.remedy


def test_two_credentials_are_refused_by_the_name_of_the_variable() -> None:
    with pytest.raises(BadAddress, match=f"both the address and {TOKEN} have credentials"):
        server(f"https://user:{SECRET}@host", {TOKEN: SECRET}, named=True)


def test_credentials_are_in_no_text_of_a_server() -> None:
    made = server(f"https://user:{SECRET}@host:9090/path/", {})
    assert made.url == "https://host:9090/path"
    assert SECRET not in f"{made!r} {made}"


def test_messages_of_a_server_are_cut_to_one_plain_line() -> None:
    assert clean("a\n\x1b[31m b\u202e c") == "a [31m b c"
    assert len(clean("x" * 1000)) == 300


@pytest.mark.parametrize(
    ("text", "number"),
    [("15s", 15), ("1m30s", 90), ("500ms", 0.5), ("1d", 86400), ("", None), ("15", None), (None, None), ("-5s", None)],
)
def test_durations_of_a_server(text: object, number: float | None) -> None:
    assert seconds(text) == number


def findings(reply: Reply, query: str) -> list[Finding]:
    with serving(reply) as place:
        asked_of = Server(f"http://{place}")
        return list(check_on_server(asked_of, [Query("workers", query, "autoscaling.queries")], scrape_interval=30))


def test_a_server_with_only_queries_gives_the_findings_it_can() -> None:
    codes = [finding.code for finding in findings(answers("vector", []), "sum(x) or vector(0)")]
    assert codes == ["AUT022", "AUT024"]


def test_a_query_that_parser_and_server_refuse_has_only_offline_findings() -> None:
    refused = says(json.dumps({"status": "error", "error": "parse error"}), 400)
    assert findings(refused, "sum(") == []
    (finding,) = findings(refused, "sum(x)")
    assert (finding.code, finding.target, finding.blocks) == ("AUT020", "workers", True)


@pytest.mark.parametrize("data", [{}, [], None, {"activeTargets": None}, {"activeTargets": [None, {"labels": 5}]}])
def test_a_malformed_list_of_targets_is_ignored(data: object) -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        if "/query?" in handler.path:
            answers("vector", [{"metric": {"job": "ray"}, "value": [1, "5"]}])(handler)
        else:
            says(json.dumps({"status": "success", "data": data}))(handler)

    assert [finding.code for finding in findings(reply, "sum(x)")] == ["AUT023"]


def test_the_configured_interval_is_used_if_targets_have_none() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        if "/query?" in handler.path:
            answers("vector", [{"metric": {"job": "ray"}, "value": [1, "5"]}])(handler)
        elif "/status/config" in handler.path:
            yaml = "global:\n  scrape_timeout: 10s\n  scrape_interval: 1m\nscrape_configs:\n- scrape_interval: 5s\n"
            says(json.dumps({"status": "success", "data": {"yaml": yaml}}))(handler)
        else:
            says("no", 403)(handler)

    found = findings(reply, "sum(x)")
    assert [finding.code for finding in found] == ["AUT023", "AUT025"]
    assert {"1m,", "30s"} <= set(found[1].summary.split())
    assert found[1].remedy == "set autoscaling.scrapeInterval: 1m"


@pytest.mark.parametrize(
    "query",
    [
        "holt_winters(x[5m], 0.5, 0.5)",
        f"{'(' * 3000}x{')' * 3000}",
        "sum(x offset 99999999999999999999999)",
    ],
    ids=["removed-function", "deep", "offset-too-large"],
)
def test_a_query_that_only_the_server_accepts_has_its_value_and_a_warning(query: str) -> None:
    (finding,) = findings(answers("scalar", [1, "5"]), query)
    assert finding.code == "AUT023"
    assert re.search(r" 5 now .* although ", finding.summary)


@pytest.mark.parametrize(("length", "shown"), [(120, 120), (121, 120), (200, 120)])
def test_a_long_query_is_shown_with_its_end_cut(length: int, shown: int) -> None:
    query = f"sum({'x' * (length - 5)})"
    (finding,) = findings(says(json.dumps({"status": "error", "error": "no"}), 400), query)
    assert len(finding.detail) == shown
    assert finding.detail == query if length == shown else finding.detail == f"{query[:119]}…"
