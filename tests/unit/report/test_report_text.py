"""Words, values and findings as text."""

from typing import Any

import pytest

from modelyard.findings import Finding, Severity
from modelyard.kube import merge
from modelyard.report.finding import findings_text, tally
from modelyard.report.style import Style, hanging, shorten, table, wrapped
from modelyard.report.values import fitted, text_of
from modelyard.stack.words import plural


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (merge.ABSENT, "(none)"),
        (None, "null"),
        (True, "true"),
        ("plain words", "plain words"),
        ("", '""'),
        (" padded", '" padded"'),
        ("two\nlines", '"two\\nlines"'),
        (["a", 1], "[a, 1]"),
        ({"a": {"b": "c: d"}}, '{a: {b: "c: d"}}'),
    ],
)
def test_values_on_one_line(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_counting() -> None:
    assert (plural(0, "pod"), plural(1, "pod"), plural(2, "pod")) == ("0 pods", "1 pod", "2 pods")


def test_text_is_cut_in_the_middle_and_wrapped_at_words() -> None:
    assert shorten("a" * 30 + "b" * 30, 11) == "aaaaaa…bbbb"
    assert shorten("short", 11) == "short"
    assert wrapped("one two three", 4, 12, "-") == ["-   one two", "    three"]
    assert wrapped("", 4, 12) == [""]
    assert hanging("one two three", 2, 9) == ["one two", "  three"]


def test_a_long_path_is_broken_before_a_dot_or_a_bracket() -> None:
    assert wrapped("in spec.containers[name=a].env.value", 2, 20) == ["  in spec.containers", "  [name=a].env.value"]
    assert hanging("of containers[name=a].value: 1", 2, 18) == ["of containers", "  [name=a].value:", "  1"]
    assert hanging("field a" + "b" * 11 + ".c", 0, 10) == ["field abbb", "bbbbbbbb.c"]


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (["a", "b", "c"], 9, "[a, b, c]"),
        (["alpha", "beta", "gamma", "delta"], 22, "[alpha, … 3 more]"),
        (["alpha", "beta", "gamma", "delta"], 26, "[alpha, beta, … 2 more]"),
        ({"a": 1, "b": {"c": 2, "d": 3}, "e": 4}, 30, "{a: 1, b: {c: 2, d: 3}, e: 4}"),
        ({"a": 1, "b": {"c": 2, "d": 3}, "e": 4}, 28, "{a: 1, … 2 more}"),
        ("a" * 30 + "b" * 30, 11, "aaaaaa…bbbb"),
        (["a" * 30 + "b" * 30, "c"], 11, "[aaaaa…ore]"),
    ],
)
def test_a_long_value_is_cut_at_an_item_and_a_long_word_in_its_middle(value: Any, width: int, text: str) -> None:
    assert fitted(value, width) == text


def test_a_table_shrinks_its_widest_column() -> None:
    rows = [("name-of-something-long", "a", "what it is for, in a sentence"), ("b", "c", "short")]
    assert table(rows, ("NAME", "X", "MEANING"), Style(False, 60)) == [
        "NAME                    X  MEANING",
        "name-of-something-long  a  what it is for, in a sentence",
        "b                       c  short",
    ]
    narrow = table(rows, ("NAME", "X", "MEANING"), Style(False, 40))
    assert narrow[1].split("\n") == ["name-o…long  a  what it is for, in a", "                sentence"]


ERROR = Finding("GPU001", Severity.ERROR, "too slow", "dev", "d", "f", "because", "buy another", "s.yaml", 3, 5)


def test_the_text_of_a_finding() -> None:
    assert findings_text([ERROR]) == [
        "  error   GPU001  too slow",
        "                  s.yaml:3:5  d",
        "                  because",
        "                  → buy another",
    ]
    assert findings_text([ERROR._replace(waived="on order")]) == [
        "  waived  GPU001  too slow",
        "                  s.yaml:3:5  d",
        "                  waived: on order",
    ]
    assert findings_text([ERROR], Style(True))[0] == "  \x1b[1;31merror   GPU001  \x1b[0mtoo slow"


def test_the_tally_leaves_out_what_is_zero() -> None:
    warning, note = (ERROR._replace(severity=severity) for severity in (Severity.WARNING, Severity.ADVICE))
    assert tally([]) == ""
    assert tally([ERROR, warning, warning._replace(line=4), note]) == "1 error, 2 warnings, 1 note"
    assert tally([ERROR._replace(waived="x"), ERROR]) == "1 error, 1 waived"
