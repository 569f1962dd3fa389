"""No text makes the check fail, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.promql import ProblemKind, check_query
from modelyard.promql.lexer import DEEPEST, LONGEST

WORDS = (
    "sum", "rate", "max_over_time", "count_values", "label_replace", "(", ")", "[5m]", "[30m:15s]", "[", "{", "}",
    'a="b"', "=~", "x", "y", "or", "and", "unless", "on", "ignoring", "group_left", "by", "without", "offset", "@", "-",
    "+", "^",
    "vector(0)", "0", "1e30", "5m", "bool", ">", "==", '"', "'", "`", "#", "\n", "&", "|", "$", "\\", "\0", "é", "inf",
    "nan", "start()", "fill(0)", '{"a.b"}', "0x", "1y", "99999999999999999999", "-300y", ",", '"v"', " ",
)  # fmt: skip


@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)), st.integers(1, 900)
)
def test_no_text_makes_it_fail(text: str, interval: int) -> None:
    for problem in check_query(text, scrape_interval=interval):
        assert 0 <= problem.offset <= len(text)


@given(st.sampled_from(WORDS), st.integers(1, 400))
def test_no_repetition_makes_it_fail(word: str, times: int) -> None:
    check_query(word * times, scrape_interval=30)
    check_query(f"x {word}" * times, scrape_interval=30)


@pytest.mark.parametrize("word", ["+x", "^x", " or x", "-", "!=x"])
def test_a_query_too_deep_for_the_parser_never_reaches_it(word: str) -> None:
    text = "x" + word * 3000 if word != "-" else "-" * 3000 + "x"
    (problem,) = check_query(text, scrape_interval=30)
    assert problem.kind is ProblemKind.UNJUDGED
    assert f"more than {DEEPEST}" in problem.summary


def test_deep_queries_below_the_bound_are_judged() -> None:
    text = "(" * 120 + "x" + ")" * 120 + "+x" * 100
    assert ProblemKind.UNJUDGED not in {problem.kind for problem in check_query(text, scrape_interval=30)}


def test_a_query_too_long_for_a_request_is_not_checked() -> None:
    (problem,) = check_query("x" * (LONGEST + 1), scrape_interval=30)
    assert problem.kind is ProblemKind.UNJUDGED
    assert f"{LONGEST + 1} characters" in problem.summary


@pytest.mark.parametrize("text", ["x @ -1", "x @ 1e300", "x offset 99999999y", "x[99999y]", "x[1e30]", "x offset nan"])
def test_times_that_python_or_the_parser_cannot_hold(text: str) -> None:
    assert check_query(text, scrape_interval=30)
