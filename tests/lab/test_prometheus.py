"""Predictions about queries, compared with the answers of a real Prometheus."""

import json
import math
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings

from modelyard.cli import main
from modelyard.findings import Finding, Severity
from modelyard.plan.checks.live_queries import answers, check_on_server, intervals
from modelyard.plan.project import plan_recorded
from modelyard.probes.prometheus import QueryAnswer, Refused, Server, ask, server
from modelyard.promql import ProblemKind, QueryProblem, check_query
from modelyard.promql.functions import FUNCTIONS
from modelyard.promql.infer import infer
from modelyard.promql.parse import NotValid, parse
from modelyard.promql.queries import Query
from modelyard.promql.values import SeriesShape
from modelyard.runs.pool.usage import PodUsage, Usage, busy_gpus
from modelyard.workloads.training import BACKENDS
from tests.lab.support.prometheus_server import QUEUE, Running, prometheus
from tests.lab.support.promql_strategies import queries

ROOT = Path(__file__).resolve().parents[2]
TODAY = date(2026, 11, 21)
NEWER = frozenset(
    {"double_exponential_smoothing", "first_over_time", "histogram_avg", "histogram_quantiles", "histogram_stddev"}
    | {"histogram_stdvar", "info", "mad_over_time", "sort_by_label", "sort_by_label_desc", "start_timestamp"}
    | {"end", "max_of", "min_of", "range", "start", "step"}
    | {f"ts_of_{name}_over_time" for name in ("first", "last", "max", "min")}
)
"""Functions of Prometheus 3 that older servers do not know."""
EXAMPLES = [
    ("rabbitmq_queue_messages_ready", 4),
    (f'rabbitmq_queue_messages_ready{{queue="{QUEUE}"}}', 2),
    (f'max_over_time(rabbitmq_queue_messages_ready{{queue="{QUEUE}"}}[30m])', 2),
    (f'sum(rabbitmq_queue_messages_ready{{queue="{QUEUE}"}})', 1),
    ('sum(rabbitmq_queue_messages_ready{queue="none"})', 0),
    ('sum(rabbitmq_queue_messages_ready{queue="none"}) or vector(0)', 1),
    ("sum by (queue) (rabbitmq_queue_messages_ready)", 2),
    ('sum by (queue) (rabbitmq_queue_messages_ready{queue="mail"})', 1),
    ('sum by (queue) (rabbitmq_queue_messages_ready{queue="mail"}) or vector(0)', 2),
    ('sum by (queue) (rabbitmq_queue_messages_ready{queue="mail"}) or on() vector(0)', 1),
    ("sum(ray_tasks) + ray_tasks", 0),
    ("sum(ray_tasks) + sum(nothing)", 0),
    ("sum(ray_tasks) + sum(nothing) or vector(0)", 1),
    ("(sum(ray_tasks) or vector(0)) + (sum(nothing) or vector(0))", 1),
    (f'rabbitmq_queue_messages_ready{{queue="mail"}} + rabbitmq_queue_messages_unacked{{queue="{QUEUE}"}}', 0),
    ("sum(idle) > 0", 0),
    ("sum(idle) > bool 0", 1),
    ("scalar(ray_tasks)", 1),
    ("absent(ray_tasks)", 0),
    ("absent(nothing)", 1),
    ("topk(2, ray_tasks)", 2),
    ("count_values('value', ray_tasks)", 3),
    ("rate(jobs_total[3s])", 2),
    ("rate(jobs_total[900ms])", 0),
    ("max_over_time(sum(ray_tasks)[10s:1s])", 1),
    ("histogram_quantile(0.9, sum by (le) (wait_seconds_bucket))", 1),
    ("ray_tasks * on(instance) group_left() idle", 6),
    ("sum(ray_tasks) unless vector(1)", 0),
    ("time()", 1),
]
"""Queries and the number of series that the server returns: two exporters have each metric."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with prometheus(tmp_path_factory.mktemp("prometheus")) as started:
        yield started


@pytest.fixture(scope="module")
def asked(running: Running) -> Server:
    return server(running.url, {})


def agrees(query: str, said: QueryAnswer, shape: SeriesShape) -> None:
    """Checks that an answer is within the prediction."""
    assert said.kind == shape.kind, query
    assert said.series is not None
    assert shape.least <= said.series <= shape.most, (query, said.series, shape)
    for labels in said.labels:
        for label in {*labels, *shape.labels.named}:
            values = shape.labels.of(label)
            assert (labels.get(label, "") in values.listed) != values.others, (query, label, labels)
    for value in said.values:
        within = shape.values.maybe_nan if math.isnan(value) else shape.values.low <= value <= shape.values.high
        assert within, (query, value, shape.values)


@pytest.mark.parametrize(("query", "series"), EXAMPLES)
def test_the_predicted_number_of_series_is_correct(asked: Server, query: str, series: int) -> None:
    said = ask(asked, query)
    assert isinstance(said, QueryAnswer), said
    assert said.series == series
    for scraped in (False, True):
        agrees(query, said, infer(parse(query), scraped=scraped).shape)


@settings(max_examples=500)
@given(query=queries())
def test_every_answer_is_within_the_prediction(asked: Server, query: str) -> None:
    said = ask(asked, query)
    try:
        found = [infer(parse(query), scraped=scraped) for scraped in (False, True)]
    except NotValid:
        assert isinstance(said, Refused), query
        return
    if isinstance(said, Refused):
        kinds = {problem.kind for problem in found[0].problems}
        assert {ProblemKind.AMBIGUOUS, ProblemKind.NEVER} & kinds or "same labelset" in said.words, (query, said.words)
        return
    for one in found:
        agrees(query, said, one.shape)


@pytest.mark.parametrize(
    "query",
    [
        "sum(x[15s])",
        "rate(x)",
        "max_over_time(sum(x)[5m])",
        "sum(x) or 0",
        "sum(x",
        "a b",
        "a & b",
        'x{a=~"("}',
        "1 == 1",
        "count(x) by",
        "x{}{}",
        "sum(x) offset 5m",
        "topk(x)",
        "x[0s]",
        '-"a"',
        "{}",
        '{a=~".*"}',
        "x and bool y",
    ],
)
def test_the_server_rejects_what_the_parser_rejects(asked: Server, query: str) -> None:
    with pytest.raises(NotValid):
        parse(query)
    assert isinstance(ask(asked, query), Refused)


@pytest.mark.parametrize("query", ["ray_tasks * on(job) group_left() idle", "ray_tasks / ignoring(State, Name) idle"])
def test_an_ambiguous_match_is_rejected(asked: Server, query: str) -> None:
    assert ProblemKind.AMBIGUOUS in {problem.kind for problem in check_query(query, scrape_interval=1)}
    said = ask(asked, query)
    assert isinstance(said, Refused)
    assert "must be explicit" in said.words or "many-to-many" in said.words


def calls(name: str) -> list[str]:
    forms = ["{}()", "{}(ray_tasks)", "{}(jobs_total[10s])", "{}(vector(1)[10s:1s])", "{}(0.5, wait_seconds_bucket)"]
    forms += ["{}(0.5, jobs_total[10s])", "{}(jobs_total[10s], 60)", "{}(idle, 1)", "{}(idle, 1, 2)", "{}(5)"]
    forms += ["{}(0, 5, wait_seconds_bucket)", '{}(idle, "a", "b", "job", "State")', '{}(idle, "a", "-", "job")']
    valid = []
    for form in forms:
        try:
            parse(form.format(name))
        except NotValid:
            continue
        valid.append(form.format(name))
    return valid


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - NEWER))
def test_every_function_behaves_as_in_the_table(asked: Server, name: str) -> None:
    assert calls(name)
    for query in calls(name):
        said = ask(asked, query)
        assert isinstance(said, QueryAnswer), (query, said)
        agrees(query, said, infer(parse(query), scraped=True).shape)


def found(asked: Server, text: str, scrape_interval: float = 1) -> list[Finding]:
    query = Query("workers", text, "autoscaling.queries")
    return list(check_on_server(asked, [query], scrape_interval=scrape_interval))


def test_modelyards_queries_return_a_number(asked: Server) -> None:
    ray = found(asked, BACKENDS["ray"].queries.valid)
    celery = found(asked, BACKENDS["celery"].queries.valid % {"queue": QUEUE})
    assert [finding.code for finding in (*ray, *celery)] == ["AUT023", "AUT023"]
    assert "8 now (awake)" in celery[0].summary  # (3 + 1) messages, on two exporters


def test_the_vendors_celery_query_returns_several_series(asked: Server) -> None:
    assert found(asked, BACKENDS["ray"].queries.vendor) == []
    halves = found(asked, BACKENDS["celery"].queries.vendor % {"queue": QUEUE})
    assert [finding.code for finding in halves] == ["AUT021", "AUT021"]
    assert '"instance": "127.0.0.1:' in halves[0].detail


def test_answers_of_the_server_become_findings(asked: Server) -> None:
    assert [one.code for one in found(asked, "sum(idle) or vector(0)")] == ["AUT023"]
    assert [one.code for one in found(asked, "sum(nothing)")] == ["AUT022", "AUT024"]
    assert [one.code for one in found(asked, "sum(nothing) or vector(0)")] == ["AUT023", "AUT024"]
    assert [one.code for one in found(asked, "sum(broken)")] == ["AUT022"]
    (refused,) = found(asked, "max(mad_over_time(idle[5s]))")
    assert (refused.code, refused.severity) == ("AUT020", Severity.ERROR)
    assert 'unknown function with name "mad_over_time"' in refused.summary
    (taken,) = found(asked, "holt_winters(sum(idle)[10s:1s], 0.5, 0.5)")
    assert "although Prometheus 3 would reject" in taken.summary


def test_the_scrape_interval_is_the_jobs_and_not_the_global_one(asked: Server) -> None:
    assert intervals(asked, parse("sum(idle) or vector(0)")) == {1.0}
    (_, interval) = found(asked, "sum(idle) or vector(0)", scrape_interval=30)
    assert (interval.code, interval.severity, interval.remedy) == (
        "AUT025",
        Severity.ADVICE,
        "set autoscaling.scrapeInterval: 1s",
    )


def test_query_findings_of_a_plan_have_lines_and_waivers(asked: Server, tmp_path: Path) -> None:
    for name in ("stacks", "patches", "policies"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    file = tmp_path / "stacks" / "Pulumi.staging.yaml"
    before = file.read_text()

    def told(waivers: str) -> list[tuple[str, str, bool]]:
        text = before
        patch = "{name: autoscaling-ray, params: {queries: sum(nothing)}}"
        text += f"  modelyard:patches:\n    - {patch}\n{waivers}"
        file.write_text(text)
        planned = plan_recorded(tmp_path, file, TODAY)
        assert planned.stack is not None
        assert planned.plan is not None
        found = answers(planned.stack, planned.plan, asked, TODAY)
        line = text.splitlines().index(f"    - {patch}") + 1
        return [(one.code, one.target, bool(one.waived)) for one in found if one.line == line]

    ray = "deployment-ray-model-training-worker"
    assert told("") == [("AUT022", ray, False), ("AUT024", ray, False)]
    waiver = "  modelyard:waivers:\n    - {code: AUT024, reason: no job yet, expires: 2099-01-01}\n"
    assert told(waiver) == [("AUT022", ray, False), ("AUT024", ray, True)]


def test_check_with_prometheus_queries_the_server(
    running: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stacks", "patches", "policies"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "staging", "--prometheus", running.url]) == 0
    capsys.readouterr()
    file = tmp_path / "stacks" / "Pulumi.staging.yaml"
    query = "sum(no_such_metric_anywhere)"
    file.write_text(
        f"{file.read_text()}  modelyard:patches:\n    - name: autoscaling-ray\n      params: {{queries: {query}}}\n"
    )
    main(["check", "staging", "--prometheus", running.url, "--json"])
    told = json.loads(capsys.readouterr().out)["findings"]
    asked = [finding for finding in told if finding["code"].startswith("AUT02")]
    assert asked
    assert all(finding["file"] == "stacks/Pulumi.staging.yaml" for finding in asked)
    line = file.read_text().splitlines().index(f"      params: {{queries: {query}}}") + 1
    ray = "deployment-ray-model-training-worker"
    assert {finding["line"] for finding in asked if finding["target"] == ray} == {line}


def test_a_window_that_is_too_short_returns_no_series(asked: Server) -> None:
    def short(query: str) -> list[QueryProblem]:
        return [problem for problem in check_query(query, scrape_interval=1) if problem.kind is ProblemKind.SHORT]

    assert short("rate(jobs_total[900ms])")
    assert ask(asked, "rate(jobs_total[900ms])") == QueryAnswer("vector", 0)
    assert not short("rate(jobs_total[3s])")


def test_the_server_stops_when_its_context_ends(tmp_path: Path) -> None:
    with prometheus(tmp_path) as started:
        process = started.process
    assert process.poll() is not None


def test_idle_gpus_are_counted_by_pod(running: Running) -> None:
    """Both exporters have the same GPUs; each GPU counts once."""
    found = busy_gpus(server(running.url, {}), 1)
    assert found == Usage({("vision", "train-0"): PodUsage(2, 1, 97.0), ("speech", "x"): PodUsage(1, 1)}, 1)
