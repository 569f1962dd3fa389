"""Queries as people write them for autoscalers, and what is wrong with each."""

import pytest

from modelyard.promql import ProblemKind, check_query
from modelyard.workloads.training import BACKENDS

QUEUE = {"queue": "celery-model-training-tasks-gpu"}
K = ProblemKind
NONE: tuple[ProblemKind, ...] = ()
BOTH = (K.MANY, K.EMPTY)

GOOD = [
    BACKENDS["ray"].queries.valid,
    BACKENDS["celery"].queries.valid % QUEUE,
    "sum(ray_tasks{State!~'FINISHED|FAILED'}) or vector(0)",
    'sum(rate(http_requests_total{deployment="my-deployment"}[2m])) or vector(0)',
    'sum(max_over_time(rabbitmq_queue_messages{queue="train"}[30m])) or vector(0)',
    "max(vllm:num_requests_waiting) or vector(0)",
    'sum(max_over_time(ray_tasks{State="RUNNING"}[10m]) > 0) or vector(0)',
    "sum by (queue) (rabbitmq_queue_messages_ready{queue='train'}) or on() vector(0)",
    "ceil(sum(rate(jobs_total[5m])) * 60) or vector(0)",
    "(sum(up) or vector(0)) * on() (sum(idle) or vector(0))",
    "sum(queue_length) > bool 0 or vector(0)",
    "clamp_max(sum(queue_length) or vector(0), 10)",
    "scalar(sum(queue_length) or vector(0))",
    "sum(queue_length or vector(0))",
    "sum(queue_length) OR vector(0)  # waiting jobs",
    "histogram_quantile(0.9, sum by (le) (rate(wait_seconds_bucket[5m]))) or vector(0)",
    "avg(DCGM_FI_DEV_GPU_UTIL{Hostname=~'gpu-.*'}) or vector(0)",
    "last_over_time(max(queue_length)[10m:30s]) or vector(0)",
    "sum(queue_length offset 1m) or vector(0)",
    "topk(1, max(queue_length)) or vector(0)",
]
"""One number whatever series there are, windows that hold enough and no more."""

