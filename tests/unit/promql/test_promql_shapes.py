"""How many series an expression may give, with which labels and values."""

import math

import pytest

from modelyard.promql.functions import FUNCTIONS, Series
from modelyard.promql.infer import infer
from modelyard.promql.labels import ABSENT, ANY, PRESENT, Values, all_but, both, either, fitting
from modelyard.promql.parse import NotValid, parse
from modelyard.promql.syntax import FunctionCall, Matcher, Range
from modelyard.promql.values import Interval, SeriesShape

MANY = math.inf


def shape(query: str) -> SeriesShape:
    return infer(parse(query), scraped=False).shape


@pytest.mark.parametrize(
    ("query", "least", "most"),
    [
        ("x", 0, MANY),
        ("sum(x)", 0, 1),
        ("vector(0)", 1, 1),
        ("sum(x) or vector(0)", 1, 1),
        ("x or vector(0)", 1, MANY),
        ("x or on() vector(0)", 1, MANY),
        ("sum by (a) (x)", 0, MANY),
        ('sum by (a) (x{a="1"})', 0, 1),
        ('sum by (a) (x{a=~"1|2"})', 0, 2),
        ('sum by (a, b) (x{a=~"1|2",b=~"(?:3|4|5)"})', 0, 6),
        ('sum by (a) (x{a!="1"})', 0, MANY),
        ("sum without (a) (sum by (a, b) (x))", 0, MANY),
        ("sum without (a, b) (sum by (a, b) (x))", 0, 1),
        ("topk(3, x)", 0, 3),
        ("topk(0, x)", 0, 0),
        ("bottomk by (a) (2, x{a=~'1|2'})", 0, 4),
        ("topk(scalar(y), x)", 0, MANY),
        ("limitk(2, x)", 0, 2),
        ("limit_ratio(0.5, sum(x) or vector(0))", 0, 1),
        ('count_values("v", sum(x) or vector(0))', 1, 1),
        ("sum(x) > 0", 0, 1),
        ("sum(x) > bool 0 or vector(0)", 1, 1),
        ("(sum(x) or vector(0)) >= bool 1", 1, 1),
        ("(sum(x) or vector(0)) > 1", 0, 1),
        ("count(x) >= 0 or vector(0)", 1, 1),
        ("vector(2) > 1", 1, 1),
        ("vector(1) > 2", 0, 0),
        ("1 < vector(2)", 1, 1),
        ("vector(1) == vector(1)", 1, 1),
        ("(sum(x) or vector(0)) + (sum(y) or vector(0))", 1, 1),
        ("sum(x) + sum(y)", 0, 1),
        ("x * on(a) group_left() sum by (a) (y)", 0, MANY),
        ("vector(1) and vector(0)", 1, 1),
        ("vector(1) unless vector(0)", 0, 0),
        ('x unless y{a="1"}', 0, MANY),
        ("vector(1) or vector(2)", 1, 1),
        ('vector(1) or label_replace(vector(2), "a", "1", "", "")', 1, 2),
        ("max_over_time(vector(1)[5m:1m])", 1, 1),
        ("max_over_time(vector(1)[1m:5m])", 0, 1),
        ("rate(vector(1)[5m:1m])", 1, 1),
        ("rate(vector(1)[1m:1m])", 0, 1),
        ("max_over_time(topk(1, x)[5m:1m])", 0, MANY),
        ("rate(x[5m])", 0, MANY),
        ("absent(x)", 0, 1),
        ("absent(x{a='1',a='2'})", 1, 1),
        ("absent(vector(1))", 0, 0),
        ("histogram_quantile(0.9, sum by (le) (rate(x[5m])))", 0, 1),
        ("histogram_quantile(0.9, x)", 0, MANY),
        ("clamp(vector(1), 0, 5)", 1, 1),
        ("clamp(vector(1), 5, 0)", 0, 0),
        ("clamp(vector(1), scalar(x), 0)", 0, 1),
        ("scalar(x)", 1, 1),
        ("hour()", 1, 1),
        ("hour(x)", 0, MANY),
        ("info(sum(x))", 0, 1),
        ("-x", 0, MANY),
        ("x{a='1',a!='1'}", 0, 0),
        ("sum(x{a!~'.*'})", 0, 0),
        ("sum(x{a='1'}) + on(a) sum(y)", 0, 1),
        ("sum(x) + fill(0) (sum(y) or vector(0))", 1, 1),
        ('x + fill(0) y{a="1"}', 0, MANY),
    ],
)
def test_number_of_series(query: str, least: int, most: float) -> None:
    found = shape(query)
    assert (found.least, found.most) == (least, most)


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("vector(2)", (2, 2)),
        ("count(x)", (1, MANY)),
        ("count(x) or vector(0)", (0, MANY)),
        ("group(x)", (1, 1)),
        ("clamp(sum(x), 1, 5)", (1, 5)),
        ("vector(2) * 3 - 1", (5, 5)),
        ("-count(x)", (-MANY, -1)),
        ("sum(x) > bool 3", (0, 1)),
        ("vector(4) > bool 3", (1, 1)),
        ("sum(x) > 3", (math.nextafter(3, MANY), MANY)),
        ("max(clamp_min(x, 2))", (2, MANY)),
        ("max_over_time(count(x)[5m:1m])", (1, MANY)),
        ("sum(x) / 2", (-MANY, MANY)),
    ],
)
def test_values_of_an_answer(query: str, values: tuple[float, float]) -> None:
    assert shape(query).values[:2] == values


