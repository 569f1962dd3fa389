"""Where the parts of a query stand, and where a mistake is, although the parser tells neither."""

from collections.abc import Iterator

import pytest

from modelyard.promql import ProblemKind, check_query, syntax
from modelyard.promql.lexer import parts
from modelyard.promql.parse import parse


def shown(query: str) -> Iterator[tuple[str, str]]:
    def walk(node: syntax.Expression) -> Iterator[tuple[str, str]]:
        yield type(node).__name__, query[slice(*node.span)]
        for child in syntax.children(node):
            yield from walk(child)

    return walk(parse(query))


def test_every_node_has_its_place() -> None:
    query = '(sum by (a) (max_over_time(m{q="Q"}[30m])) or vector(0)) + on () group_left(b) '
    query += "(max(x offset -5m @ start()) * -5)"
    assert list(shown(query)) == [
        ("Binary", query),
        ("Binary", '(sum by (a) (max_over_time(m{q="Q"}[30m])) or vector(0))'),
        ("Aggregate", 'sum by (a) (max_over_time(m{q="Q"}[30m]))'),
        ("FunctionCall", 'max_over_time(m{q="Q"}[30m])'),
        ("Range", 'm{q="Q"}[30m]'),
        ("Selector", 'm{q="Q"}'),
        ("FunctionCall", "vector(0)"),
        ("Number", "0"),
        ("Binary", "(max(x offset -5m @ start()) * -5)"),
        ("Aggregate", "max(x offset -5m @ start())"),
        ("Selector", "x"),
        ("Number", "5"),
    ]


@pytest.mark.parametrize(
    ("query", "node", "text"),
    [
        ("topk by (a) (3, x) > bool 5", "Number", "3"),
        ("sum(rate(x[5m])) by (le) / y", "Aggregate", "sum(rate(x[5m])) by (le)"),
        ("sum(sum) + sum", "Selector", "sum"),
        ("max_over_time(sum(x)[30m:15s])", "Subquery", "sum(x)[30m:15s]"),
        ("a * on(x) group_left () (b)", "Selector", "a"),
        ("time() - {'a.b', c=\"d\"}", "Selector", "{'a.b', c=\"d\"}"),
        ("x # sum(\n + y", "Selector", "x"),
        ("-(x)", "Negation", "(x)"),
        ("by + offset", "Selector", "by"),
        ("2 ^ x atan2 Inf", "Number", "2"),
        ('count_values without (x) ("v", y)', "Text", '"v"'),
    ],
)
def test_clauses_are_no_operands(query: str, node: str, text: str) -> None:
    assert next(said for kind, said in shown(query) if kind == node) == text


@pytest.mark.parametrize(
    ("query", "excerpt"),
    [
        ("sum(a) + sum(b[15s])", "sum(b[15s])"),
        ("sum(a) or 0", "or"),
        ("(a or 0) + b", "or"),
        ("sum x", "x"),
        ("a b", "b"),
        ("sum(x) by queue", "queue"),
        ("sum by (a) (x) y", "y"),
        ("max(a / on (b) group_left (c) d e)", "e"),
        ("a ** b", "*"),
        ("a ! b", "!"),
        ("a | b", "|"),
        ("a && b", "&"),
        ("a + rate(b) + c", "rate(b)"),
        ("a + foo(b) + c", "foo(b)"),
        ("max_over_time(sum(x)[5m])", "sum(x)[5m]"),
        ("max_over_time(rate(sum by (a) (x)[5m])[1h:5m])", "sum by (a) (x)[5m]"),
        ('a{b=~"["}', 'a{b=~"["}'),
        ("a{b=c}", "c"),
        ('a{b="c" d="e"}', "d"),
        ("sum(x) by (a)[5m] + 1", "sum(x) by (a)[5m]"),
        ("(a + (b)", "("),
        ("a[5m", "["),
        ("a{", "{"),
        ("a)", ")"),
        ("a +", ""),
        ('a{b="c}', '"'),
        ("x[1e30]", "1e30"),
        ("x offset inf", "inf"),
        ("sum(m) + 1e + n", "1e"),
        ("sum(m) + a offset 5m offset 5m", "a offset 5m offset 5m"),
        ('sum(m) + a == bool "b" or n', 'a == bool "b"'),
        ("n or sum(m) + -a[5m]", "-a[5m]"),
        ("1 > 2", "1 > 2"),
    ],
)
def test_mistakes_are_found_in_the_text(query: str, excerpt: str) -> None:
    (problem,) = check_query(query, scrape_interval=30)
    assert problem.kind is ProblemKind.INVALID
    assert problem.excerpt == excerpt
    assert query[problem.offset :].startswith(excerpt)


@pytest.mark.parametrize(
    ("query", "excerpt", "remedy"),
    [
        ("sum bby (a) (x)", "bby", "did you mean by?"),
        ("sun by (a) (x)", "sun", "did you mean sum?"),
        ("a * onn (l) b", "onn", "did you mean on?"),
        ("a * on (l) gruop_left b", "gruop_left", "did you mean group_left?"),
        ("a UNLES b", "UNLES", "did you mean unless?"),
        ("max(x) ofset 5m", "ofset", "did you mean offset?"),
        ("a == bol 1", "bol", "did you mean bool?"),
        ("a down", "down", ""),
        ("a or or b", "b", ""),
    ],
)
def test_a_misspelled_keyword_is_named_with_the_keyword_that_is_meant(query: str, excerpt: str, remedy: str) -> None:
    (problem,) = check_query(query, scrape_interval=30)
    assert (problem.excerpt, problem.offset, problem.remedy) == (excerpt, query.rindex(excerpt), remedy)


def test_the_place_counts_from_the_start_of_all_joined_queries() -> None:
    query = "vector(0) or on() a & sum b"
    problem = check_query(query, scrape_interval=30)[-1]
    assert (problem.kind, query[problem.offset :]) == (ProblemKind.INVALID, "b")


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("a", ["a"]),
        ("a&b", ["a", "b"]),
        ("a & b & c", ["a ", " b ", " c"]),
        ('a{b="c&d"}', ['a{b="c&d"}']),
        ("sum(a & b)", ["sum(a & b)"]),
        ("a && b", ["a && b"]),
        ("a # b & c", ["a # b & c"]),
        ("&", ["", ""]),
        ("", [""]),
    ],
)
def test_queries_are_cut_at_single_ampersands(text: str, queries: list[str]) -> None:
    found = parts(text)
    assert [part.text for part in found] == queries
    assert all(text[part.offset :].startswith(part.text) for part in found)


@pytest.mark.parametrize(
    ("query", "remedy"),
    [
        ("maxovertime(x[5m])", "did you mean max_over_time?"),
        ("vector(1) + smu(x)", "did you mean sum?"),
        ("sum(a[15s])", "sum(max_over_time(x[30m]))"),
        ("max_over_time(sum(x)[30m])", "max_over_time(sum(x)[30m:30s])"),
        ("sum(x) or 0", "vector(0)"),
        ("rate(x)", "x[5m]"),
        ("x[$__interval]", "only Grafana"),
        ('x{a=~"\\d"}', "backslash twice"),
        ("1 == 1", "bool"),
    ],
)
def test_what_to_do_about_a_mistake(query: str, remedy: str) -> None:
    (problem,) = check_query(query, scrape_interval=30)
    assert remedy in problem.remedy