WRONG: list[tuple[str, tuple[ProblemKind, ...]]] = [
    # The vendor's.
    (BACKENDS["ray"].queries.vendor, (K.INVALID,)),
    (BACKENDS["celery"].queries.vendor % QUEUE, (*BOTH, K.JOINED, *BOTH)),
    # No fallback, or one that does not replace.
    ('sum(rate(http_requests_total{deployment="my-deployment"}[2m]))', (K.EMPTY,)),
    ("avg(queue_length)", (K.EMPTY,)),
    ("queue_length", BOTH),
    ('rabbitmq_queue_messages_ready{queue="train"}', BOTH),
    ('max_over_time(rabbitmq_queue_messages_unacked{queue="train"}[30m])', BOTH),
    ('rabbitmq_queue_messages_ready{queue="train"} or vector(0)', (K.MANY,)),
    ("sum by (queue) (rabbitmq_queue_messages_ready) or vector(0)", (K.MANY,)),
    ('sum by (queue) (rabbitmq_queue_messages_ready{queue="train"}) or vector(0)', (K.MANY,)),
    ("sum without (instance) (queue_length)", BOTH),
    ("sum(queue_length) by (namespace)", BOTH),
    ("topk(1, queue_length)", (K.EMPTY,)),
    ("topk(3, queue_length)", BOTH),
    ("max_over_time(topk(1, queue_length)[30m:30s])", BOTH),
    ('count_values("value", queue_length)', (K.MANY, K.EMPTY)),
    ("label_replace(queue_length, 'a', '$1', 'pod', '(.*)')", BOTH),
    ("sum(a) + sum(b)", (K.EMPTY,)),
    ("sum(a) + sum(b) or vector(0)", (K.EMPTY,)),
    ("max_over_time((sum(a) + sum(b))[30m:30s]) or vector(0)", (K.EMPTY,)),
    ("sum(queue_length) > 0", (K.EMPTY,)),
    ("sum(queue_length) > 5 or vector(0)", NONE),
    ("scalar(sum(queue_length))", (K.EMPTY,)),
    ("scalar(queue_length)", (K.MANY,)),
    ("vector(scalar(queue_length)) + 1", (K.MANY,)),
    ("absent(queue_length)", (K.EMPTY,)),
    ("sum(queue_length) and on() hour() > 8", (K.EMPTY,)),
    # Not valid.
    ("sum(ray_tasks[15s])", (K.INVALID,)),
    ("max_over_time(queue_length)", (K.INVALID,)),
    ("rate(sum(jobs_total)[5m])", (K.INVALID,)),
    ("sum(queue_length) or 0", (K.INVALID,)),
    ("sum(queue_length", (K.INVALID,)),
    ("sum queue_length", (K.INVALID,)),
    ("sum(a) && sum(b)", (K.INVALID,)),
    ("sum(a) || vector(0)", (K.INVALID,)),
    ("sum(rate(jobs_total[$__rate_interval]))", (K.INVALID,)),
    ("sum({{ metric }})", (K.INVALID,)),
    ("sum(“queue_length”)", (K.INVALID,)),
    ('queue_length{pod=~"(?=a)"}', (K.INVALID,)),
    ("", (K.INVALID,)),
    ("holt_winters(queue_length[5m], 0.5, 0.5)", (K.INVALID,)),
    ('sum(queue_length{a="1" or b="2"}) or vector(0)', (K.INVALID,)),
    ("a & ", (*BOTH, K.JOINED, K.INVALID)),
    # Not a number.
    ("queue_length[5m]", (K.TYPE,)),
    ('"text"', (K.TYPE,)),
    ("sum(queue_length)[5m:30s]", (K.TYPE,)),
    # Sides that never meet, and those that may meet twice.
    ('max_over_time(x{queue="a"}[30m]) + max_over_time(y{queue="b"}[30m])', (K.NEVER,)),
    ('sum(x) + y{queue="a"}', (K.NEVER,)),
    ("sum(x) + y", (K.EMPTY, K.UNLIKELY)),
    ("sum(x) + job:y:sum", (K.EMPTY,)),
    ("sum by (a) (x) and sum by (b) (y)", (K.EMPTY,)),
    ('x{queue="a"} and y{queue="b"}', (K.NEVER,)),
    ("sum(x) unless vector(1)", (K.NEVER,)),
    ('(x{a="1"} + y{a="2"}) or vector(0)', (K.NEVER,)),
    ('x{a="1",a="2"}', (K.NEVER,)),
    ('x{a!~".*"}', (K.NEVER,)),
    ("absent(vector(1))", (K.NEVER,)),
    ("vector(1) > 2", (K.NEVER,)),
    ("sum(x * on(pod) group_left(node) y) or vector(0)", (K.AMBIGUOUS,)),
    ("sum(x / ignoring(code) y) or vector(0)", (K.AMBIGUOUS,)),
    ("sum(x * on(pod) group_left() sum by (pod) (y)) or vector(0)", NONE),
    # Windows and steps, with a scrape every 30 seconds.
    ("sum(rate(jobs_total[30s])) or vector(0)", (K.SHORT,)),
    ("sum(increase(jobs_total[10s])) or vector(0)", (K.SHORT,)),
    ("sum(max_over_time(x[45s])) or vector(0)", (K.SHORT,)),
    ("max_over_time(sum(x)[1m:1m]) or vector(0)", (K.SHORT,)),
    ("sum(max_over_time(x[12h])) or vector(0)", (K.LONG,)),
    ("sum(max_over_time(x[30d])) or vector(0)", (K.LONG,)),
    ("max_over_time(sum(x)[5h:1s]) or vector(0)", (K.LONG, K.STEP)),
    ("max_over_time(sum(x)[30m:]) or vector(0)", (K.STEP,)),
    ("max_over_time(sum(x)[30m:1s]) or vector(0)", (K.STEP,)),
    ("max_over_time(sum(x)[30m:10m]) or vector(0)", (K.STEP,)),
    ("sum(x offset 1h) or vector(0)", (K.LONG,)),
    ("sum(x offset -1h) or vector(0)", (K.LONG,)),
    ("max_over_time(sum(x offset 1h)[30m:30s]) or vector(0)", (K.LONG,)),
    ("max_over_time(sum(rate(x[3h]))[4h:1m]) or vector(0)", (K.LONG,)),
    ("sum(min_over_time(x[30m])) or vector(0)", (K.LONG,)),
    # Matchers, flags, answers that never change.
    ('sum(x{queue=~".*"}) or vector(0)', (K.MATCHER,)),
    ('sum({job="ray"}) or vector(0)', (K.MATCHER,)),
    ('sum({__name__=~".+"}) or vector(0)', (K.MATCHER,)),
    ('sum(ray_tasks{State!="FINISHED|FAILED"}) or vector(0)', (K.MATCHER,)),
    ('sum(x{pod="worker-.*"}) or vector(0)', (K.MATCHER,)),
    ("count(ray_tasks) or vector(0)", (K.COUNTS,)),
    ("sum(count_over_time(ray_tasks[5m])) or vector(0)", (K.COUNTS,)),
    ("count(ray_tasks > 0) or vector(0)", NONE),
    ("vector(1)", (K.AWAKE,)),
    ("vector(0)", (K.AWAKE,)),
    ("sum(x) * 0 + 1 or vector(1)", (K.FALLBACK,)),
    ("sum(x) or vector(1)", (K.FALLBACK,)),
    ("sum(count(x > 0) or vector(1))", (K.AWAKE, K.FALLBACK)),
    ("time()", (K.AWAKE,)),
    ("sum(x @ 1609746000) or vector(0)", (K.AWAKE,)),
    ("sum(x @ end()) or vector(0)", NONE),
    ("max(mad_over_time(x[5m])) or vector(0)", (K.FLAG,)),
    ("sum(limitk(1, x)) or vector(0)", (K.FLAG,)),
    ("x + fill(0) y", (*BOTH, K.FLAG)),
]


