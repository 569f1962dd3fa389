"""The nearest name to a misspelt one."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

import pytest

from modelyard.stack.words import did_you_mean, near


def test_the_nearest_are_named_first_and_letter_case_does_not_count() -> None:
    assert near("Feature", ["table", "features", "FEATURES", "feature-2"]) == ["features", "feature-2"]
    assert near("nope", ["table", "features"]) == []


def test_names_are_compared_once_however_many_ask_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    ratio = SequenceMatcher.real_quick_ratio

    def counted(self: "SequenceMatcher[str]") -> float:
        nonlocal compared
        compared += 1
        return ratio(self)

    def names() -> Iterator[str]:
        return (f"deep-{number}" for number in range(10))

    monkeypatch.setattr(SequenceMatcher, "real_quick_ratio", counted)
    found = [near(f"deeep-{number % 200}", names()) for number in range(1000)]
    assert found[7][0] == "deep-7"
    found[7].clear()  # What one caller does to its answer is nothing to the next.
    assert found[207] == near("deeep-7", names())
    assert compared == 200 * 10
    # Other names, another answer.
    assert near("deeep-7", ["deep-8"]) == ["deep-8"]


def test_of_two_equally_near_names_both_are_suggested() -> None:
    regions = ("us-east-1", "us-west-1", "us-west-2")
    assert set(re.findall(r"us-\w+-\d", did_you_mean("us-est-1", regions))) == {"us-east-1", "us-west-1"}
    assert did_you_mean("us-wst-1", regions).count("us-") == 1