def test_a_result_that_may_be_nan_is_never_surely_positive() -> None:
    assert not shape("clamp_min(sum(x), 1)").values.positive
    assert shape("count(x) + 1").values.positive is False  # infinity plus one is followed no further
    assert shape("group(x) + 1").values.positive


def test_scraped_series_have_a_job_and_recorded_ones_may_not() -> None:
    assert infer(parse("x"), scraped=True).shape.labels.of("job") == PRESENT
    assert infer(parse("job:x:sum"), scraped=True).shape.labels.of("job") == ANY
    assert infer(parse("x"), scraped=False).shape.labels.of("job") == ANY


@pytest.mark.parametrize(
    ("operator", "value", "values"),
    [
        ("=", "a", Values(frozenset("a"), False)),
        ("=", "", ABSENT),
        ("!=", "a", Values(frozenset("a"), True)),
        ("=~", "a|b", Values(frozenset("ab"), False)),
        ("=~", r"a\.b", Values(frozenset({"a.b"}), False)),
        ("=~", "a|", Values(frozenset({"a", ""}), False)),
        ("=~", "a.*", PRESENT),
        ("=~", ".*", ANY),
        ("=~", ".+", PRESENT),
        ("=~", r"\pL*", ANY),
        ("!~", "a|b", Values(frozenset("ab"), True)),
        ("!~", "a.*", ANY),
        ("!~", "a*", PRESENT),
        ("!~", ".*", all_but(ANY)),
        ("!~", ".+", ABSENT),
        ("!~", r"\pL*", PRESENT),
        ("=~", r"(?:a*|b*){900}\b", PRESENT),
        ("=~", "(?:a*|b*)" * 30 + r"\b", PRESENT),
    ],
)
def test_values_that_a_matcher_fits(operator: str, value: str, values: Values) -> None:
    assert fitting(Matcher("a", operator, value)) == values  # type: ignore[arg-type]


SETS = [ANY, ABSENT, PRESENT, all_but(ANY), Values(frozenset("ab"), False), Values(frozenset("bc"), True)]


@pytest.mark.parametrize("one", SETS)
@pytest.mark.parametrize("other", SETS)
def test_sets_of_values_are_sets(one: Values, other: Values) -> None:
    def has(values: Values, value: str) -> bool:
        return (value in values.listed) != values.others

    for value in ("", "a", "b", "c", "d"):
        assert has(both(one, other), value) == (has(one, value) and has(other, value))
        assert has(either(one, other), value) == (has(one, value) or has(other, value))


def called(name: str) -> FunctionCall:
    """A call of a function with the first arguments that the parser takes."""
    forms = ["", "x", "x[5m]", "1", "1, 2", "x, 1", "1, x", "1, x[5m]", "x[5m], 1", "x[5m], 1, 1", "x, 1, 1", "1, 1, x"]
    forms += ['x, "a"', 'x, "a", 1', 'x, "a", "b", "c"', 'x, "a", "b", "c", "d"']
    for form in forms:
        try:
            node = parse(f"{name}({form})")
        except NotValid:
            continue
        assert isinstance(node, FunctionCall)
        return node
    raise AssertionError(f"the parser takes no call of {name}")


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_table_of_functions_agrees_with_the_parser(name: str) -> None:
    node, function = called(name), FUNCTIONS[name]
    windowed = any(isinstance(argument, Range) for argument in node.args)
    assert (function.series is Series.NUMBER) == (node.gives == "scalar")
    assert windowed == (function.samples > 0 or name == "absent_over_time")
    assert function.experimental or not node.experimental


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_gives_a_number_or_series(name: str) -> None:
    arguments = called(name)
    found = infer(arguments, scraped=False).shape
    assert found.kind in ("scalar", "vector")
    assert 0 <= found.least <= found.most
    assert isinstance(found.values, Interval)
