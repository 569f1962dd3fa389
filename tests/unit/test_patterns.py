"""Regular expressions that are compiled when they are first used."""

import re

import pytest

from modelyard.patterns import compiled_later


def test_what_is_imported_inside_compiles_later_and_nothing_else_does() -> None:
    with pytest.raises(ZeroDivisionError), compiled_later():
        pattern = re.compile("(a)+", re.IGNORECASE)
        _ = 1 / 0
    assert type(pattern) is not re.Pattern
    assert pattern.fullmatch("AA")[1] == "A"
    assert type(re.compile("a")) is re.Pattern


def test_a_pattern_that_is_used_inside_is_compiled() -> None:
    with compiled_later():
        assert re.compile("a").fullmatch("a")
