"""``modelyard verify``: exit codes, text and JSON. The cluster is the recorded platform here.

What it prints is in ``tests/golden/test_cli_verify.txt``.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from modelyard.cluster.connection import ClusterError, connected
from modelyard.plan.project import plan_recorded
from tests.support.cli_project import Result
from tests.support.web_servers import Quiet, listening

FALSE = "max(errors) < 1"
TRUE = "max(errors) < 2"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exception]:
    """Live plans start from the recorded platforms, but for stacks whose cluster does not answer."""
    broken: dict[str, Exception] = {}

    def plan_live(root: Any, file: Any, today: Any) -> Any:
        name = file.name.split(".")[1]
        if name in broken:
            raise broken[name]
        return plan_recorded(root, file, today)

    monkeypatch.setattr("modelyard.plan.project.plan_live", plan_live)
    return broken


@pytest.fixture
def settled(project: Any, applied: Callable[[str], None]) -> Callable[[str], None]:
    """A stack as after an apply whose rollouts are complete."""

    def call(stack: str) -> None:
        applied(stack)
        for file in (project.root / "stacks/recorded" / stack).glob("deployment.*.json"):
            body = json.loads(file.read_text())
            counts = ("replicas", "updatedReplicas", "availableReplicas")
            body["status"] = {
                **dict.fromkeys(counts, body["spec"].get("replicas", 1)),
                "observedGeneration": body["metadata"].get("generation", 0),
            }
            file.write_text(json.dumps(body))

    return call


@pytest.fixture
def prometheus() -> Iterator[str]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)["query"][0]
            result = [{"metric": {}, "value": [0, "1"]}] if query == TRUE else []
            if "nonsense" in query:
                self.answer(json.dumps({"status": "error", "error": "no such thing"}).encode(), 400)
            else:
                data = {"resultType": "vector", "result": result}
                self.answer(json.dumps({"status": "success", "data": data}).encode(), 200)

    with listening(Handler) as url:
        yield url


def plain(result: Result, prometheus: str = "http://127.0.0.1:9") -> str:
    """A result with the same address of Prometheus on every run."""
    return str(result).replace(prometheus, "http://prometheus")


def test_an_applied_stack_passes(run: Any, cluster: Any, settled: Any, valid: Any, golden: Any) -> None:
    settled("dev")
    result = run("verify", "dev")
    assert (result.code, result.err) == (0, "")
    golden(result)
    document = json.loads(run("verify", "dev", "--json").out)
    assert valid(document, "outputs", "verify") == []
    assert document["verified"]


def test_a_stack_that_was_not_applied_does_not_pass(run: Any, cluster: Any, valid: Any, golden: Any) -> None:
    result = run("verify", "dev", "--timeout", "0s")
    assert result.code == 1
    golden(result)
    document = json.loads(run("verify", "dev", "--timeout", "0s", "--json").out)
    assert valid(document, "outputs", "verify") == []
    (stack,) = document["stacks"]
    assert (document["verified"], stack["verified"]) == (False, False)


def test_as_many_stacks_as_allowed_may_fail(run: Any, cluster: Any, settled: Any, golden: Any) -> None:
    settled("dev")
    results = [run("verify", "--all", "--timeout", "0s", "--max-failures", allowed) for allowed in "012"]
    assert [one.code for one in results] == [1, 1, 0]
    golden(*(one.out.splitlines()[-1] for one in results))


def test_a_cluster_that_does_not_answer_ends_with_3(run: Any, cluster: Any, settled: Any, golden: Any) -> None:
    settled("dev")
    cluster["prod"] = ClusterError("the cluster does not answer", "check the network")
    result = run("verify", "dev", "prod", "--timeout", "0s")
    assert result.code == 3
    golden(result)
    assert run("verify", "dev", "prod", "--timeout", "0s", "--max-failures", "1").code == 0


def test_a_kubeconfig_without_the_context_ends_the_wait(run: Any, cluster: Any, settled: Any) -> None:
    settled("dev")
    cluster["prod"] = ClusterError("the kubeconfig has no context", "set it", lasting=True)
    assert run("verify", "dev", "prod").code == 3
    with pytest.raises(ClusterError) as raised:
        connected([], "prod")
    assert raised.value.lasting


def test_a_query_must_be_true(run: Any, cluster: Any, settled: Any, prometheus: str, golden: Any) -> None:
    settled("dev")
    words = ("verify", "dev", "--timeout", "0s", "--prometheus", prometheus, "--query")
    passes, fails = run(*words, TRUE), run(*words, FALSE)
    assert (passes.code, fails.code) == (0, 1)
    golden(plain(passes, prometheus), plain(fails, prometheus))


def test_a_prometheus_server_that_does_not_answer_ends_with_3(run: Any, cluster: Any, settled: Any) -> None:
    settled("dev")
    result = run("verify", "dev", "--timeout", "0s", "--query", TRUE, "--prometheus", "http://127.0.0.1:9")
    assert result.code == 3


def test_bad_options_are_refused(refused: Any, cluster: Any, golden: Any) -> None:
    cases = (
        ("--query", "max(errors)", "--prometheus", "http://127.0.0.1:9"),
        ("--query", "errors < bool 1", "--prometheus", "http://127.0.0.1:9"),
        ("--query", "max(errors <", "--prometheus", "http://127.0.0.1:9"),
        ("--query", TRUE),
        ("--query", TRUE, "--prometheus", "ftp://127.0.0.1"),
        ("--bake", "soon"),
        ("--max-failures", "-1"),
    )
    golden(*(plain(refused("verify", "dev", *words, code=2)) for words in cases))


def test_a_query_that_the_server_rejects_ends_with_2(run: Any, cluster: Any, prometheus: str, golden: Any) -> None:
    result = run("verify", "dev", "--query", "nonsense > 1", "--prometheus", prometheus)
    assert result.code == 2
    golden(plain(result, prometheus))
