"""Regular expressions that are compiled at their first use."""

import re

import pytest

from modelyard.patterns import compiled_later


def test_only_patterns_in_the_context_are_compiled_later() -> None:
    with pytest.raises(ZeroDivisionError), compiled_later():
        pattern = re.compile("(a)+", re.IGNORECASE)
        _ = 1 / 0
    assert type(pattern) is not re.Pattern
    assert pattern.fullmatch("AA")[1] == "A"
    assert type(re.compile("a")) is re.Pattern


def test_a_pattern_used_in_the_context_is_compiled() -> None:
    with compiled_later():
        assert re.compile("a").fullmatch("a")