def kinds(query: str) -> tuple[ProblemKind, ...]:
    return tuple(problem.kind for problem in check_query(query, scrape_interval=30))


@pytest.mark.parametrize("query", GOOD)
def test_good_queries_have_no_problem(query: str) -> None:
    assert check_query(query, scrape_interval=30) == ()


@pytest.mark.parametrize(("query", "expected"), WRONG)
def test_problems_of_a_query(query: str, expected: tuple[ProblemKind, ...]) -> None:
    assert sorted(kinds(query), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("query", [query for query, expected in WRONG if expected])
def test_every_problem_has_a_place_and_a_remedy(query: str) -> None:
    for problem in check_query(query, scrape_interval=30):
        assert 0 <= problem.offset <= len(query)
        assert problem.summary
        assert not problem.summary.endswith(".")
        assert "\n" not in problem.summary + problem.detail + problem.remedy + problem.excerpt


@pytest.mark.parametrize("query", [one.queries.valid for one in BACKENDS.values()])
@pytest.mark.parametrize("interval", [None, 1, 5, 10, 15, 30])
def test_built_in_queries_suit_the_usual_scrape_intervals(query: str, interval: int | None) -> None:
    assert check_query(query % QUEUE if "%" in query else query, scrape_interval=interval) == ()


def test_each_half_of_the_vendors_celery_query_is_checked() -> None:
    query = BACKENDS["celery"].queries.vendor % QUEUE
    cut = query.index("&")
    assert [problem.offset for problem in check_query(query, scrape_interval=30)] == [0, 0, cut, cut + 1, cut + 1]


def test_an_ampersand_in_a_label_joins_nothing() -> None:
    assert K.JOINED not in kinds('sum(x{path="/?a=1&b=2"}) or vector(0)')


def test_without_a_scrape_interval_windows_are_not_compared_with_it() -> None:
    assert check_query("sum(rate(x[10s])) or vector(0)", scrape_interval=None) == ()


def test_a_slow_scrape_needs_a_window_even_for_the_newest_sample() -> None:
    (problem,) = check_query("sum(x) or vector(0)", scrape_interval=600)
    assert problem.kind is K.SHORT
    assert problem.remedy.endswith(": last_over_time(…[20m])")


def test_the_longest_window_is_set_by_the_caller() -> None:
    query = "sum(max_over_time(x[2h])) or vector(0)"
    assert check_query(query, scrape_interval=30) == ()
    assert [problem.kind for problem in check_query(query, scrape_interval=30, longest_window=3600)] == [K.LONG]


@pytest.mark.parametrize(("window", "often"), [("10s", "always"), ("30s", "usually"), ("45s", "sometimes")])
def test_how_often_a_rate_over_a_short_window_is_empty(window: str, often: str) -> None:
    (problem,) = check_query(f"sum(rate(x[{window}])) or vector(0)", scrape_interval=30)
    assert problem.detail.endswith(f" {often} empty")
