"""Lengths of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.stack.durations import seconds, text


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("6h5m", 21900),
        ("6h30m", 23400),
        ("90m", 5400),
        ("45s", 45),
        ("1h1s", 3601),
        ("21900", 21900),
        (600, 600),
        (60.0, 60),
    ],
)
def test_forms(value: str | int | float, length: int) -> None:
    assert seconds(value) == length


@pytest.mark.parametrize("value", ["", "h", "6h5", "5m6h", "-5m", "1.5h", "6 h", "6H", "1d", "٣m", "6h\n", 1.5])
def test_other_texts_are_refused(value: str | float) -> None:
    with pytest.raises(ValueError, match="is not a"):
        seconds(value)


@given(st.integers(0, 10**8))
def test_a_length_survives_its_text(length: int) -> None:
    assert seconds(text(length)) == length
