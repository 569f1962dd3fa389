"""Idle and busy GPUs, asked of a server that answers as Prometheus does."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from modelyard.probes.prometheus import server
from modelyard.promql.parse import parse
from modelyard.runs.pool.usage import PodUsage, busy_gpus, queries
from tests.support.web_servers import Quiet, listening


class Metrics:
    """What the server answers, by what the question is about."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.url = ""


def asked(query: str) -> str:
    """What a query is about."""
    if "avg_over_time" in query:
        return "load"
    return "idle" if "== 0" in query else "all"


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metrics]:
    monkeypatch.setenv("no_proxy", "*")

    class Handler(Quiet):
        def do_GET(self) -> None:
            (query,) = parse_qs(urlsplit(self.path).query)["query"]
            result = [{"metric": labels, "value": [0, str(value)]} for labels, value in made.answers[asked(query)]]
            self.answer(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode())

    made = Metrics()
    with listening(Handler) as made.url:
        yield made


def test_the_queries_are_promql() -> None:
    for query in queries(15):
        parse(query)
        assert "[15m]" in query


def test_pods_are_those_of_the_gpus_not_the_exporters(metrics: Metrics) -> None:
    exporter = {"namespace": "gpu-operator", "pod": "dcgm-exporter-x"}
    busy = {"exported_namespace": "vision", "exported_pod": "train-0", **exporter}
    honoured = {"namespace": "vision", "pod": "train-1"}
    metrics.answers = {
        "all": [(busy, 4), (honoured, 2), (exporter, 2)],
        "idle": [(busy, 1), (exporter, 2)],
        "load": [(busy, 212.5), (honoured, 180), (exporter, 0)],
    }
    found = busy_gpus(server(metrics.url, {}), 10)
    assert found.problem == ""
    assert found.pods["vision", "train-0"] == PodUsage(4, 1, 212.5)
    assert found.pods["vision", "train-1"] == PodUsage(2, 0, 180)


def test_gpu_use_without_the_metric_is_unknown(metrics: Metrics) -> None:
    metrics.answers = {"all": [], "idle": [], "load": []}
    found = busy_gpus(server(metrics.url, {}), 10)
    assert found.pods == {}
    assert "no DCGM_FI_DEV_GPU_UTIL" in found.problem
